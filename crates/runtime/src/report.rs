//! The counts and times of a run.

use crate::Estimates;
use hdrhistogram::Histogram;
use hotrow_txn::{Abort, Statistics};
use std::time::Duration;

/// The number of aborted attempts for each reason of an abort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Aborts([u64; Abort::ALL.len()]);

impl Aborts {
    /// Counts an attempt that aborted for the reason `abort`.
    #[inline]
    pub fn count(&mut self, abort: Abort) {
        self.0[abort as usize] += 1;
    }

    /// Returns the number of attempts that aborted for the reason `abort`.
    pub fn of(&self, abort: Abort) -> u64 {
        self.0[abort as usize]
    }

    /// Returns the number of attempts that aborted for any reason.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Iterates over the reasons that occurred, each with its count, in the order of [`Abort::ALL`].
    pub fn nonzero(&self) -> impl Iterator<Item = (Abort, u64)> + '_ {
        Abort::ALL.into_iter().map(|abort| (abort, self.of(abort))).filter(|&(_, count)| count > 0)
    }

    fn add(&mut self, other: &Self) {
        for (sum, count) in self.0.iter_mut().zip(other.0) {
            *sum += count;
        }
    }
}

/// The counts of committed procedures, for each kind of procedure of the workload. Clients
/// [note](hotrow_txn::Runner::note) the kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds([KindCount; Kinds::MAX]);

/// The counts of one kind of procedure, such as TPC-C's Payment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KindCount {
    /// The number of procedures that committed.
    pub committed: u64,
    /// The number of these that succeeded in the sense of the workload: they found the rows that they looked for.
    pub succeeded: u64,
}

impl Kinds {
    /// The greatest number of kinds that a workload may have.
    pub const MAX: usize = 8;

    /// Counts a committed procedure of the kind numbered `kind`. `succeeded` says whether it found the rows that it
    /// looked for.
    ///
    /// # Panics
    /// If `kind` is not below [`MAX`](Self::MAX).
    #[inline]
    pub fn count(&mut self, kind: usize, succeeded: bool) {
        self.0[kind].committed += 1;
        self.0[kind].succeeded += u64::from(succeeded);
    }

    /// Returns the counts of the kind numbered `kind`.
    ///
    /// # Panics
    /// If `kind` is not below [`MAX`](Self::MAX).
    pub fn of(&self, kind: usize) -> KindCount {
        self.0[kind]
    }

    fn add(&mut self, other: &Self) {
        for (sum, count) in self.0.iter_mut().zip(other.0) {
            sum.committed += count.committed;
            sum.succeeded += count.succeeded;
        }
    }
}

/// The parts of the time of sampled transactions, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Breakdown {
    /// The number of sampled transactions.
    pub samples: u64,
    /// The time of the last attempt's own work, outside of all parts below: index, records, the procedure.
    pub work_ns: u64,
    /// The time of all attempts in the lock manager, without waits and without [contention](Self::contention_ns).
    pub lock_manager_ns: u64,
    /// The time of the lock manager in which it spun for latches that were taken, if the engine measures it.
    pub contention_ns: u64,
    /// The time for passing locks on from transaction to transaction.
    pub inheritance_ns: u64,
    /// The time of all attempts in which they waited for locks.
    pub wait_ns: u64,
    /// The time for the log: for handing the changes over, and for the wait until they are durable.
    pub log_ns: u64,
    /// The part of [`log_ns`](Self::log_ns) in which the transaction waited.
    pub log_wait_ns: u64,
    /// The time of the earlier attempts, which aborted, and of the back-off after them, outside of all parts above.
    pub other_ns: u64,
    /// The part of [`other_ns`](Self::other_ns) in which the transaction was suspended: the back-off.
    pub paused_ns: u64,
}

