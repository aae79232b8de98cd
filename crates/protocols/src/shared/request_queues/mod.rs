//! A lock manager of the traditional kind: a hash table of names to queues of requests. One caller at a time works on
//! it.
//!
//! **Source.** VLL §1 describes it, and §3.1.1 and §3.2 measure against it: a lock head for each name in use, with a
//! linked list of requests that is walked when a lock is asked for or released. Here a transaction places all its
//! requests in one step, so it waits for none between two of them.
//!
//! **Definitions.** An *owner* is a transaction, or a transaction's part in one partition. A *head* is a name in use,
//! with its queue. A *request* is what one owner asks of one name; its *blockers* are the requests before it that it
//! conflicts with, counted back to the nearest that conflicts with all, because that one is granted last of those
//! before it.
//!
//! **Invariants**, between two calls
//!
//! 1. An owner has one request of a name at most, in all the modes that it asked for.
//! 2. A request is granted exactly if it has no blockers: it conflicts with none before it.
//! 3. An owner's `awaited` counts its requests that are not granted.
//! 4. *No deadlock.* Owners place their requests one after the other ([`request`](RequestQueues::request) for
//!    everything, with no other owner's call between), so all queues have them in this one order, and an owner that
//!    waits, waits for an earlier one. A request that is [added](RequestQueues::add) later conflicts with none in its
//!    queue, and its owner runs.
//!
//! **Cost.** A free lock: the bucket, a head and a request from pools, in which those used last come first. Memory
//! grows with the requests that are there at once, by doubling, and stays.
//!
//! **Why not** [`lock_table`](super::lock_table): its requests are granted to threads, one at a time and each behind
//! its own bucket's latch, and a deadlock policy is asked about each. Here there is no latch, no policy and no thread
//! to wake: the partition that the queues belong to has no use for the first, a transaction that asks for everything at
//! once none for the others, and it stands in many queues at the same time.

mod modes;

pub(crate) use modes::Modes;

use hotrow_txn::number_of;
use std::fmt;
use std::ops::{Index, IndexMut};

/// The number that stands for no request, or for no head.
const NONE: u32 = u32::MAX;

/// A lock manager: a queue of requests for each name that an owner asks for. An owner is a transaction, and `W` is the
/// value that the caller keeps for it.
pub struct RequestQueues<W> {
    /// The first head of each chain. The number of buckets is a power of two.
    buckets: Vec<u32>,
    heads: Pool<Head>,
    requests: Pool<Request>,
    owners: Pool<Owner<W>>,
}

/// The number of an owner. The number of an owner that has left is used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnerId(u32);

impl OwnerId {
    /// Returns the owner's number.
    #[inline]
    pub(crate) fn number(self) -> u32 {
        self.0
    }

    /// Returns the owner with this number.
    #[inline]
    pub(crate) fn from_number(number: u32) -> Self {
        Self(number)
    }
}

struct Head {
    name: u64,
    /// The next head of the same bucket.
    chained: u32,
    first: u32,
    last: u32,
}

#[derive(Clone, Copy)]
struct Request {
    head: u32,
    owner: u32,
    /// The requests before and behind this one in the queue.
    before: u32,
    behind: u32,
    /// The next request of the same owner.
    sibling: u32,
    blockers: u32,
    modes: Modes,
}

struct Owner<W> {
    /// The request that the owner placed last.
    first: u32,
    awaited: u32,
    /// The owner's value, or `None` once the owner has ended.
    who: Option<W>,
}

/// A pool of values in one vector, addressed by their places. A place is used again as soon as it is free.
struct Pool<T> {
    places: Vec<T>,
    free: Vec<u32>,
}

impl<W> Default for RequestQueues<W> {
    fn default() -> Self {
        Self { buckets: vec![NONE; 64], heads: Pool::default(), requests: Pool::default(), owners: Pool::default() }
    }
}

impl<W> RequestQueues<W> {
    /// Adds an owner, which asks for nothing yet.
    pub(crate) fn join(&mut self, who: W) -> OwnerId {
        OwnerId(self.owners.take(Owner { first: NONE, awaited: 0, who: Some(who) }))
    }

    /// Removes an owner that has released everything. Another owner may get its number.
    pub(crate) fn part(&mut self, owner: OwnerId) {
        debug_assert_eq!(self.owners[owner.0].first, NONE, "it still asks for something");
        self.owners[owner.0].who = None;
        self.owners.give(owner.0);
    }

