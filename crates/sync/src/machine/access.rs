//! Accesses to shared memory, and the lines that they are to.

use std::collections::HashMap;

/// The bytes of a cache line.
pub(super) const LINE_BYTES: usize = 64;

/// The effect of a step on memory, with the address.
#[derive(Clone, Copy, Debug)]
pub(super) enum Access {
    /// Nothing.
    Elsewhere,
    Reads(usize),
    Writes(usize),
    /// Reads and writes at once.
    Exchanges(usize),
}

impl Access {
    /// Whether the access writes.
    pub(super) fn writes(self) -> bool {
        matches!(self, Access::Writes(_) | Access::Exchanges(_))
    }

    /// Returns the address, if the access is to memory.
    pub(super) fn address(self) -> Option<usize> {
        match self {
            Access::Elsewhere => None,
            Access::Reads(address) | Access::Writes(address) | Access::Exchanges(address) => Some(address),
        }
    }
}

/// The use of a cache line so far.
#[derive(Clone, Copy, Debug)]
enum Line {
    /// One thread has used the line, and has written to it or not; or several have read it.
    Own {
        thread: usize,
        is_written: bool,
    },
    Shared,
}

/// The use of all cache lines so far.
#[derive(Debug, Default)]
pub(super) struct Lines(HashMap<usize, Line>);

impl Lines {
    /// Notes an access of a thread. Returns whether the line is shared: two threads have used it, and one of them has
    /// written to it.
    pub(super) fn is_shared(&mut self, by: usize, access: Access) -> bool {
        let Some(address) = access.address() else { return false };
        let line = self.0.entry(address / LINE_BYTES).or_insert(Line::Own { thread: by, is_written: false });
        match line {
            Line::Own { thread, is_written } if *thread == by || !(*is_written || access.writes()) => {
                *is_written |= access.writes();
            }
            Line::Own { .. } => *line = Line::Shared,
            Line::Shared => {}
        }
        matches!(line, Line::Shared)
    }
}
