//! How many files, sockets among them, the process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What a server needs beside its clients' sockets: listeners, workers' polls and wakers, standard streams.
const BESIDE: u64 = 64;

/// Raises what the process may have open to what the system lets it, and says how many clients there can then be at a time, if their
/// number is limited.
pub fn raise_descriptor_limit() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        // If it is refused, what there is has to do.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    }
    getrlimit(Resource::Nofile).current.map(|files| files.saturating_sub(BESIDE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_as_high_as_it_can_be() {
        let clients = raise_descriptor_limit();
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
        assert_eq!(clients, limit.maximum.map(|files| files - BESIDE));
    }
}