impl Breakdown {
    /// Divides the time of one transaction into its parts. `latency_ns` is the time from the transaction's first begin
    /// to the end of its commit, `retries_ns` that from its first to its last begin. `counted` has the engine's counts
    /// of that time. The transaction was suspended for `suspended_ns`, to wait or to back off. One reading of the clock
    /// takes `clock_ns`.
    ///
    /// The time between two readings of the clock includes one reading: half of the first, and half of the second. So
    /// the time of each timed call, of the lock manager or for inheritance, includes one reading, and so does the time
    /// around the calls. Both are subtracted.
    pub(crate) fn of_one(
        latency_ns: u64,
        retries_ns: u64,
        suspended_ns: u64,
        counted: &Statistics,
        clock_ns: f64,
    ) -> Self {
        let wait_ns = counted.wait_ns.min(latency_ns);
        let lock_manager_ns = counted.lock_manager_ns.min(latency_ns - wait_ns);
        let inheritance_ns = counted.hierarchy.inheritance_ns.min(latency_ns - wait_ns - lock_manager_ns);
        let left_ns = latency_ns - wait_ns - lock_manager_ns - inheritance_ns;
        let log_wait_ns = counted.log.wait_ns.min(left_ns);
        let append_ns = counted.log.append_ns.min(left_ns - log_wait_ns);
        let rest_ns = left_ns - log_wait_ns - append_ns;
        let contention_ns = counted.hierarchy.contention_ns.min(lock_manager_ns);
        let other_ns = retries_ns.min(rest_ns);
        let readings_ns = |readings: u64| (readings as f64 * clock_ns) as u64;
        let (calls, inheritance_calls) = (counted.timed_calls, counted.hierarchy.inheritance_calls);
        // Each commit has a call that hands the changes over, and one that waits.
        let commits = counted.log.commits;
        Self {
            samples: 1,
            work_ns: (rest_ns - other_ns).saturating_sub(readings_ns(calls + inheritance_calls + commits + 1)),
            lock_manager_ns: (lock_manager_ns - contention_ns).saturating_sub(readings_ns(calls)),
            contention_ns,
            inheritance_ns: inheritance_ns.saturating_sub(readings_ns(inheritance_calls)),
            wait_ns,
            log_ns: append_ns.saturating_sub(readings_ns(commits)) + log_wait_ns,
            log_wait_ns,
            other_ns,
            paused_ns: suspended_ns.saturating_sub(wait_ns + log_wait_ns).min(other_ns),
        }
    }

    /// Returns the sum of all parts.
    pub fn total_ns(&self) -> u64 {
        self.work_ns + self.locking_ns() + self.wait_ns + self.log_ns + self.other_ns
    }

    /// Returns the sum of the parts that managing locks takes, without waits.
    fn locking_ns(&self) -> u64 {
        self.lock_manager_ns + self.contention_ns + self.inheritance_ns
    }

