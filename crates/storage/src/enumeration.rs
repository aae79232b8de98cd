//! Enumerated types: types whose values are the labels of a list.
//!
//! A row holds the number of a label, and the order of the numbers is the order of the labels. So indexes and
//! comparisons need not know the labels. The numbers of a new type have gaps, into which labels can be added later. A
//! label keeps its number as long as the type exists.
//!
//! A [`Type`](crate::Type) is a small value that is copied everywhere, so it has only the [`EnumId`] of an enumerated
//! type. The process keeps the present definition of each id as long as the type's [`Enumeration`] exists.

use hotrow_sync::atomic::Ordering;
use hotrow_sync::{Arc, OnceLock, PlainAtomicU32, RwLock};
use std::collections::BTreeMap;

/// The id of an enumerated type, unique in the process and never used again. Nothing stores it: a database that is
/// opened again gives its types new ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EnumId(u32);

/// The definition of an enumerated type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnumDefinition {
    /// The name of the type, as messages and catalogs show it.
    pub name: String,
    /// The OIDs of the type and of its array type.
    pub oids: [u32; 2],
    /// The numbers and labels, in ascending order of the numbers. No label occurs twice.
    pub labels: Vec<(i32, String)>,
}

impl EnumDefinition {
    /// The greatest distance between the numbers of neighbouring labels in a new type. It is less in a type with more
    /// than 32,767 labels.
    const GAP: i32 = 1 << 16;

    /// Returns the labels of a new type with their numbers, which ascend from zero with gaps.
    pub fn numbered(labels: Vec<String>) -> Vec<(i32, String)> {
        let gap = i32::try_from(labels.len()).map_or(1, |count| (i32::MAX / count.max(1)).clamp(1, Self::GAP));
        let numbers = (0_i32..).map(|position| position.wrapping_mul(gap));
        numbers.zip(labels).collect()
    }

    /// Returns the label of a number, or `None` if no label has the number.
    pub fn label(&self, number: i32) -> Option<&str> {
        let at = self.labels.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        Some(&self.labels[at].1)
    }

    /// Returns the number of a label, or `None` if there is no such label.
    pub fn number(&self, label: &str) -> Option<i32> {
        self.labels.iter().find(|(_, known)| known == label).map(|(number, _)| *number)
    }

    /// Returns a number for a new label at the position `at`, which is at most the number of labels. Returns `None` if
    /// no number is left between those of the neighbours.
    pub fn number_at(&self, at: usize) -> Option<i32> {
        let before = at.checked_sub(1).map(|before| self.labels[before].0);
        let after = self.labels.get(at).map(|(number, _)| *number);
        let middle = |low: i32, high: i32| {
            let room = i64::from(high) - i64::from(low);
            (room >= 2).then(|| (i64::from(low) + room / 2) as i32)
        };
        match (before, after) {
            (None, None) => Some(0),
            (Some(low), None) => low.checked_add(Self::GAP).or_else(|| middle(low, i32::MAX)),
            (None, Some(high)) => high.checked_sub(Self::GAP).or_else(|| middle(i32::MIN, high)),
            (Some(low), Some(high)) => middle(low, high),
        }
    }
}

/// The present definitions of all enumerated types of the process.
type Definitions = RwLock<BTreeMap<EnumId, Arc<EnumDefinition>>>;

fn definitions() -> &'static Definitions {
    static ALL: OnceLock<Definitions> = OnceLock::new();
    ALL.get_or_init(|| RwLock::new(BTreeMap::new()))
}

impl EnumId {
    /// Returns the present definition of the type, or `None` if the type does not exist any more.
    pub fn definition(self) -> Option<Arc<EnumDefinition>> {
        definitions().read().unwrap_or_else(|poison| poison.into_inner()).get(&self).cloned()
    }
}

/// An enumerated type. The type exists until this object is dropped.
#[derive(Debug)]
pub struct Enumeration(EnumId);

impl Enumeration {
    /// Makes a type with an id of its own.
    pub fn new(definition: Arc<EnumDefinition>) -> Self {
        static LAST: PlainAtomicU32 = PlainAtomicU32::new(0);
        // Relaxed: only the number matters, which no other call gets.
        let made = Self(EnumId(LAST.fetch_add(1, Ordering::Relaxed)));
        made.define(definition);
        made
    }

    /// Returns the id of the type.
    pub fn id(&self) -> EnumId {
        self.0
    }

    /// Replaces the definition of the type. A label of the old definition must have the same number in the new one.
    pub fn define(&self, definition: Arc<EnumDefinition>) {
        definitions().write().unwrap_or_else(|poison| poison.into_inner()).insert(self.0, definition);
    }
}

impl Drop for Enumeration {
    fn drop(&mut self) {
        definitions().write().unwrap_or_else(|poison| poison.into_inner()).remove(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(labels: &[&str]) -> EnumDefinition {
        let labels = EnumDefinition::numbered(labels.iter().map(|&label| label.to_owned()).collect());
        EnumDefinition { name: "mood".to_owned(), oids: [1, 2], labels }
    }

    #[test]
    fn a_label_that_is_added_stands_in_its_place() {
        let mut known = definition(&["sad", "happy"]);
        for (at, label) in [(0, "first"), (1, "second"), (3, "between"), (5, "last")] {
            let number = known.number_at(at).expect("there is room");
            known.labels.insert(at, (number, label.to_owned()));
        }
        assert!(known.labels.is_sorted_by(|(one, _), (other, _)| one < other), "{known:?}");
        let labels: Vec<_> = known.labels.iter().map(|(number, _)| known.label(*number)).collect();
        assert_eq!(labels, ["first", "second", "sad", "between", "happy", "last"].map(Some));
        assert_eq!(known.number("sad"), Some(0));
        assert_eq!((known.number("glad"), known.label(1)), (None, None));
    }

    #[test]
    fn numbers_run_out_only_where_there_is_no_gap() {
        let mut known = definition(&["a", "b"]);
        let mut added = 0;
        while let Some(number) = known.number_at(1) {
            known.labels.insert(1, (number, format!("label {added}")));
            added += 1;
        }
        assert_eq!(added, 16, "a gap of 65,536 can be halved so many times");
        for end in [i32::MIN, i32::MAX] {
            let alone = EnumDefinition { labels: vec![(end, "alone".to_owned())], ..definition(&[]) };
            let (below, above) = (alone.number_at(0), alone.number_at(1));
            assert_eq!((below.is_some(), above.is_some()), (end == i32::MAX, end == i32::MIN));
        }
        assert!(definition(&[]).number_at(0).is_some());
        let many = EnumDefinition::numbered((0..100_000).map(|label| label.to_string()).collect());
        assert!(many.is_sorted_by(|(one, _), (other, _)| one < other));
    }

    #[test]
    fn a_type_is_known_until_it_is_dropped() {
        let (one, other) = (Arc::new(definition(&["a"])), Arc::new(definition(&["b"])));
        let made = Enumeration::new(one.clone());
        let beside = Enumeration::new(other.clone());
        assert_ne!(made.id(), beside.id());
        assert_eq!((made.id().definition(), beside.id().definition()), (Some(one), Some(other.clone())));
        made.define(other.clone());
        assert_eq!(made.id().definition(), Some(other));
        let id = made.id();
        drop(made);
        assert_eq!(id.definition(), None);
    }
}
