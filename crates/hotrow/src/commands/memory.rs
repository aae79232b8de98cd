//! The default memory limit of a server: a share of the memory of the machine or of its control group.

use std::fs;
use std::path::Path;

/// The share of the memory. The resident size of the process stays within five quarters of the limit. So a server takes
/// at most fifteen sixteenths of the memory, and the rest is left for the system's own part of its connections.
const SHARE: (u64, u64) = (3, 4);

/// Returns the default of `--memory-limit` in bytes: three quarters of the memory of the machine or the control group,
/// whichever is less. Returns `None` if the system does not say how much memory there is.
pub fn default_limit() -> Option<u64> {
    limit_under(Path::new("/"))
}

/// Returns the default limit, in bytes, on a system whose files are below `root`. Tests pass directories with files of
/// their own.
fn limit_under(root: &Path) -> Option<u64> {
    let machine = read(&root.join("proc/meminfo")).as_deref().and_then(total);
    let group = read(&root.join("proc/self/cgroup")).and_then(|groups| group_limit(root, &groups));
    let bytes = machine.into_iter().chain(group).min()?;
    Some(bytes / SHARE.1 * SHARE.0)
}

fn read(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// Parses the total memory, in bytes, from a line such as `MemTotal: 24551404 kB`. Returns `None` without such a line.
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Returns the least limit, in bytes, of the process's control groups and their ancestors, or `None` if none has a
/// limit. `groups` is the text of `/proc/self/cgroup`, for either version of the interface.
///
/// Lines are `0::/path` in version 2 and `4:memory:/path` in version 1. In a container the path may be that of the
/// host, whose directories do not exist there. Then the container's own group is the root of the mounted file system.
fn group_limit(root: &Path, groups: &str) -> Option<u64> {
    let of_line = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let (mount, file) = match controllers {
            "" => ("sys/fs/cgroup", "memory.max"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => return None,
        };
        let mount = root.join(mount);
        let inside = Path::new(path.trim_start_matches('/'));
        // Without a limit the file says "max", or a number that exceeds the memory of any machine.
        inside.ancestors().filter_map(|at| read(&mount.join(at).join(file))?.trim().parse().ok()).min()
    };
    groups.lines().filter_map(of_line).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    /// Checks the limit on a system with these files.
    fn check(name: &str, files: &[(&str, &str)], expected: Option<u64>) {
        let root = std::env::temp_dir().join(format!("hotrow-memory-{}-{name}", std::process::id()));
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("a directory")).expect("made");
            fs::write(path, text).expect("written");
        }
        let found = limit_under(&root);
        // The directory need not exist.
        let _ = fs::remove_dir_all(&root);
        assert_eq!(found, expected, "{name}");
    }

    #[test]
    fn the_limit_is_a_share_of_the_least_that_there_is() {
        const MACHINE: (&str, &str) = ("proc/meminfo", "MemTotal:       16777216 kB\nMemFree: 1 kB\n");
        const SECOND: (&str, &str) = ("proc/self/cgroup", "0::/a/b\n");
        const FIRST: (&str, &str) = ("proc/self/cgroup", "5:cpu,memory:/x/y\n3:memoryless:/z\n0::/\n");
        check("nothing", &[], None);
        check("machine", &[MACHINE], Some(12 * GIB));
        check("no limit", &[MACHINE, SECOND, ("sys/fs/cgroup/a/b/memory.max", "max\n")], Some(12 * GIB));
        let own = ("sys/fs/cgroup/a/b/memory.max", "4294967296\n");
        check("own", &[MACHINE, SECOND, own], Some(3 * GIB));
        let around = ("sys/fs/cgroup/a/memory.max", "2147483648\n");
        check("around", &[MACHINE, SECOND, own, around], Some(3 * GIB / 2));
        check("container", &[MACHINE, SECOND, ("sys/fs/cgroup/memory.max", "1073741824\n")], Some(3 * GIB / 4));
        let limit = ("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "8589934592\n");
        let none = ("sys/fs/cgroup/memory/x/y/memory.limit_in_bytes", "9223372036854771712\n");
        check("version 1", &[MACHINE, FIRST, limit, none], Some(6 * GIB));
        check("only a group", &[FIRST, limit], Some(6 * GIB));
        check("more than there is", &[MACHINE, FIRST, none], Some(12 * GIB));
        check("nonsense", &[("proc/meminfo", "MemTotal: much"), ("proc/self/cgroup", "?\n\n::\n")], None);
    }
}
