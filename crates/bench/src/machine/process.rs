//! The CPU time and switches of processes, as the system accounts for them.

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

/// A process as a line of `/proc/PID/stat` describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    parent: u32,
    /// The user and system time of the process and of its ended children, in ticks of the system's clock.
    ticks: u64,
}

/// Returns the user and system time of a process and of all its descendants, or `None` if there is no such process.
pub(crate) fn cpu_of_process_tree(root: u32) -> Option<Duration> {
    let mut processes: HashMap<u32, Process> = HashMap::new();
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
        // A process may end before its file is read.
        if let Some((pid, process)) = pid.and_then(|pid| Some((pid, process(pid)?))) {
            processes.insert(pid, process);
        }
    }
    processes.get(&root)?;
    let ticks: u64 =
        processes.iter().filter(|&(&pid, _)| descends(&processes, pid, root)).map(|(_, process)| process.ticks).sum();
    Some(duration(ticks))
}

/// The CPU time and the context switches of a process since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProcessUsage {
    pub user: Duration,
    pub system: Duration,
    /// Context switches of the process's threads. The context switches of threads that have ended are not known.
    pub switches: u64,
}

/// Returns the CPU time and the context switches of a process so far, or `None` if there is no such process.
pub(crate) fn usage_of_process(pid: u32) -> Option<ProcessUsage> {
    let [user, system] = times(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?.map(duration);
    let mut switches = 0;
    for thread in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        // A thread may end before its file is read.
        let status = fs::read_to_string(thread.path().join("status")).unwrap_or_default();
        let counts = status.lines().filter_map(|line| line.split_once("voluntary_ctxt_switches:"));
        switches += counts.filter_map(|(_, count)| count.trim().parse::<u64>().ok()).sum::<u64>();
    }
    Some(ProcessUsage { user, system, switches })
}

fn duration(ticks: u64) -> Duration {
    Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// Returns the user and system time of a process, that of its ended children included, or `None` if there is no such
/// process.
pub(crate) fn cpu_of_process(pid: u32) -> Option<Duration> {
    process(pid).map(|process| duration(process.ticks))
}

/// Returns the parent of process `pid` if the process is called `name`.
pub(crate) fn parent_of(pid: u32, name: &str) -> Option<u32> {
    let is_named = fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim_end() == name);
    is_named.then(|| process(pid))?.map(|process| process.parent)
}

fn descends(processes: &HashMap<u32, Process>, mut pid: u32, root: u32) -> bool {
    // A longer line of ancestors means that the system reused a number while the processes were read.
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

/// Reads a line of `/proc/PID/stat`. Returns `None` if the line has another form.
fn parse(line: &str) -> Option<Process> {
    // The times of ended children come after the process's own times.
    let [parent, user, system, children_user, children_system] = fields(line, [1, 11, 12, 13, 14])?;
    Some(Process { parent: u32::try_from(parent).ok()?, ticks: user + system + children_user + children_system })
}

/// Reads user and system time from a line of `/proc/PID/stat`, in ticks and without the times of children. Returns
/// `None` if the line has another form.
fn times(line: &str) -> Option<[u64; 2]> {
    fields(line, [11, 12])
}

/// Reads the fields at the positions `wanted` from a line of `/proc/PID/stat`, counted from the field after the
/// process's name: state, parent, … The name is in parentheses and may hold any character.
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
        let (alone, tree) = (cpu_of_process(own).expect("it runs"), cpu_of_process_tree(own).expect("it runs"));
        assert!(alone <= tree, "{alone:?} {tree:?}");
        assert_eq!((cpu_of_process_tree(u32::MAX), usage_of_process(u32::MAX)), (None, None));
        let ProcessUsage { user, system, switches } = usage_of_process(own).expect("it runs");
        assert!(user + system >= alone && switches > 0, "{user:?} {system:?} {switches}");
        let name = fs::read_to_string("/proc/self/comm").expect("it runs");
        assert!(parent_of(own, name.trim_end()).is_some());
        assert_eq!(parent_of(own, "another"), None);
    }
}