    /// Puts a request for a name into the name's queue. It is granted if it conflicts with no earlier request. An owner
    /// makes all its requests in one step, with no other owner's request between. Their order does not matter, and a
    /// name may occur more than once.
    #[inline]
    pub(crate) fn request(&mut self, owner: OwnerId, name: u64, modes: Modes) {
        let head = self.find_or_make(name);
        let last = self.heads[head].last;
        if last != NONE && self.requests[last].owner == owner.0 {
            // In the same step: no other request can have come in between.
            return self.widen(last, modes);
        }
        let blockers = self.blockers(last, modes);
        self.append(owner, head, modes, blockers);
        self.owners[owner.0].awaited += u32::from(blockers > 0);
    }

    /// Whether `owner` could have a name in these modes beside all other owners that asked for it, granted or not.
    pub(crate) fn is_free(&self, owner: OwnerId, name: u64, modes: Modes) -> bool {
        self.queue(name).all(|(_, request)| request.owner == owner.0 || !request.modes.conflicts(modes))
    }

    /// Adds a request for a name that [is free](Self::is_free), which is granted at once. All earlier requests of the
    /// owner have been granted.
    pub(crate) fn add(&mut self, owner: OwnerId, name: u64, modes: Modes) {
        debug_assert!(self.is_granted(owner), "who runs waits for nothing");
        debug_assert!(self.is_free(owner, name, modes), "others have asked for it");
        let own = self.queue(name).find(|(_, request)| request.owner == owner.0).map(|(position, _)| position);
        match own {
            // No count changes: no request in the queue conflicts with the new modes.
            Some(own) => self.requests[own].modes = self.requests[own].modes | modes,
            None => {
                let head = self.find_or_make(name);
                self.append(owner, head, modes, 0);
            }
        }
    }

    /// Whether any owner has been granted a name exclusively.
    #[inline]
    pub(crate) fn is_exclusive(&self, name: u64) -> bool {
        self.queue(name).next().is_some_and(|(_, first)| first.modes.conflicts_with_all())
    }

    /// Whether all requests of an owner have been granted.
    #[inline]
    pub(crate) fn is_granted(&self, owner: OwnerId) -> bool {
        self.owners[owner.0].awaited == 0
    }

    /// Returns the caller's value for an owner.
    #[inline]
    pub(crate) fn value_mut(&mut self, owner: OwnerId) -> &mut W {
        self.owners[owner.0].who.as_mut().expect("an owner that has joined has a value")
    }

    /// Returns an owner whose value satisfies `is_it`, or `None` if there is none. Searches all owners.
    pub(crate) fn find_owner(&self, is_it: impl Fn(&W) -> bool) -> Option<OwnerId> {
        let found = self.owners.places.iter().position(|owner| owner.who.as_ref().is_some_and(&is_it));
        found.map(|place| OwnerId(place as u32))
    }

    /// Takes back all requests of an owner, granted or not, and calls `granted` for each owner that waits for nothing
    /// any more.
    #[inline]
    pub(crate) fn release_all(&mut self, owner: OwnerId, granted: &mut impl FnMut(&mut W)) {
        let owner = &mut self.owners[owner.0];
        let mut next = std::mem::replace(&mut owner.first, NONE);
        owner.awaited = 0;
        while next != NONE {
            let sibling = self.requests[next].sibling;
            self.remove(next, granted);
            next = sibling;
        }
    }

    /// Returns the number of requests, from `last` backwards, with which these modes conflict, back to the nearest that
    /// conflicts with all.
    #[inline]
    fn blockers(&self, last: u32, modes: Modes) -> u32 {
        let (mut blockers, mut next) = (0, last);
        while next != NONE {
            let request = &self.requests[next];
            blockers += u32::from(request.modes.conflicts(modes));
            if request.modes.conflicts_with_all() {
                break;
            }
            next = request.before;
        }
        blockers
    }

    /// Adds modes to a request that stands last in its queue.
    #[inline]
    fn widen(&mut self, last: u32, modes: Modes) {
        let request = self.requests[last];
        let modes = request.modes | modes;
        if modes == request.modes {
            return;
        }
        let blockers = self.blockers(request.before, modes);
        let changed = &mut self.requests[last];
        (changed.modes, changed.blockers) = (modes, blockers);
        // It conflicts with more than before, never with less.
        self.owners[request.owner].awaited += u32::from(request.blockers == 0 && blockers > 0);
    }

