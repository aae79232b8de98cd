//! Accesses to shared memory, and the threads that use each cache line.

use std::collections::HashMap;

/// The number of bytes of a cache line.
pub(super) const LINE_BYTES: usize = 64;

/// The access to memory that a step makes, with its address.
#[derive(Clone, Copy, Debug)]
pub(super) enum Access {
    /// The step accesses no memory.
    Elsewhere,
    Reads(usize),
    Writes(usize),
    /// The step reads and writes at once, as a compare-and-exchange does.
    Exchanges(usize),
}

impl Access {
    /// Whether the access writes.
    pub(super) fn writes(self) -> bool {
        matches!(self, Access::Writes(_) | Access::Exchanges(_))
    }

    /// Returns the address, or `None` if the step accesses no memory.
    pub(super) fn address(self) -> Option<usize> {
        match self {
            Access::Elsewhere => None,
            Access::Reads(address) | Access::Writes(address) | Access::Exchanges(address) => Some(address),
        }
    }
}

/// The state of a cache line: which threads have used it so far.
#[derive(Clone, Copy, Debug)]
enum Line {
    /// The first thread that used the line, and whether it has written to the line. Other threads may have read the
    /// line, but not since that write.
    Own {
        thread: usize,
        is_written: bool,
    },
    Shared,
}

/// The states of all cache lines that were used.
#[derive(Debug, Default)]
pub(super) struct Lines(HashMap<usize, Line>);

impl Lines {
    /// Records an access of a thread. Returns whether the line is shared. A line becomes shared, and stays so, when a
    /// thread other than its first user writes to it, or accesses it after the first user has written to it.
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
