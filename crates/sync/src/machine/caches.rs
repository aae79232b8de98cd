//! The cache lines of a timed run: where each is, and what an access to it costs.
//!
//! A line has a *version*, which grows when a core accesses the line for the first time, and when a core writes to it
//! that does not have the line alone. A cache holds lines with their versions, so a write makes all other copies stale
//! without touching them.
//!
//! | access | cost |
//! | --- | --- |
//! | of a core that has the line, and, to write, has it alone | that of the cache that has it |
//! | to a line that another core has alone | the transfer from that core; transfers of one line queue up |
//! | to write to a line that other cores have read | the time in which their copies become stale, which is a transfer's |
//! | to any other line | that of the socket's cache, or of memory |

use super::access::{Access, LINE_BYTES};
use super::hardware::{Hardware, picoseconds};
use super::memory::{self, Zeroed};
use std::collections::HashMap;

/// The number of lines in each set of a cache.
const WAYS: usize = 8;

/// The state of a line.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    version: u32,
    /// One more than the number of the core that had the line alone last; zero if no core has accessed the line.
    owner: u16,
    /// Whether that core still has the line alone.
    is_alone: bool,
    /// Whether a core of another socket than the owner's has read the line since.
    is_remote: bool,
    /// The time at which the last transfer of the line ends.
    busy_until: u64,
}

/// The number of a line and a version of it, as caches hold them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tag(u64);

impl Tag {
    const NONE: Tag = Tag(0);

    fn of(number: u32, version: u32) -> Self {
        // A version is never zero once the line is in a cache.
        Tag(u64::from(number) << 32 | u64::from(version))
    }
}

/// The lines that a cache holds.
#[derive(Debug)]
struct Cache {
    tags: Vec<[Tag; WAYS]>,
    /// For each set, the position that is filled next.
    next: Vec<u8>,
}

impl Cache {
    fn new(kib: usize) -> Self {
        let sets = (kib * 1024 / LINE_BYTES / WAYS).max(1).next_power_of_two();
        Self { tags: vec![[Tag::NONE; WAYS]; sets], next: vec![0; sets] }
    }

    fn set_of(&self, number: u32) -> usize {
        number as usize & (self.tags.len() - 1)
    }

    fn has(&self, number: u32, tag: Tag) -> bool {
        self.tags[self.set_of(number)].contains(&tag)
    }

    fn insert(&mut self, number: u32, tag: Tag) {
        let set = self.set_of(number);
        let tags = &mut self.tags[set];
        // The same line with an older version is useless now.
        let stale = tags.iter().position(|old| old.0 >> 32 == u64::from(number));
        let way = stale.unwrap_or(usize::from(self.next[set]));
        if stale.is_none() {
            self.next[set] = (self.next[set] + 1) % WAYS as u8;
        }
        tags[way] = tag;
    }
}

/// The caches of a core. The first one is direct-mapped: each line has one place in it.
#[derive(Debug)]
struct Own {
    first: Vec<Tag>,
    second: Cache,
}

impl Own {
    fn first_of(&self, number: u32) -> usize {
        number as usize & (self.first.len() - 1)
    }
}

/// The costs of accesses, in picoseconds.
#[derive(Clone, Copy, Debug)]
struct Times {
    second: u64,
    shared: u64,
    memory: u64,
    same_socket: u64,
    other_socket: u64,
}

/// The lines of all memory, and the caches that hold them.
#[derive(Debug)]
pub(super) struct Caches {
    times: Times,
    /// The states of the arena's lines, by their numbers.
    lines: Zeroed<Line>,
    /// The numbers of lines outside of the arena, such as those of statics, by address divided by [`LINE_BYTES`].
    elsewhere: HashMap<usize, u32>,
    /// The states of these lines, by their numbers without the bit [`ELSEWHERE`].
    others: Vec<Line>,
    /// The caches of each core.
    own: Vec<Own>,
    /// The cache of each socket.
    shared: Vec<Cache>,
    cores_per_socket: usize,
}

/// The bit that marks the number of a line outside of the arena.
const ELSEWHERE: u32 = 1 << 31;

