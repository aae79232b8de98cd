//! Hash tables that iterate over their keys in the same order in each run, because their hashes have no random part.
//!
//! The keys are addresses and numbers that an engine gives out. Clients cannot choose them, so they cannot make keys
//! collide.

use std::hash::{BuildHasherDefault, DefaultHasher};

/// A hash map without a random seed.
pub(crate) type HashMap<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<DefaultHasher>>;

/// A hash set without a random seed.
pub(crate) type HashSet<K> = std::collections::HashSet<K, BuildHasherDefault<DefaultHasher>>;
