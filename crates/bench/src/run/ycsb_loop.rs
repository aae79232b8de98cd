//! The floor: YCSB as a loop over the same index and records, with no transaction object, no locks and no isolation.
//!
//! With batching, the loop prefetches all slots first, then all records, and then does the work; without, it handles
//! one key after the other. Rows are copied out and back word by word, as engine `none` does, since another thread may
//! be writing them.

use super::bare_loop::BareLoop;
use crate::options::names::BARE;
use hotrow_runtime::{Counts, RunConfig, RunReport};
use hotrow_storage::{Database, Guard, Key, Participant, RecordHeader, RowMut, RowRef, Table, TableId, Variable};
use hotrow_sync::atomic::{AtomicBool, Ordering};
use hotrow_sync::{Mutex, Time, thread, thread_cpu_time};
use hotrow_txn::Intent;
use hotrow_workloads::ycsb::{Client, Operation, Operations, Ycsb, change_row, read_row};
use std::time::Duration;

/// Returns the loop that runs YCSB without transactions, with any options of the workload.
pub(crate) fn ycsb_loop() -> BareLoop<Ycsb> {
    BareLoop {
        names: &[BARE],
        refuse: |_, _| Ok(()),
        drive: |_, instance, table, clients, config, _| Ok(drive(instance.database(), table, clients, config)),
    }
}

/// Runs every client on a thread of its own, through warm-up and the measured period.
fn drive<H: RecordHeader>(
    database: &Database<H>,
    table: TableId,
    clients: &[Mutex<Client>],
    config: &RunConfig,
) -> RunReport {
    let measured = AtomicBool::new(config.warmup.is_zero());
    let mut report = RunReport {
        threads: clients.len(),
        elapsed: Duration::ZERO,
        stopped_early: false,
        counts: Counts::default(),
        cpu: Duration::ZERO,
    };
    thread::scope(|scope| {
        let work = |client| Worker::new(database, table, config).work(client, config, &measured);
        let workers: Vec<_> = clients.iter().map(|client| scope.spawn(move || work(client))).collect();
        let mut stopped = config.stop.wait(config.warmup);
        measured.store(true, Ordering::Release);
        let begin = Time::now();
        stopped = stopped || config.stop.wait(config.measured);
        report.elapsed = Time::now().since(begin);
        report.stopped_early = stopped;
        config.stop.raise();
        for worker in workers {
            let (counts, cpu) = worker.join().expect("the loop does not panic");
            report.counts.add(&counts);
            report.cpu += cpu;
        }
    });
    report
}

/// The loop of one thread, and its buffers.
struct Worker<'a, H: RecordHeader> {
    database: &'a Database<H>,
    table: TableId,
    participant: Participant,
    batch: bool,
    sample_every: u64,
    hashes: Vec<u64>,
    fixed: Vec<u8>,
    variable: Vec<u8>,
    replaced: Vec<Variable>,
}

impl<'a, H: RecordHeader> Worker<'a, H> {
    fn new(database: &'a Database<H>, table: TableId, config: &RunConfig) -> Self {
        Self {
            database,
            table,
            participant: database.participant(),
            batch: config.one_shot.batch,
            sample_every: u64::from(config.one_shot.sample_every.max(1)),
            hashes: Vec::new(),
            fixed: Vec::new(),
            variable: Vec::new(),
            replaced: Vec::new(),
        }
    }

    /// Runs transactions until the stop. Returns the counts of the measured period and the CPU time that it took.
    fn work(mut self, client: &Mutex<Client>, config: &RunConfig, measured: &AtomicBool) -> (Counts, Duration) {
        let mut client = client.lock().unwrap_or_else(|poison| poison.into_inner());
        let mut counts = Counts::default();
        let mut before = None;
        while !config.stop.is_raised() {
            if before.is_none() && measured.load(Ordering::Acquire) {
                before = Some(thread_cpu_time());
                counts = Counts::default();
            }
            let begin = counts.committed.is_multiple_of(self.sample_every).then(Time::now);
            let checksum = self.run(client.generate());
            client.committed(checksum);
            counts.committed += 1;
            if let Some(begin) = begin {
                counts.latency_ns.saturating_record(Time::now().since(begin).as_nanos() as u64);
            }
        }
        match before {
            Some(before) => (counts, thread_cpu_time().saturating_sub(before)),
            None => (Counts::default(), Duration::ZERO),
        }
    }

    /// Runs one transaction. Returns the checksum of what it read.
    fn run(&mut self, operations: &Operations) -> u64 {
        self.participant.enter();
        let guard = self.participant.guard();
        let table = self.database.table(guard, self.table).expect("the table was loaded");
        self.hashes.clear();
        self.hashes.extend(operations.list().iter().map(|operation| Key::Int(operation.key).hash64()));
        if self.batch {
            let keys = || operations.list().iter().map(|operation| Key::Int(operation.key)).zip(&self.hashes);
            keys().for_each(|(key, &hash)| table.prefetch_slot(guard, &key, hash));
            keys().for_each(|(key, &hash)| {
                table.prefetch_record(guard, &key, hash);
            });
        }
        self.fixed.resize(table.layout().fixed_size(), 0);
        let mut buffers =
            RowBuffers { fixed: &mut self.fixed, variable: &mut self.variable, replaced: &mut self.replaced };
        let mut checksum = 0_u64;
        for (operation, &hash) in operations.list().iter().zip(&self.hashes) {
            checksum = checksum.wrapping_add(buffers.operate(table, guard, operations, operation, hash));
        }
        for variable in self.replaced.drain(..) {
            self.participant.retire(variable.into_garbage());
        }
        self.participant.leave();
        checksum
    }
}

/// The buffers of one row, and the replaced variable parts, which other threads may still be reading.
struct RowBuffers<'a> {
    fixed: &'a mut [u8],
    variable: &'a mut Vec<u8>,
    replaced: &'a mut Vec<Variable>,
}

impl RowBuffers<'_> {
    #[inline]
    fn operate<H: RecordHeader>(
        &mut self,
        table: &Table<H>,
        guard: Guard<'_>,
        operations: &Operations,
        operation: &Operation,
        hash: u64,
    ) -> u64 {
        let record = table.find(guard, &Key::Int(operation.key), hash).expect("nobody deletes rows");
        record.copy_unisolated(self.fixed, self.variable);
        match operation.intent {
            Intent::Read => read_row(RowRef::new(table.layout(), self.fixed, self.variable), operations.fields()),
            Intent::Write => {
                let mut row = RowMut::new(table.layout(), self.fixed, self.variable);
                let checksum =
                    change_row(&mut row, operations.fields(), operation.field, operations.value(operation.field));
                let variable = row.into_variable();
                self.replaced.extend(record.store_unisolated(self.fixed, variable.as_deref()));
                checksum
            }
        }
    }
}