    /// Returns each part's name in reports, and its share of the total. All shares are zero if nothing was sampled.
    pub fn shares(&self) -> [(&'static str, f64); 7] {
        self.parts(self.total_ns().max(1) as f64)
    }

    /// Returns each part's name in reports, and its microseconds for each transaction. All are zero if nothing was
    /// sampled.
    pub fn microseconds(&self) -> [(&'static str, f64); 7] {
        self.parts(self.samples.max(1) as f64 * 1e3)
    }

    fn parts(&self, divisor: f64) -> [(&'static str, f64); 7] {
        [
            ("work", self.work_ns as f64 / divisor),
            ("lock_manager", self.lock_manager_ns as f64 / divisor),
            ("contention", self.contention_ns as f64 / divisor),
            ("inheritance", self.inheritance_ns as f64 / divisor),
            ("wait", self.wait_ns as f64 / divisor),
            ("log", self.log_ns as f64 / divisor),
            ("other", self.other_ns as f64 / divisor),
        ]
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.samples += other.samples;
        self.work_ns += other.work_ns;
        self.lock_manager_ns += other.lock_manager_ns;
        self.contention_ns += other.contention_ns;
        self.inheritance_ns += other.inheritance_ns;
        self.wait_ns += other.wait_ns;
        self.log_ns += other.log_ns;
        self.log_wait_ns += other.log_wait_ns;
        self.other_ns += other.other_ns;
        self.paused_ns += other.paused_ns;
    }
}

/// The time of worker threads in the measured period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadTime {
    /// The nanoseconds by the clock.
    pub total_ns: u64,
    /// The nanoseconds in which the thread had nothing to run: its transactions waited or backed off, and no message
    /// had come.
    pub idle_ns: u64,
    /// The nanoseconds of CPU time.
    pub cpu_ns: u64,
}

impl ThreadTime {
    /// Returns the nanoseconds in which the threads ran something. A thread that has lost its core runs nothing.
    pub fn busy_ns(&self) -> u64 {
        self.total_ns.saturating_sub(self.idle_ns).min(self.cpu_ns)
    }

    /// Returns the share of the time in which the threads ran something, or `None` if there is no time.
    pub fn busy_share(&self) -> Option<f64> {
        (self.total_ns > 0).then(|| self.busy_ns() as f64 / self.total_ns as f64)
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.total_ns += other.total_ns;
        self.idle_ns += other.idle_ns;
        self.cpu_ns += other.cpu_ns;
    }
}

/// The counts of one runner, or the sums of several runners' counts.
#[derive(Clone, Debug)]
pub struct Counts {
    /// The number of procedures that committed.
    pub committed: u64,
    /// The number of attempts that aborted, for each reason.
    pub aborted: Aborts,
    /// The number of attempts that aborted for a reason that a retry may cure, and were to be retried.
    pub retries: u64,
    /// The numbers of reconnaissances, and of access sets that proved wrong.
    pub estimates: Estimates,
    /// The number of committed procedures of each kind.
    pub kinds: Kinds,
    /// The latencies of those procedures that were sampled and have committed: the nanoseconds from the begin of the
    /// first attempt to the end of the commit.
    pub latency_ns: Histogram<u32>,
    /// The parts of the time of sampled procedures.
    pub breakdown: Breakdown,
    /// The engine's counts, such as locks and waits, for all procedures. The times in it are of sampled procedures
    /// only.
    pub statistics: Statistics,
    /// The time of threads while they executed transactions.
    pub execution: ThreadTime,
    /// The time of threads while they only served the transactions of others.
    pub service: ThreadTime,
}

impl Default for Counts {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(1, Self::LONGEST_NS, Self::DIGITS);
        Self {
            committed: 0,
            aborted: Aborts::default(),
            retries: 0,
            estimates: Estimates::default(),
            kinds: Kinds::default(),
            latency_ns: histogram.expect("the bounds and the precision are in the histogram's range"),
            breakdown: Breakdown::default(),
            statistics: Statistics::default(),
            execution: ThreadTime::default(),
            service: ThreadTime::default(),
        }
    }
}

impl Counts {
    /// The greatest latency that the histogram holds, ten minutes. Longer latencies count as this one.
    const LONGEST_NS: u64 = 600_000_000_000;
    /// The number of significant digits of a latency in the histogram: quantiles are exact to one per cent. With a
    /// third digit the histogram would be ten times as large, and take most of an L2 cache that the workload needs.
    const DIGITS: u8 = 2;

    /// Adds the counts of another runner to these.
    pub fn add(&mut self, other: &Self) {
        self.committed += other.committed;
        self.aborted.add(&other.aborted);
        self.retries += other.retries;
        self.estimates.reconnaissances += other.estimates.reconnaissances;
        self.estimates.wrong += other.estimates.wrong;
        self.kinds.add(&other.kinds);
        self.latency_ns.add(&other.latency_ns).expect("all histograms have the same bounds");
        self.breakdown.add(&other.breakdown);
        self.statistics.add(&other.statistics);
        self.execution.add(&other.execution);
        self.service.add(&other.service);
    }

