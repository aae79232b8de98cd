//! How many files, sockets among them, the process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What a server needs beside its clients' sockets: listeners, standard streams, and what it has open for a moment.
const BESIDE: u64 = 64;

/// What a worker needs: what it waits through and what wakes it; half as many workers again may only read.
const OF_WORKER: u64 = 3;

/// Raises what the process may have open to what the system lets it, and says how many clients a server with so many workers can then
/// have at a time, if their number is limited.
pub fn raise_descriptor_limit(workers: usize) -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        // If it is refused, what there is has to do.
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