    #[inline]
    fn append(&mut self, owner: OwnerId, head: u32, modes: Modes, blockers: u32) {
        let sibling = self.owners[owner.0].first;
        let before = self.heads[head].last;
        let request = Request { head, owner: owner.0, before, behind: NONE, sibling, blockers, modes };
        let request = self.requests.take(request);
        self.owners[owner.0].first = request;
        let head = &mut self.heads[head];
        head.last = request;
        match before {
            NONE => head.first = request,
            _ => self.requests[before].behind = request,
        }
    }

    /// Removes a request from its queue, and grants the requests that can be granted now.
    #[inline]
    fn remove(&mut self, position: u32, granted: &mut impl FnMut(&mut W)) {
        let Request { head, before, behind, .. } = self.requests[position];
        if before == NONE && behind == NONE {
            self.requests.give(position);
            return self.forget(head);
        }
        match before {
            NONE => self.heads[head].first = behind,
            _ => self.requests[before].behind = behind,
        }
        match behind {
            NONE => self.heads[head].last = before,
            _ => self.requests[behind].before = before,
        }
        self.unblock(position, granted);
        self.requests.give(position);
    }

    /// Takes a removed request off the counts of those behind it that count it: up to the first that conflicts with
    /// all.
    fn unblock(&mut self, removed: u32, granted: &mut impl FnMut(&mut W)) {
        let Request { before, behind, modes, .. } = self.requests[removed];
        let mut next = behind;
        while next != NONE {
            let request = self.requests[next];
            if request.modes.conflicts(modes) {
                let mut blockers = request.blockers - 1;
                if modes.conflicts_with_all() {
                    // It stood for all before it. There are some if it was not granted.
                    blockers += self.blockers(before, request.modes);
                }
                self.requests[next].blockers = blockers;
                if blockers == 0 {
                    let owner = &mut self.owners[request.owner];
                    owner.awaited -= 1;
                    if owner.awaited == 0 {
                        granted(owner.who.as_mut().expect("who asks for something is there"));
                    }
                }
            }
            if request.modes.conflicts_with_all() {
                return;
            }
            next = request.behind;
        }
    }

    /// Returns the requests of a name, in order.
    #[inline]
    fn queue(&self, name: u64) -> impl Iterator<Item = (u32, &Request)> {
        let mut next = self.find(name).map_or(NONE, |head| self.heads[head].first);
        std::iter::from_fn(move || {
            let position = (next != NONE).then_some(next)?;
            let request = &self.requests[position];
            next = request.behind;
            Some((position, request))
        })
    }

    #[inline]
    fn bucket(&self, name: u64) -> usize {
        name as usize & (self.buckets.len() - 1)
    }

    #[inline]
    fn find(&self, name: u64) -> Option<u32> {
        let mut next = self.buckets[self.bucket(name)];
        while next != NONE && self.heads[next].name != name {
            next = self.heads[next].chained;
        }
        (next != NONE).then_some(next)
    }

    #[inline]
    fn find_or_make(&mut self, name: u64) -> u32 {
        if let Some(head) = self.find(name) {
            return head;
        }
        if self.heads.in_use() >= self.buckets.len() {
            self.spread();
        }
        let bucket = self.bucket(name);
        let chained = self.buckets[bucket];
        let head = self.heads.take(Head { name, chained, first: NONE, last: NONE });
        self.buckets[bucket] = head;
        head
    }

    /// Removes a head without requests.
    #[inline]
    fn forget(&mut self, head: u32) {
        let Head { name, chained, .. } = self.heads[head];
        let bucket = self.bucket(name);
        if self.buckets[bucket] == head {
            self.buckets[bucket] = chained;
        } else {
            let mut next = self.buckets[bucket];
            while self.heads[next].chained != head {
                next = self.heads[next].chained;
            }
            self.heads[next].chained = chained;
        }
        self.heads.give(head);
    }

    /// Doubles the number of buckets.
    #[cold]
    fn spread(&mut self) {
        let old = std::mem::take(&mut self.buckets);
        self.buckets = vec![NONE; old.len() * 2];
        for mut head in old {
            while head != NONE {
                let next = self.heads[head].chained;
                let bucket = self.bucket(self.heads[head].name);
                self.heads[head].chained = std::mem::replace(&mut self.buckets[bucket], head);
                head = next;
            }
        }
    }