    /// Returns the parts of the time of threads that execute transactions: each part's name in reports, and its share.
    /// The shares add up to one. Returns `None` if no transaction was sampled.
    ///
    /// While one transaction of a thread waits, the thread runs another one. So waits of transactions are not the
    /// thread's. The thread waits when it has nothing to run, or no core to run it. The rest of its time is divided as
    /// the sampled transactions divide their time outside of waits. The lock manager's part includes contention for its
    /// latches and inheritance.
    pub fn execution_shares(&self) -> Option<[(&'static str, f64); 4]> {
        let busy = self.execution.busy_share()?;
        let Breakdown { work_ns, log_ns, log_wait_ns, other_ns, paused_ns, .. } = self.breakdown;
        let parts = [work_ns + log_ns - log_wait_ns, self.breakdown.locking_ns(), other_ns - paused_ns];
        let sampled = parts.iter().sum::<u64>();
        if sampled == 0 {
            return None;
        }
        let [work, lock_manager, other] = parts.map(|part| busy * part as f64 / sampled as f64);
        Some([("work", work), ("lock_manager", lock_manager), ("other", other), ("wait", 1.0 - busy)])
    }
}

/// The outcome of [`drive`](crate::drive) and [`drive_pool`](crate::drive_pool): the sums over all workers, in the
/// measured period.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// The number of workers.
    pub threads: usize,
    /// The length of the measured period.
    pub elapsed: Duration,
    /// Whether the run was stopped early through [`RunConfig::stop`](crate::RunConfig::stop).
    pub stopped_early: bool,
    /// The sum of the workers' counts.
    pub counts: Counts,
    /// The user and system CPU time that the workers' threads used in the measured period.
    pub cpu: Duration,
}

impl RunReport {
    /// Returns the number of committed transactions per second.
    pub fn throughput(&self) -> f64 {
        self.counts.committed as f64 / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// Returns the CPU time of the workers in microseconds per committed transaction, or zero if none committed.
    pub fn cpu_us_per_transaction(&self) -> f64 {
        match self.counts.committed {
            0 => 0.0,
            committed => self.cpu.as_secs_f64() * 1e6 / committed as f64,
        }
    }

    /// Returns a quantile of the sampled latencies, in microseconds: the latency that the share `quantile` (0.0 to 1.0)
    /// of the sampled transactions does not exceed. Returns zero if none was sampled.
    pub fn latency_us(&self, quantile: f64) -> f64 {
        self.counts.latency_ns.value_at_quantile(quantile) as f64 / 1e3
    }

    /// Returns the mean of the sampled latencies, in microseconds.
    pub fn mean_latency_us(&self) -> f64 {
        self.counts.latency_ns.mean() / 1e3
    }

    /// Returns the longest of the sampled latencies, in microseconds.
    pub fn max_latency_us(&self) -> f64 {
        self.counts.latency_ns.max() as f64 / 1e3
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotrow_txn::{HierarchyStatistics, LogTimes};

    #[test]
    fn the_time_of_threads_is_divided_without_waits_of_transactions_beside_others() {
        let time = |total_ns, idle_ns, cpu_ns| ThreadTime { total_ns, idle_ns, cpu_ns };
        // The columns are: the threads' time, idle time and CPU time; work, locks, waits, aborts and pauses of samples;
        // the expected work, lock manager, aborts and waits, in per cent.
        for (execution, [work, locks, waits, aborts, pauses], expected) in [
            (time(1000, 400, 600), [200, 100, 0, 0, 0], Some([40.0, 20.0, 0.0, 40.0])),
            // Transactions that wait at the same time wait for longer than there is time.
            (time(1000, 0, 1000), [10, 30, 9_000, 0, 0], Some([25.0, 75.0, 0.0, 0.0])),
            (time(1000, 200, 1000), [40, 20, 500, 30, 10], Some([40.0, 20.0, 20.0, 20.0])),
            // A thread that has a core for a quarter of the time runs something for a quarter at most.
            (time(1000, 200, 250), [30, 20, 0, 0, 0], Some([15.0, 10.0, 0.0, 75.0])),
            (time(1000, 1200, 900), [1, 0, 0, 0, 0], Some([0.0, 0.0, 0.0, 100.0])),
            (time(1000, 400, 600), [0, 0, 70, 0, 0], None),
            (time(0, 0, 0), [1, 1, 1, 0, 0], None),
        ] {
            // What the lock manager takes is one part of the thread's time, whatever it is for.
            for (lock_manager_ns, contention_ns, inheritance_ns) in [(locks, 0, 0), (0, locks, 0), (0, 0, locks)] {
                let breakdown = Breakdown {
                    samples: 1,
                    work_ns: work,
                    lock_manager_ns,
                    contention_ns,
                    inheritance_ns,
                    wait_ns: waits,
                    log_ns: waits,
                    log_wait_ns: waits,
                    other_ns: aborts,
                    paused_ns: pauses,
                };
                let counts = Counts { execution, breakdown, ..Counts::default() };
                let shares = counts.execution_shares();
                let shares = shares.map(|shares| shares.map(|(_, share)| (share * 1e4).round() / 1e2));
                assert_eq!(shares, expected, "{counts:?}");
            }
        }
    }

    #[test]
    fn the_times_of_a_transaction_add_up_and_leave_reading_the_clock_out() {
        // The columns are: latency, time until the last begin, waits, lock manager, its calls, reading the clock; and
        // the expected work, lock manager, other.
        for (latency, retries, wait, locks, calls, clock, expected) in [
            (1000, 0, 0, 300, 3, 0.0, (700, 300, 0)),
            (1000, 0, 0, 300, 3, 50.0, (500, 150, 0)),
            (1000, 0, 200, 300, 3, 50.0, (300, 150, 0)),
            (1000, 400, 0, 300, 1, 10.0, (280, 290, 400)),
            (1000, 900, 0, 300, 1, 10.0, (0, 290, 700)),
            (1000, 0, 2000, 300, 1, 10.0, (0, 0, 0)),
            (100, 0, 0, 100, 4, 40.0, (0, 0, 0)),
        ] {
            let counted =
                Statistics { wait_ns: wait, lock_manager_ns: locks, timed_calls: calls, ..Statistics::default() };
            let breakdown = Breakdown::of_one(latency, retries, wait + 50, &counted, clock);
            let parts = (breakdown.work_ns, breakdown.lock_manager_ns, breakdown.other_ns);
            assert_eq!((parts, breakdown.wait_ns), (expected, wait.min(latency)), "latency {latency}, clock {clock}");
            assert_eq!(breakdown.paused_ns, 50.min(breakdown.other_ns), "the rest of the suspensions is back-off");
        }
    }

    #[test]
    fn the_log_is_a_part_of_its_own_and_its_wait_is_no_back_off() {
        let log = LogTimes { commits: 1, append_ns: 150, wait_ns: 400 };
        let counted = Statistics { wait_ns: 100, log, ..Statistics::default() };
        let breakdown = Breakdown::of_one(1000, 20, 530, &counted, 10.0);
        let parts = (breakdown.work_ns, breakdown.log_ns, breakdown.log_wait_ns, breakdown.wait_ns);
        assert_eq!(
            parts,
            (310, 540, 400, 100),
            "1000 without 100, 150, 400, the retries, and two readings of the clock"
        );
        assert_eq!((breakdown.other_ns, breakdown.paused_ns), (20, 20));
        let log = LogTimes { commits: 1, append_ns: 150, wait_ns: 4000 };
        let longer = Breakdown::of_one(1000, 0, 0, &Statistics { log, ..Statistics::default() }, 0.0);
        assert_eq!((longer.work_ns, longer.log_ns, longer.total_ns()), (0, 1000, 1000), "no more than the latency");
    }

    #[test]
    fn contention_is_a_part_of_its_own_and_so_is_inheritance() {
        let hierarchy = HierarchyStatistics {
            contention_ns: 100,
            inheritance_ns: 50,
            inheritance_calls: 2,
            ..HierarchyStatistics::default()
        };
        let counted = Statistics { lock_manager_ns: 300, timed_calls: 1, hierarchy, ..Statistics::default() };
        for (clock, expected) in [(0.0, [650, 200, 100, 50]), (20.0, [570, 180, 100, 10])] {
            let breakdown = Breakdown::of_one(1000, 0, 0, &counted, clock);
            let Breakdown { work_ns, lock_manager_ns, contention_ns, inheritance_ns, .. } = breakdown;
            assert_eq!([work_ns, lock_manager_ns, contention_ns, inheritance_ns], expected, "clock {clock}");
        }
    }

    #[test]
    fn microseconds_are_those_of_one_transaction() {
        let mut breakdown = Breakdown::default();
        assert_eq!(breakdown.microseconds().map(|(_, us)| us), [0.0; 7]);
        for locks in [1000, 3000] {
            let counted = Statistics { lock_manager_ns: locks, ..Statistics::default() };
            breakdown.add(&Breakdown::of_one(6000, 0, 0, &counted, 0.0));
        }
        assert_eq!(breakdown.microseconds()[..2], [("work", 4.0), ("lock_manager", 2.0)]);
    }
}