impl Caches {
    pub(super) fn new(hardware: &Hardware) -> Self {
        let cores = hardware.cores + 1;
        let first = (hardware.lines.first_kib * 1024 / LINE_BYTES).next_power_of_two();
        let own = || Own { first: vec![Tag::NONE; first], second: Cache::new(hardware.lines.second_kib) };
        Self {
            times: Times {
                second: picoseconds(hardware.lines.second_ns),
                shared: picoseconds(hardware.lines.shared_ns),
                memory: picoseconds(hardware.lines.memory_ns),
                same_socket: picoseconds(hardware.lines.same_socket_ns),
                other_socket: picoseconds(hardware.lines.other_socket_ns),
            },
            // SAFETY: a line of zeros is one that nobody has used.
            lines: unsafe { Zeroed::new(memory::BYTES / LINE_BYTES) },
            elsewhere: HashMap::new(),
            others: Vec::new(),
            own: (0..cores).map(|_| own()).collect(),
            shared: (0..cores.div_ceil(hardware.cores_per_socket))
                .map(|_| Cache::new(hardware.lines.shared_kib))
                .collect(),
            cores_per_socket: hardware.cores_per_socket,
        }
    }

    /// Returns the number of the line at an address, or `None` if the address is outside of the arena.
    pub(super) fn number_inside(address: usize) -> Option<u32> {
        let offset = address.wrapping_sub(memory::START);
        (offset < memory::BYTES).then_some((offset / LINE_BYTES) as u32)
    }

    /// Returns the number of the line at an address. A line outside of the arena gets a number at its first access.
    fn number(&mut self, address: usize) -> u32 {
        Self::number_inside(address).unwrap_or_else(|| {
            let next = self.others.len() as u32 | ELSEWHERE;
            let number = *self.elsewhere.entry(address / LINE_BYTES).or_insert(next);
            if number == next {
                self.others.push(Line::default());
            }
            number
        })
    }

    fn line(&mut self, number: u32) -> &mut Line {
        if number & ELSEWHERE != 0 {
            return &mut self.others[(number & !ELSEWHERE) as usize];
        }
        self.lines.at(number as usize)
    }

    /// Simulates an access that a core makes at the time `now`. Returns its cost in picoseconds, beyond the cost of the
    /// code.
    pub(super) fn access(&mut self, core: usize, access: Access, now: u64) -> u64 {
        let Some(address) = access.address() else { return 0 };
        let number = self.number(address);
        self.access_line(core, number, access.writes(), now)
    }

    /// Simulates an access to the line with this number, as [`access`](Self::access) does.
    #[inline]
    pub(super) fn access_line(&mut self, core: usize, number: u32, writes: bool, now: u64) -> u64 {
        let line = *self.line(number);
        let own = &self.own[core];
        let tag = Tag::of(number, line.version);
        let is_own = line.owner == core as u16 + 1 && line.is_alone;
        if own.first[own.first_of(number)] == tag && (is_own || !writes) && line.version != 0 {
            return 0;
        }
        self.miss(core, number, writes, is_own, now)
    }

    /// Simulates an access that the core's first cache does not serve. `is_own` says whether the core has the line
    /// alone.
    fn miss(&mut self, core: usize, number: u32, writes: bool, is_own: bool, now: u64) -> u64 {
        let times = self.times;
        let socket = core / self.cores_per_socket;
        let mut line = *self.line(number);
        let tag = Tag::of(number, line.version);
        let owner = usize::from(line.owner).checked_sub(1);
        let distance = match owner {
            Some(owner) if owner / self.cores_per_socket == socket => times.same_socket,
            _ => times.other_socket,
        };
        let cost = match owner {
            // No core has used the line yet, so the system has just cleared its page.
            None => times.shared,
            _ if (is_own || !writes && !line.is_alone) && self.own[core].second.has(number, tag) => times.second,
            Some(_) if line.is_alone && !is_own => distance,
            Some(_) if writes && !is_own => {
                if line.is_remote {
                    times.other_socket
                } else {
                    distance
                }
            }
            _ if self.shared[socket].has(number, tag) => times.shared,
            _ => times.memory,
        };
        let queues = owner.is_some() && !is_own && (writes || line.is_alone);
        let start = if queues { now.max(line.busy_until) } else { now };
        if queues {
            line.busy_until = start + cost;
        }
        if owner.is_none() || writes && !is_own {
            let version = line.version.wrapping_add(1).max(1);
            line = Line { version, owner: core as u16 + 1, is_alone: true, is_remote: false, ..line };
        } else if !is_own {
            line.is_alone = false;
            line.is_remote |= owner.is_some_and(|owner| owner / self.cores_per_socket != socket);
        }
        *self.line(number) = line;
        let tag = Tag::of(number, line.version);
        self.shared[socket].insert(number, tag);
        let own = &mut self.own[core];
        own.second.insert(number, tag);
        let place = own.first_of(number);
        own.first[place] = tag;
        start + cost - now
    }
}
