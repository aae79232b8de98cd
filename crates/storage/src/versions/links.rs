//! Link words, and the lists that they form.
//!
//! ```text
//! | tag (16) | address of the pointee (45) | UNREADY | STOP | MARKED |
//! ```
//!
//! A version has one such word for each index of its table; a list contains *stops* and ends in one: words that belong
//! to no version (a bucket of a hash index, the anchor of an ordered one). The tag of a word is some bits of the hash
//! of the version that it leads to, so that a look-up skips a wrong version without comparing keys.
//!
//! **Lists** are those of Michael ("High Performance Dynamic Lock-Free Hash Tables and List-Based Sets", SPAA 2002)
//! with Harris's marks: a thread that removes a version first marks the version's own word, which freezes it, and then
//! swings the word before it.
//!
//! **Definitions.** A version is *in* a list from the exchange that leads its predecessor to it until the exchange that
//! leads past it. A word is *marked* when its owner is being removed.
//!
//! **Invariants**
//!
//! 1. Once their owner is in a list, words change only by compare-exchange, by setting `MARKED`, or by clearing a
//!    stop's `UNREADY`.
//! 2. A marked word never changes.
//! 3. An exchange that inserts or removes expects an unmarked word: so it happens behind an owner that is in the list.
//! 4. Only marked versions are removed; each version is inserted once, and never again.
//! 5. Stops are never removed (an anchor is, when it is empty, and then nothing follows it).
//! 6. The order of a list does not change: a version that is inserted gets a place, and keeps it.
//!
//! **What a walk sees.** A walk begins at a stop and follows words, marked ones too, which costs it nothing: a marked
//! version stays allocated for the walk's epoch. *Each version that a walk reaches was in the list at some moment since
//! the walk began.* By induction: suppose that this holds for P, and P's word led the walk to S. If P was in the list
//! when the word was read, S followed it then. If not, P was marked and removed since the moment that the induction
//! speaks of: P's word is as it was when P was removed (2), which is no earlier than that moment, and S followed P in
//! the list then. *So a walk does not miss a version X that is in the list from before the walk begins until it ends*:
//! at the moment at which P was in the list, and S followed it, X was there too; X comes after P, therefore S is X or
//! comes before X. And by 6 a walk reaches no version twice.
//!
//! **What a sweep does.** A sweep is the walk of a writer. It stands on unmarked words only, removes each marked
//! version that it reaches, and restarts when an exchange fails. So each word that it stands on was, at one moment, in
//! the list, and led to the next. *If a sweep that began after X was marked passes X's place, X is out of the list*:
//! otherwise it would have reached X, by the argument above, and have removed it. *The thread whose exchange leads past
//! X has removed it*, and need not look further: the word belonged to X's predecessor, which was in the list (3), and X
//! had no other predecessor. Then X may be retired: no word of a list leads to X any more.
//!
//! **Moments and orderings.** The arguments speak of moments as if all threads saw one order of the exchanges. Words
//! are read with acquire and exchanged with acquire and release, and that is enough: each exchange comes after the
//! exchanges whose results it was made from, back to those that put its predecessor where it is. So suppose that a walk
//! begins after X was inserted (in the order that acquire and release make). From the stop on, it reads words that are
//! no older than the words on X's own way to its place, and words never return to an earlier state.

use super::format::{VersionFormat, VersionHeader};
use super::version::VersionRef;
use hotrow_sync::atomic::{AtomicU64, Ordering};
use std::ptr::NonNull;

const MARKED: u64 = 1;
const STOP: u64 = 2;
const UNREADY: u64 = 4;
const TAG: u64 = !((1 << 48) - 1);
const ADDRESS: u64 = !TAG & !(MARKED | STOP | UNREADY);

/// The value of a link word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link(u64);

/// The object that a link leads to.
pub(super) enum Pointee<'g, H> {
    Version(VersionRef<'g, H>),
    /// The stop at this address, a word that belongs to no version. The address zero stands for the list's end.
    Stop(usize),
}

