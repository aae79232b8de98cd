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
    Some(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
}

/// User and system time of a process.
pub(super) fn cpu_of(pid: u32) -> Option<Duration> {
    let ticks = process(pid)?.ticks;
    Some(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
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

/// A line of `/proc/PID/stat`. The second field is a name in parentheses that may hold anything.
fn parse(line: &str) -> Option<Process> {
    let after_name = &line[line.rfind(')')? + 1..];
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let number = |field: usize| fields.get(field)?.parse::<u64>().ok();
    // State, parent, …; user and system time are the 14th and 15th field of the line, those of ended children the next.
    let ticks = number(11)? + number(12)? + number(13)? + number(14)?;
    Some(Process { parent: u32::try_from(number(1)?).ok()?, ticks })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_system_are_read_whatever_the_name() {
        let line = "71 (a) b (c) S 7 71 71 0 -1 4194304 10 0 0 0 100 20 3 4 20 0 1 0 5 6 7";
        assert_eq!(parse(line), Some(Process { parent: 7, ticks: 127 }));
        assert_eq!(parse("71 (a"), None);
        assert_eq!(parse("71 (a) S 7"), None);
    }

    #[test]
    fn a_tree_has_the_time_of_its_root_at_least() {
        let own = std::process::id();
        let (alone, tree) = (cpu_of(own).expect("it runs"), cpu_of_tree(own).expect("it runs"));
        assert!(alone <= tree, "{alone:?} {tree:?}");
        assert_eq!(cpu_of_tree(u32::MAX), None);
        let name = fs::read_to_string("/proc/self/comm").expect("it runs");
        assert!(parent_of(own, name.trim_end()).is_some());
        assert_eq!(parent_of(own, "another"), None);
    }
}
