//! A map of the values that a session keeps by name: prepared statements and portals.

use std::collections::HashMap;

/// Values by name. The empty name, which most clients use, has a place of its own.
///
/// The empty name would be expensive in the map. An empty string has no memory, and a vectorised comparison with a
/// masked load from an address that does not exist takes some processors (AVX-512) a hundred nanoseconds, though it
/// compares nothing.
#[derive(Debug)]
pub(super) struct Named<T> {
    unnamed: Option<T>,
    others: HashMap<String, T>,
}

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self { unnamed: None, others: HashMap::new() }
    }
}

impl<T> Named<T> {
    /// Returns the number of values, the unnamed one included.
    pub(super) fn len(&self) -> usize {
        self.others.len() + usize::from(self.unnamed.is_some())
    }

    pub(super) fn get(&self, name: &str) -> Option<&T> {
        if name.is_empty() { self.unnamed.as_ref() } else { self.others.get(name) }
    }

    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut T> {
        if name.is_empty() { self.unnamed.as_mut() } else { self.others.get_mut(name) }
    }

    /// Inserts a value. A value of the same name is replaced.
    pub(super) fn insert(&mut self, name: &str, value: T) {
        if name.is_empty() {
            self.unnamed = Some(value);
        } else {
            self.others.insert(name.to_owned(), value);
        }
    }

    pub(super) fn remove(&mut self, name: &str) {
        if name.is_empty() {
            self.unnamed = None;
        } else {
            self.others.remove(name);
        }
    }

    pub(super) fn clear(&mut self) {
        self.unnamed = None;
        self.clear_named();
    }

    /// Removes all values but the unnamed one.
    pub(super) fn clear_named(&mut self) {
        if !self.others.is_empty() {
            self.others.clear();
        }
    }
}
