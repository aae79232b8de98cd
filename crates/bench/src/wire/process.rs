//! The CPU time of a server's processes, as the system accounts for it.

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

/// One process of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    parent: u32,
    /// User and system time, in ticks of the system's clock, its own and that of children that are gone.
    ticks: u64,
}

/// User and system time of a process and of all that descend from it; none if it is not there.
pub(super) fn cpu_of_tree(root: u32) -> Option<Duration> {
    let mut processes: HashMap<u32, Process> = HashMap::new();
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
        // A process may end while it is looked at.
        if let Some((pid, process)) = pid.and_then(|pid| Some((pid, process(pid)?))) {
            processes.insert(pid, process);
        }
    }
    processes.get(&root)?;
    let ticks: u64 =
        processes.iter().filter(|&(&pid, _)| descends(&processes, pid, root)).map(|(_, process)| process.ticks).sum();
    Some(duration(ticks))
}

/// What a process has used of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub user: Duration,
    pub system: Duration,
    /// From its threads to others, those aside of threads that have ended.
    pub switches: u64,
}

/// What a process has used so far; none if it is not there.
pub(super) fn usage_of(pid: u32) -> Option<Usage> {
    let [user, system] = times(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?.map(duration);
    let mut switches = 0;
    for thread in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        // A thread may end while it is looked at.
        let status = fs::read_to_string(thread.path().join("status")).unwrap_or_default();
        let counts = status.lines().filter_map(|line| line.split_once("voluntary_ctxt_switches:"));
        switches += counts.filter_map(|(_, count)| count.trim().parse::<u64>().ok()).sum::<u64>();
    }
    Some(Usage { user, system, switches })
}

fn duration(ticks: u64) -> Duration {
    Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// User and system time of a process.
pub(super) fn cpu_of(pid: u32) -> Option<Duration> {
    process(pid).map(|process| duration(process.ticks))
}

/// The parent of a process with this name, if the process is there and has it.
pub(super) fn parent_of(pid: u32, name: &str) -> Option<u32> {
    let is_named = fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim_end() == name);
    is_named.then(|| process(pid))?.map(|process| process.parent)
}

fn descends(processes: &HashMap<u32, Process>, mut pid: u32, root: u32) -> bool {
    // Longer lines of ancestors come of numbers that were given out again while they were read.
    for _ in 0..64 {
        if pid == root {
            return true;
        }
        match processes.get(&pid) {
            Some(process) => pid = process.parent,
            None => return false,
        }
    }
    false
}

fn process(pid: u32) -> Option<Process> {
    parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// A line of `/proc/PID/stat`.
fn parse(line: &str) -> Option<Process> {
    // Those of ended children come after a process's own.
    let [parent, user, system, children_user, children_system] = fields(line, [1, 11, 12, 13, 14])?;
    Some(Process { parent: u32::try_from(parent).ok()?, ticks: user + system + children_user + children_system })
}

/// User and system time in a line of `/proc/PID/stat`, in ticks, without those of children.
fn times(line: &str) -> Option<[u64; 2]> {
    fields(line, [11, 12])
}

/// Some of the fields that come after the name, which is in parentheses and may hold anything: state, parent, …
fn fields<const N: usize>(line: &str, wanted: [usize; N]) -> Option<[u64; N]> {
    let fields: Vec<&str> = line[line.rfind(')')? + 1..].split_whitespace().collect();
    let mut numbers = [0; N];
    for (number, at) in numbers.iter_mut().zip(wanted) {
        *number = fields.get(at)?.parse().ok()?;
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_system_are_read_whatever_the_name() {
        let line = "71 (a) b (c) S 7 71 71 0 -1 4194304 10 0 0 0 100 20 3 4 20 0 1 0 5 6 7";
        assert_eq!(parse(line), Some(Process { parent: 7, ticks: 127 }));
        assert_eq!(times(line), Some([100, 20]));
        assert_eq!(parse("71 (a"), None);
        assert_eq!(parse("71 (a) S 7"), None);
    }

    #[test]
    fn a_tree_has_the_time_of_its_root_at_least() {
        let own = std::process::id();
        let (alone, tree) = (cpu_of(own).expect("it runs"), cpu_of_tree(own).expect("it runs"));
        assert!(alone <= tree, "{alone:?} {tree:?}");
        assert_eq!((cpu_of_tree(u32::MAX), usage_of(u32::MAX)), (None, None));
        let Usage { user, system, switches } = usage_of(own).expect("it runs");
        assert!(user + system >= alone && switches > 0, "{user:?} {system:?} {switches}");
        let name = fs::read_to_string("/proc/self/comm").expect("it runs");
        assert!(parent_of(own, name.trim_end()).is_some());
        assert_eq!(parent_of(own, "another"), None);
    }
}