    /// Returns the number of owners that have a request which is not granted.
    pub(crate) fn waiting(&self) -> usize {
        self.owners.places.iter().filter(|owner| owner.awaited > 0).count()
    }

    /// Returns the callers' values for all owners, in no order.
    pub(crate) fn values(&self) -> impl Iterator<Item = &W> {
        self.owners.places.iter().filter_map(|owner| owner.who.as_ref())
    }

    /// Returns the name and the modes of every request, in no order.
    pub(crate) fn requests(&self) -> impl Iterator<Item = (u64, Modes)> {
        let mut heads = self.buckets.iter().copied();
        let mut head = NONE;
        let heads = std::iter::from_fn(move || {
            head = if head == NONE { NONE } else { self.heads[head].chained };
            while head == NONE {
                head = heads.next()?;
            }
            Some(self.heads[head].name)
        });
        heads.flat_map(|name| self.queue(name).map(move |(_, request)| (name, request.modes)))
    }

    /// Returns the number of names that have a queue, and the number of requests in all queues, for reports and tests.
    pub(crate) fn usage(&self) -> (usize, usize) {
        (self.heads.in_use(), self.requests.in_use())
    }

    /// Checks the invariants. The error says which one does not hold, and where.
    pub(crate) fn audit(&self) -> Result<(), String> {
        let (mut heads, mut requests) = (0, 0);
        let mut awaited = vec![0; self.owners.places.len()];
        for &bucket in &self.buckets {
            let mut head = bucket;
            while head != NONE {
                let Head { name, chained, first, last } = self.heads[head];
                let mut owners = Vec::new();
                let (mut before, mut next) = (NONE, first);
                while next != NONE {
                    let request = self.requests[next];
                    if (request.head, request.before) != (head, before) {
                        return Err(format!("request {next} of name {name:x} is linked wrongly"));
                    }
                    if owners.contains(&request.owner) {
                        return Err(format!("owner {} has two requests of name {name:x}", request.owner));
                    }
                    let blockers = self.blockers(before, request.modes);
                    if blockers != request.blockers {
                        let counted = request.blockers;
                        return Err(format!("request {next} of name {name:x} counts {counted} blockers of {blockers}"));
                    }
                    awaited[request.owner as usize] += u32::from(blockers > 0);
                    owners.push(request.owner);
                    (before, next) = (next, request.behind);
                }
                if owners.is_empty() || before != last {
                    let requests = number_of(owners.len(), "request");
                    return Err(format!("name {name:x} has {requests}, the last is {last}"));
                }
                heads += 1;
                requests += owners.len();
                head = chained;
            }
        }
        if (heads, requests) != self.usage() {
            return Err(format!("{heads} names and {requests} requests are linked, {:?} are in use", self.usage()));
        }
        let counts = self.owners.places.iter().map(|owner| owner.awaited);
        match counts.zip(awaited).enumerate().find(|(_, (counted, awaited))| counted != awaited) {
            Some((owner, (counted, awaited))) => Err(format!("owner {owner} awaits {counted} locks of {awaited}")),
            None => Ok(()),
        }
    }
}

impl<W> fmt::Debug for RequestQueues<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (names, requests) = self.usage();
        f.debug_struct("RequestQueues").field("names", &names).field("requests", &requests).finish()
    }
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Pool<T> {
    #[inline]
    fn take(&mut self, value: T) -> u32 {
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = value;
            return place;
        }
        let place = u32::try_from(self.places.len()).ok().filter(|&place| place != NONE);
        self.places.push(value);
        // Each value takes 20 bytes at least.
        place.expect("memory ends before the numbers do")
    }

    #[inline]
    fn give(&mut self, place: u32) {
        self.free.push(place);
    }

    fn in_use(&self) -> usize {
        self.places.len() - self.free.len()
    }
}

impl<T> Index<u32> for Pool<T> {
    type Output = T;

    #[inline]
    fn index(&self, place: u32) -> &T {
        &self.places[place as usize]
    }
}

impl<T> IndexMut<u32> for Pool<T> {
    #[inline]
    fn index_mut(&mut self, place: u32) -> &mut T {
        &mut self.places[place as usize]
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests;
