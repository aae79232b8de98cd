//! Hash tables whose keys lie in the same order in each run, as their hashes have no random part.
//!
//! Nobody outside chooses the keys, which are addresses and numbers that an engine gives out. So nobody can choose keys
//! that collide.

use std::hash::{BuildHasherDefault, DefaultHasher};

/// A map.
pub(crate) type HashMap<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<DefaultHasher>>;

/// A set.
pub(crate) type HashSet<K> = std::collections::HashSet<K, BuildHasherDefault<DefaultHasher>>;
