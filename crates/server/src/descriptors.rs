//! The limit on the files, sockets among them, that the process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The descriptors that a server needs beside its clients' sockets: listeners, standard streams, and files that are
/// open for a moment.
const BESIDE: u64 = 64;

/// The descriptors that a worker needs: one to wait through and one that wakes it, and half as many again for I/O
/// threads.
const OF_WORKER: u64 = 3;

/// Raises the process's limit on open files (`RLIMIT_NOFILE`) as far as the system allows. Returns how many clients a
/// server with `workers` workers can then have at a time, or `None` if there is no limit.
pub fn raise_descriptor_limit(workers: usize) -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        // If the system refuses, the present limit stays.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    }
    getrlimit(Resource::Nofile).current.map(|files| files.saturating_sub(BESIDE + OF_WORKER * workers as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_as_high_as_it_can_be() {
        let clients = raise_descriptor_limit(2);
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
        assert_eq!(clients, limit.maximum.map(|files| files - BESIDE - 6));
    }
}