impl Link {
    /// The link to the end of the list.
    pub const END: Link = Link(STOP);

    /// Reads the link that the word holds.
    #[inline]
    pub fn of(word: &AtomicU64) -> Self {
        // Pairs with the exchanges: a thread that sees an address sees what was written there before.
        Self(word.load(Ordering::Acquire))
    }

    /// Makes a link to a version, with a tag.
    #[inline]
    pub fn to_version<H: VersionHeader>(version: VersionRef<'_, H>, tag: u64) -> Self {
        let address = version.ptr().start().as_ptr().expose_provenance() as u64;
        debug_assert!(address & !ADDRESS == 0 && tag & !TAG == 0, "user-space addresses have 48 bits");
        Self(tag | address)
    }

    /// Makes a link to a stop.
    #[inline]
    pub fn to_stop<T>(stop: *const T) -> Self {
        let address = stop.expose_provenance() as u64;
        debug_assert!(address & !ADDRESS == 0, "user-space addresses have 48 bits");
        Self(address | STOP)
    }

    /// Returns this link as it stands in the word of an owner that is still being inserted.
    pub fn unready(self) -> Self {
        Self(self.0 | UNREADY)
    }

    /// Returns the link as the value of a word.
    #[inline]
    pub fn bits(self) -> u64 {
        self.0
    }

    /// Whether the link is marked: the owner of its word is being removed.
    #[inline]
    pub fn is_marked(self) -> bool {
        self.0 & MARKED != 0
    }

    /// Whether the link leads to a version with this tag.
    #[inline]
    pub fn has_tag(self, tag: u64) -> bool {
        (self.0 ^ tag) & TAG == 0
    }

    /// Returns the address that the link holds.
    #[inline]
    pub fn address(self) -> usize {
        (self.0 & ADDRESS) as usize
    }

    /// Whether the link leads to a stop.
    #[inline]
    pub fn is_stop(self) -> bool {
        self.0 & STOP != 0
    }

    /// Whether the link leads to this version.
    #[inline]
    pub fn leads_to<H: VersionHeader>(self, version: VersionRef<'_, H>) -> bool {
        self.address() == version.ptr().start().as_ptr().addr()
    }

    /// Returns a link that leads where `other` does, and keeps the flags of this link's owner.
    #[inline]
    pub fn leading_where(self, other: Link) -> Self {
        const OWNER: u64 = MARKED | UNREADY;
        Self(self.0 & OWNER | other.0 & !OWNER)
    }

    /// Returns the object that the link leads to.
    ///
    /// # Safety
    /// The word belongs to a list of versions with headers of type `H` and with this format, and was read in an epoch
    /// that lasts for `'g`.
    #[inline]
    pub unsafe fn pointee<'g, H: VersionHeader>(self, format: &'g VersionFormat) -> Pointee<'g, H> {
        if self.is_stop() {
            return Pointee::Stop(self.address());
        }
        let start = std::ptr::with_exposed_provenance_mut::<u8>(self.address());
        let start = NonNull::new(start).expect("a word that was never linked leads nowhere");
        // SAFETY: the version was in the list since the epoch began, by the module's argument; it was published before
        // that.
        Pointee::Version(unsafe { VersionRef::new(start, format) })
    }
}

/// The error of a sweep: a word was marked or changed meanwhile, and the sweep must restart.
pub(super) struct Lost;

/// The position of a sweep: a word, and its unmarked value.
#[derive(Clone, Copy)]
pub(super) struct Place<'g> {
    pub word: &'g AtomicU64,
    pub link: Link,
}

impl<'g> Place<'g> {
    /// Returns the place at a word, or `None` if the word is marked.
    pub fn at(word: &'g AtomicU64) -> Option<Self> {
        let link = Link::of(word);
        (!link.is_marked()).then_some(Self { word, link })
    }

