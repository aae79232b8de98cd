//! A lock manager of the traditional kind that locks prefixes: a hash table of lock heads, each with its queue of
//! requests.

use super::manager::{KeyRange, Prefixing, RangeLockManager, TxnNumber};
use crate::shared::contention::{CLAIMS, Claim};
use crate::shared::range_locks::PrefixLocks;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The hierarchical lock manager: it locks the same prefixes as VLLR, and has an intention lock on each prefix of such
/// a prefix (§3.4.1). A lock head knows how many of its requests are granted in each mode, so no transaction walks a
/// queue to learn that it is granted at once.
pub struct Hierarchical {
    prefixing: Prefixing,
    /// The locks that are about to be requested.
    locks: PrefixLocks,
    heads: HashMap<u64, Head, BuildHasherDefault<NameHasher>>,
    /// The requests of all queues, and free ones, which are chained.
    requests: Vec<Request>,
    free: u32,
    transactions: Vec<Requested>,
}

/// The number that stands for no request.
const NONE: u32 = u32::MAX;

/// The lock head of a prefix that has been requested.
#[derive(Clone, Copy, Debug)]
struct Head {
    first: u32,
    last: u32,
    granted: [u32; CLAIMS.len()],
    waiting: [u32; CLAIMS.len()],
}

#[derive(Clone, Copy, Debug)]
struct Request {
    name: u64,
    txn: TxnNumber,
    before: u32,
    behind: u32,
    claim: Claim,
    is_granted: bool,
}

/// The requests of a transaction.
#[derive(Clone, Debug, Default)]
struct Requested {
    requests: SmallVec<[u32; 20]>,
    /// The number of requests that were not granted yet.
    missing: u32,
}

/// A hasher for names, which are hashes already.
#[derive(Default)]
struct NameHasher(u64);

impl Hasher for NameHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_u64(&mut self, name: u64) {
        self.0 = name;
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, &byte| hash.rotate_left(8) ^ u64::from(byte));
    }
}

impl Hierarchical {
    /// Makes a manager in which nothing is locked.
    pub fn new(prefixing: Prefixing) -> Self {
        Self {
            prefixing,
            locks: PrefixLocks::default(),
            heads: HashMap::default(),
            requests: Vec::new(),
            free: NONE,
            transactions: Vec::new(),
        }
    }

    /// Stores a request that is in no queue yet, and returns its number.
    fn allocate(&mut self, request: Request) -> u32 {
        if self.free == NONE {
            self.requests.push(request);
            return self.requests.len() as u32 - 1;
        }
        let number = self.free;
        self.free = self.requests[number as usize].behind;
        self.requests[number as usize] = request;
        number
    }

    /// Puts a request at the end of its prefix's queue. Returns its number, and whether it conflicts with none before
    /// it.
    fn enqueue(&mut self, txn: TxnNumber, name: u64, claim: Claim) -> (u32, bool) {
        let request = Request { name, txn, before: NONE, behind: NONE, claim, is_granted: true };
        let number = self.allocate(request);
        let head = self.heads.entry(name).or_insert(Head { first: number, last: NONE, ..EMPTY });
        let is_granted = !conflicts(claim, &head.granted) && !conflicts(claim, &head.waiting);
        let counted = if is_granted { &mut head.granted } else { &mut head.waiting };
        counted[claim as usize] += 1;
        let before = std::mem::replace(&mut head.last, number);
        if before != NONE {
            self.requests[before as usize].behind = number;
        }
        let request = &mut self.requests[number as usize];
        (request.before, request.is_granted) = (before, is_granted);
        (number, is_granted)
    }

    /// Takes a granted request out of its queue, and grants the requests that waited for it.
    fn dequeue(&mut self, number: u32, granted: &mut Vec<TxnNumber>) {
        let Request { name, before, behind, claim, .. } = self.requests[number as usize];
        self.requests[number as usize].behind = self.free;
        self.free = number;
        let head = self.heads.get_mut(&name).expect("a request is in the queue of its prefix");
        match before {
            NONE => head.first = behind,
            before => self.requests[before as usize].behind = behind,
        }
        match behind {
            NONE => head.last = before,
            behind => self.requests[behind as usize].before = before,
        }
        head.granted[claim as usize] -= 1;
        if head.first == NONE {
            self.heads.remove(&name);
        } else if head.waiting != [0; CLAIMS.len()] {
            head.grant(&mut self.requests, |txn| {
                let waiting = &mut self.transactions[txn as usize];
                waiting.missing -= 1;
                if waiting.missing == 0 {
                    granted.push(txn);
                }
            });
        }
    }
}

const EMPTY: Head = Head { first: NONE, last: NONE, granted: [0; CLAIMS.len()], waiting: [0; CLAIMS.len()] };

/// Whether a claim conflicts with any of the counted requests.
fn conflicts(claim: Claim, counted: &[u32; CLAIMS.len()]) -> bool {
    claim.conflicts().iter().any(|&other| counted[other as usize] > 0)
}

impl Head {
    /// Grants the requests that conflict with none before them any more.
    fn grant(&mut self, requests: &mut [Request], mut granted: impl FnMut(TxnNumber)) {
        // The requests up to here in the queue, granted or not. Granted ones were so before those that wait.
        let mut before = [0; CLAIMS.len()];
        let mut next = self.first;
        while next != NONE && self.waiting != [0; CLAIMS.len()] {
            let request = &mut requests[next as usize];
            let claim = request.claim;
            if !request.is_granted && !conflicts(claim, &before) {
                request.is_granted = true;
                self.waiting[claim as usize] -= 1;
                self.granted[claim as usize] += 1;
                granted(request.txn);
            }
            before[claim as usize] += 1;
            next = request.behind;
        }
    }
}

impl RangeLockManager for Hierarchical {
    fn request(&mut self, txn: TxnNumber, range: KeyRange, exclusive: bool) -> bool {
        if self.transactions.len() <= txn as usize {
            self.transactions.resize_with(txn as usize + 1, Requested::default);
        }
        let mut requested = std::mem::take(&mut self.transactions[txn as usize]);
        requested.requests.clear();
        requested.missing = 0;
        let mut locks = std::mem::take(&mut self.locks);
        self.prefixing.fill(&mut locks, range, exclusive);
        for counted in locks.counted() {
            let (number, is_granted) = self.enqueue(txn, counted.name(), counted.claim());
            requested.requests.push(number);
            requested.missing += u32::from(!is_granted);
        }
        self.locks = locks;
        let is_granted = requested.missing == 0;
        self.transactions[txn as usize] = requested;
        is_granted
    }

    fn release(&mut self, txn: TxnNumber, granted: &mut Vec<TxnNumber>) {
        let requests = std::mem::take(&mut self.transactions[txn as usize].requests);
        // From the most particular one upwards, as hierarchical locks are given back.
        for &request in requests.iter().rev() {
            self.dequeue(request, granted);
        }
        self.transactions[txn as usize].requests = requests;
    }

    fn is_idle(&self) -> bool {
        self.heads.is_empty()
    }
}
