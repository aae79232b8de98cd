//! The items of a history by number, and the keys that they ever had in each index.

use crate::history::{Item, Range, Version};
use hotrow_storage::{IndexId, IndexRef, Key, TableId};
use std::collections::{BTreeMap, HashMap};

/// The items of a history, with consecutive numbers from zero, and the keys that they ever had in each index.
#[derive(Debug, Default)]
pub(crate) struct Items {
    list: Vec<Item>,
    numbers: HashMap<Item, usize>,
    /// The keys that items ever had in each index, in their order, with the items' numbers.
    entries: BTreeMap<(TableId, IndexRef), Vec<(Key, usize)>>,
}

impl Items {
    /// Numbers the items in their order. Each is passed with all versions that it ever had.
    pub fn new<'v, V: IntoIterator<Item = &'v Version>>(items: impl IntoIterator<Item = (Item, V)>) -> Self {
        let mut all = Self::default();
        for (item, versions) in items {
            let number = all.list.len();
            let mut is_ever_there = false;
            for version in versions {
                is_ever_there = true;
                for (index, key) in version.index_keys.iter().enumerate() {
                    let index = IndexRef::Secondary(IndexId(index as u16));
                    all.entries.entry((item.table, index)).or_default().push((key.clone(), number));
                }
            }
            if is_ever_there {
                all.entries.entry((item.table, IndexRef::Primary)).or_default().push((item.key.clone(), number));
            }
            all.numbers.insert(item.clone(), number);
            all.list.push(item);
        }
        for list in all.entries.values_mut() {
            list.sort_unstable();
            list.dedup();
        }
        all
    }

    /// Returns the number of items.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns the number of an item, or `None` if it is not among the items.
    pub fn number(&self, item: &Item) -> Option<usize> {
        self.numbers.get(item).copied()
    }

    /// Returns the item with this number.
    pub fn item(&self, number: usize) -> &Item {
        &self.list[number]
    }

    /// Returns the numbers of all items of which any version ever lay in the range, in ascending order.
    pub fn ever_in(&self, range: &Range) -> Vec<usize> {
        let Some(list) = self.entries.get(&(range.table, range.index)) else { return Vec::new() };
        let from = list.partition_point(|(key, _)| range.is_above(key));
        let inside = list[from..].iter().take_while(|(key, _)| !range.is_below(key));
        let mut numbers: Vec<_> = inside.map(|&(_, number)| number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }
}