    /// Returns the place at the word of a stop that is never removed.
    pub fn at_stop(word: &'g AtomicU64) -> Self {
        Self::at(word).expect("stops are not marked")
    }

    /// Returns the place at a word that no other thread knows yet, and sets the word to `link`.
    pub fn new(word: &'g AtomicU64, link: Link) -> Self {
        // Relaxed: the thread that publishes the word does so with release.
        word.store(link.0, Ordering::Relaxed);
        Self { word, link }
    }

    /// Marks the word of an owner that nothing follows.
    pub fn close(&self) -> Result<(), Lost> {
        let marked = self.link.0 | MARKED;
        let closed = self.word.compare_exchange(self.link.0, marked, Ordering::AcqRel, Ordering::Acquire);
        closed.map(|_| ()).map_err(|_| Lost)
    }

    /// Returns the object that follows the place: a version that is not marked, with the place behind it, or a stop.
    /// Removes marked versions on the way.
    ///
    /// # Safety
    /// The place is in a list of versions with headers of type `H` and with this format, at `position` of their words,
    /// and was read in an epoch that lasts for `'g`.
    pub unsafe fn next<H: VersionHeader>(
        &mut self,
        format: &'g VersionFormat,
        position: usize,
    ) -> Result<(Pointee<'g, H>, Option<Place<'g>>), Lost> {
        loop {
            // SAFETY: by the caller.
            let pointee = unsafe { self.link.pointee(format) };
            let Pointee::Version(version) = pointee else { return Ok((pointee, None)) };
            let word = version.link(position);
            let link = Link::of(word);
            if !link.is_marked() {
                return Ok((pointee, Some(Place { word, link })));
            }
            self.pass(version, position)?;
        }
    }

    /// Removes `version` from the list: makes this place's word lead past it. The place must lead to the version, and
    /// the version must be marked. `position` is the index's position among the table's indexes.
    ///
    /// # Errors
    /// [`Lost`] if another thread has changed the place's word.
    pub fn pass<H: VersionHeader>(&mut self, version: VersionRef<'_, H>, position: usize) -> Result<(), Lost> {
        let link = Link::of(version.link(position));
        debug_assert!(self.link.leads_to(version) && link.is_marked());
        self.lead(self.link.leading_where(link))
    }

    /// Makes the place's word lead to `link`.
    #[inline]
    pub fn lead(&mut self, link: Link) -> Result<(), Lost> {
        debug_assert!(!link.is_marked());
        let swung = self.word.compare_exchange(self.link.0, link.0, Ordering::AcqRel, Ordering::Acquire);
        self.link = link;
        swung.map(|_| ()).map_err(|_| Lost)
    }

    /// Inserts a version, which is in no list yet, at this place.
    #[inline]
    pub fn put<H: VersionHeader>(&mut self, version: VersionRef<'_, H>, position: usize, tag: u64) -> Result<(), Lost> {
        let (new, owner_free) = (Link::to_version(version, tag), Link(0).leading_where(self.link));
        // Relaxed: no thread reaches the version before the exchange, which releases it.
        version.link(position).store(owner_free.0, Ordering::Relaxed);
        self.lead(self.link.leading_where(new))
    }
}

/// Marks a version's word, which freezes it.
pub(super) fn mark<H: VersionHeader>(version: VersionRef<'_, H>, position: usize) {
    let before = version.link(position).fetch_or(MARKED, Ordering::AcqRel);
    debug_assert!(before & MARKED == 0, "a version is taken out by one, once");
}

/// Marks a stop's word as ready: the stop is in its list.
pub(super) fn set_ready(word: &AtomicU64) {
    word.fetch_and(!UNREADY, Ordering::AcqRel);
}

/// Whether a walk can begin at a bucket whose word holds `link`: the word is in its list, and marked as such.
#[inline]
pub(super) fn is_ready(link: Link) -> bool {
    link.0 != 0 && link.0 & UNREADY == 0
}
