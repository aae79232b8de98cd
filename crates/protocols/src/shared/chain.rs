//! The heads of one bucket of a lock table: one in the bucket itself, and more in a vector if they are needed.

use super::lock_table::Name;

/// The number of further heads for which a bucket that does not need them keeps room.
const KEPT_HEADS: usize = 8;

/// The head of a lock: the transactions that hold it, and those that wait for it.
pub(crate) trait ChainedHead: Default {
    /// Whether the head is that of the lock with this name.
    fn is_of(&self, name: Name) -> bool;

    /// Whether no transaction holds the lock or waits for it, so that the head can become that of another lock.
    fn is_free(&self) -> bool;

    /// Makes a free head that of the lock with this name.
    fn rename(&mut self, name: Name);
}

/// The heads of one bucket.
#[derive(Debug, Default)]
pub(crate) struct HeadChain<H> {
    first: H,
    /// The heads of further names, if the bucket has any.
    #[expect(clippy::box_collection, reason = "a bucket is one cache line, and rarely has more than one head")]
    more: Option<Box<Vec<H>>>,
}

impl<H: ChainedHead> HeadChain<H> {
    /// Returns the head of a name, or `None` if the name has none.
    #[inline]
    pub(crate) fn find(&mut self, name: Name) -> Option<&mut H> {
        if self.first.is_of(name) {
            return Some(&mut self.first);
        }
        self.more.as_mut()?.iter_mut().find(|head| head.is_of(name))
    }

    /// Returns the head of a name. If the name has none, a free head becomes its head.
    #[inline]
    pub(crate) fn find_or_make(&mut self, name: Name) -> &mut H {
        let elsewhere = self.more.as_ref().and_then(|more| more.iter().position(|head| head.is_of(name)));
        if let Some(position) = elsewhere {
            return &mut self.more.get_or_insert_default()[position];
        }
        if self.first.is_of(name) {
            return &mut self.first;
        }
        if self.first.is_free() {
            self.first.rename(name);
            return &mut self.first;
        }
        let more = self.more.get_or_insert_default();
        more.push(H::default());
        let head = more.last_mut().expect("just pushed");
        head.rename(name);
        head
    }

    /// Removes a free head, unless it is the bucket's first.
    #[inline]
    pub(crate) fn tidy(&mut self) {
        if self.more.is_some() {
            self.remove_free();
        }
    }

    #[cold]
    fn remove_free(&mut self) {
        let Some(more) = &mut self.more else { return };
        if let Some(position) = more.iter().position(|head| head.is_free()) {
            more.swap_remove(position);
            if more.is_empty() && more.capacity() > KEPT_HEADS {
                self.more = None;
            }
        }
    }

    /// Returns all heads, free ones among them.
    pub(crate) fn heads(&self) -> impl Iterator<Item = &H> {
        std::iter::once(&self.first).chain(self.more.iter().flat_map(|more| more.iter()))
    }

    /// Returns the bucket's first head.
    #[cfg(all(test, not(shuttle)))]
    pub(crate) fn first(&self) -> &H {
        &self.first
    }
}
