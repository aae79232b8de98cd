//! Temporary.
#![allow(missing_docs)]
use crate::{Collector, Guard, Key};
use hotrow_sync::{Arc, RwLock};
use std::collections::BTreeMap;
use std::ops::Bound;
pub struct OrderedIndex(RwLock<BTreeMap<Key, usize>>);
impl OrderedIndex {
    pub fn new(_: &Arc<Collector>, _: bool) -> Self { Self(RwLock::new(BTreeMap::new())) }
    pub fn get(&self, _: Guard<'_>, key: &Key) -> Option<usize> { self.0.read().unwrap().get(key).copied() }
    pub fn insert(&self, _: Guard<'_>, key: &Key, address: usize) -> Result<(), usize> {
        let mut map = self.0.write().unwrap();
        if let Some(&old) = map.get(key) { return Err(old); }
        map.insert(key.clone(), address); Ok(())
    }
    pub fn remove(&self, _: Guard<'_>, key: &Key) -> Option<usize> { self.0.write().unwrap().remove(key) }
    pub fn collect(&self, _: Guard<'_>, from: Bound<&Key>, backward: bool, limit: usize, out: &mut Vec<(Key, usize)>) {
        let map = self.0.read().unwrap();
        if backward { out.extend(map.range::<Key, _>((Bound::Unbounded, from)).rev().take(limit).map(|(k, v)| (k.clone(), *v))); }
        else { out.extend(map.range::<Key, _>((from, Bound::Unbounded)).take(limit).map(|(k, v)| (k.clone(), *v))); }
    }
    pub fn len(&self) -> usize { self.0.read().unwrap().len() }
}
