//! Tests of the prefixes that generators return, and of the ranges that these cover.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

const EXACT: Cover = Cover::Exact { at_most: usize::MAX };

/// Returns the number that begins with the bits of `text` and goes on with zeros, or with ones for the end of a range.
fn number(text: &str, then: u128) -> u128 {
    let bits = u128::from_str_radix(text, 2).expect("bits");
    let free = KEY_BITS - text.len() as u32;
    bits << free | then & !leading_ones(text.len() as u32)
}

/// Returns the bits of a prefix as text.
fn text(prefix: Prefix) -> String {
    let bits = (0..prefix.depth).map(|bit| if prefix.bits >> (KEY_BITS - 1 - bit) & 1 == 1 { '1' } else { '0' });
    bits.collect()
}

fn texts(prefixes: &[Prefix]) -> Vec<String> {
    prefixes.iter().map(|&prefix| text(prefix)).collect()
}

fn bits_of(granularity: Granularity, first: &str, last: &str, cover: Cover) -> Vec<String> {
    let range = BitRange { first: number(first, 0), last: number(last, u128::MAX) };
    texts(&KeySpace::of_bits(granularity).cover(range, cover))
}

#[test]
fn ranges_become_the_prefixes_of_the_paper() {
    let (first, last) = ("00111100", "01000010");
    for (cover, expected) in [
        (Cover::CommonPrefix, vec!["0"]),
        (EXACT, vec!["001111", "0100000", "01000010"]),
        (Cover::Exact { at_most: 3 }, vec!["001111", "0100000", "01000010"]),
        (Cover::Exact { at_most: 2 }, vec!["001111", "010000"]),
        (Cover::Exact { at_most: 1 }, vec!["0"]),
        (Cover::Exact { at_most: 0 }, vec!["0"]),
    ] {
        assert_eq!(bits_of(Granularity::BITS, first, last, cover), expected, "{cover:?}");
    }
}

#[test]
fn levels_of_several_bits_are_covered_child_by_child() {
    let granularity = Granularity::new(2, 8).expect("a good granularity");
    for (first, last, cover, expected) in [
        ("00000000", "11111111", EXACT, vec![""]),
        ("00000000", "01111111", EXACT, vec!["00", "01"]),
        ("00000000", "01111111", Cover::CommonPrefix, vec![""]),
        ("00011011", "00101000", EXACT, vec!["00011011", "000111", "001000", "001001", "00101000"]),
        (
            "00000001",
            "10010000",
            EXACT,
            vec![
                "00000001", "00000010", "00000011", "000001", "000010", "000011", "0001", "0010", "0011", "01", "1000",
                "10010000",
            ],
        ),
        (
            "00000001",
            "10010000",
            Cover::Exact { at_most: 8 },
            vec!["0000", "0001", "0010", "0011", "01", "1000", "10010000"],
        ),
        ("00000001", "10010000", Cover::Exact { at_most: 3 }, vec!["00", "01", "10"]),
        ("00000001", "10010000", Cover::Exact { at_most: 2 }, vec![""]),
        ("0000000001", "0000000010", EXACT, vec!["00000000"]),
    ] {
        assert_eq!(bits_of(granularity, first, last, cover), expected, "{first} to {last}, {cover:?}");
    }
}

#[test]
fn granularities_divide_the_bits_of_a_key() {
    for (bits_per_level, depth_bits, good) in [
        (1, 128, true),
        (1, 1, true),
        (16, 64, true),
        (64, 128, true),
        (0, 128, false),
        (3, 126, false),
        (128, 128, false),
        (16, 0, false),
        (16, 8, false),
        (16, 40, false),
        (16, 144, false),
    ] {
        let made = Granularity::new(bits_per_level, depth_bits);
        assert_eq!(made.is_some(), good, "{bits_per_level} and {depth_bits}");
        let read = made.map(|made| (made.bits_per_level, made.depth_bits));
        assert_eq!(read, good.then_some((bits_per_level, depth_bits)));
    }
}

fn space() -> KeySpace {
    KeySpace::of_index(TableId(7), IndexRef::Primary, Granularity::default())
}

/// Returns a bound of this kind: `[` and `]` include the key, `(` and `)` exclude it, `-` is no bound.
fn bound(kind: char, key: &Key) -> Bound<Key> {
    match kind {
        '[' | ']' => Bound::Included(key.clone()),
        '(' | ')' => Bound::Excluded(key.clone()),
        _ => Bound::Unbounded,
    }
}

#[test]
fn bounds_mean_what_they_mean_in_scans() {
    let int = Key::Int;
    let bytes = |bytes: &[u8]| Key::from_bytes(bytes);
    let long = bytes(&[7; 40]);
    for (lower, low, upper, high, expected) in [
        ('[', int(5), ']', int(5), Some(64)),
        ('(', int(5), ')', int(5), None),
        ('[', int(5), ')', int(5), None),
        ('(', int(5), ']', int(5), None),
        ('(', int(5), ']', int(6), Some(64)),
        ('[', int(0), ']', int(0xFFFF), Some(48)),
        ('[', int(0), ')', int(0x1_0000), Some(48)),
        ('[', int(0), ']', int(0x1_0000), Some(32)),
        ('[', int(-1), ']', int(0), Some(0)),
        ('-', int(0), ')', int(i64::MIN), None),
        ('(', int(i64::MAX), '-', int(0), None),
        ('-', int(0), '-', int(0), Some(0)),
        ('[', bytes(b"abcd"), ']', bytes(b"abcd"), Some(32)),
        ('[', bytes(b"abc"), ']', bytes(b"abc"), Some(16)),
        ('(', bytes(b"abcd"), ']', bytes(b"abcd"), None),
        ('(', bytes(b"ab"), ')', bytes(b"ad"), Some(16)),
        ('(', bytes(b"ab"), ')', bytes(b"ac"), None),
        ('(', bytes(&[0xFF]), '-', int(0), None),
        ('-', int(0), ')', bytes(&[]), None),
        ('[', bytes(b"b"), ']', bytes(b"a"), None),
        ('[', long.clone(), ']', long.clone(), Some(128)),
        ('(', long.clone(), ')', long, Some(128)),
    ] {
        let found = space().range(&bound(lower, &low), &bound(upper, &high), Cover::CommonPrefix);
        let depth = found.first().map(|prefix| prefix.depth());
        assert_eq!(depth, expected, "{lower}{low:?}, {high:?}{upper}");
    }
}

#[test]
fn points_have_a_level_every_so_many_bits_and_a_leaf_if_they_are_long() {
    let levels = |key: &Key| space().point(key).names_above().count();
    for (key, expected) in [
        (Key::Int(1), 4),
        (Key::int4s([1, 2, 3]), 6),
        (Key::from_bytes(b"abc"), 2),
        (Key::from_bytes(b""), 0),
        (Key::from_bytes(&[1; 16]), 8),
        (Key::from_bytes(&[1; 17]), 9),
        (Key::from_bytes(&[1; 400]), 9),
    ] {
        assert_eq!(levels(&key), expected, "{key:?}");
    }
    let (a, b) = (Key::from_bytes(b"the same sixteen a"), Key::from_bytes(b"the same sixteen b"));
    let (a, b) = (space().point(&a), space().point(&b));
    assert!(a.names_above().eq(b.names_above()));
    assert_ne!(a.name(), b.name());
}

#[test]
fn indexes_are_apart() {
    let of = |table, index| KeySpace::of_index(TableId(table), index, Granularity::default());
    let secondary = |number| IndexRef::Secondary(hotrow_storage::IndexId(number));
    let spaces = [
        of(1, IndexRef::Primary),
        of(2, IndexRef::Primary),
        of(1, secondary(0)),
        of(1, secondary(1)),
        of(2, secondary(0)),
    ];
    let mut names: Vec<_> =
        spaces.iter().flat_map(|space| [space.at(0, 0).name(), space.point(&Key::Int(1)).name()]).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 2 * spaces.len());
}

fn granularities() -> impl Strategy<Value = Granularity> {
    (0_u32..4, 1_u32..8).prop_map(|(bits, levels)| {
        let bits = 1 << bits;
        Granularity::new(bits, bits * levels).expect("a power of two, and a multiple of it")
    })
}

/// Generates pairs of numbers that differ in their first bits and in those after them.
fn ends() -> impl Strategy<Value = (u128, u128)> {
    let end = || (0_u128..1 << 10, prop_oneof![Just(0), Just(u128::MAX), any::<u128>()]);
    (end(), end()).prop_map(|((a, below_a), (b, below_b))| {
        let number = |top: u128, below: u128| top << 118 | below >> 10;
        let (a, b) = (number(a, below_a), number(b, below_b));
        (a.min(b), a.max(b))
    })
}

proptest! {
    #[test]
    fn an_exact_cover_is_the_range_and_nothing_else(granularity in granularities(), (first, last) in ends()) {
        let found = KeySpace::of_bits(granularity).cover(BitRange { first, last }, EXACT);
        // One after the other, and no gap between two.
        for pair in found.windows(2) {
            prop_assert_eq!(pair[0].last() + 1, pair[1].first());
        }
        let (left, right) = (found[0], found[found.len() - 1]);
        prop_assert!(left.first() <= first && last <= right.last());
        // What is beyond an end is below the last level.
        prop_assert!(left.first() == first || left.depth() == granularity.depth_bits);
        prop_assert!(right.last() == last || right.depth() == granularity.depth_bits);
    }

    #[test]
    fn a_bounded_cover_has_all_of_the_range_and_no_more_prefixes(
        granularity in granularities(),
        (first, last) in ends(),
        at_most in 0_usize..40,
    ) {
        let space = KeySpace::of_bits(granularity);
        let found = space.cover(BitRange { first, last }, Cover::Exact { at_most });
        prop_assert!(found.len() <= at_most.max(1));
        prop_assert!(found.windows(2).all(|pair| pair[0].last() + 1 == pair[1].first()));
        prop_assert!(found[0].first() <= first && last <= found[found.len() - 1].last());
        // It is never coarser than the common prefix.
        let common = space.common_prefix(BitRange { first, last });
        prop_assert!(common.first() <= found[0].first() && found[found.len() - 1].last() <= common.last());
    }

    #[test]
    fn keys_in_a_range_are_below_its_prefixes(
        keys in (0_usize..4).prop_flat_map(|length| vec(vec(0_u8..3, length + 2), 3)),
        (lower, upper) in (prop_oneof![Just('['), Just('('), Just('-')], prop_oneof![Just(']'), Just(')'), Just('-')]),
        (cut_lower, cut_upper) in (0_usize..3, 0_usize..3),
        granularity in granularities(),
        exact in any::<bool>(),
    ) {
        // Keys of one length: none is the beginning of another. Bounds may be shorter.
        let key = Key::from_bytes(&keys[0]);
        let low = Key::from_bytes(&keys[1][..keys[1].len() - cut_lower]);
        let high = Key::from_bytes(&keys[2][..keys[2].len() - cut_upper]);
        let (lower, upper) = (bound(lower, &low), bound(upper, &high));
        let above = match &lower {
            Bound::Included(low) => &key >= low,
            Bound::Excluded(low) => &key > low && !key.starts_with(low),
            Bound::Unbounded => true,
        };
        let below = match &upper {
            Bound::Included(high) => &key <= high || key.starts_with(high),
            Bound::Excluded(high) => &key < high,
            Bound::Unbounded => true,
        };
        let space = KeySpace::of_bits(granularity);
        let prefixes = space.range(&lower, &upper, if exact { EXACT } else { Cover::CommonPrefix });
        let point = space.point(&key);
        let path: Vec<_> = point.names_above().chain([point.name()]).collect();
        let covered = prefixes.iter().any(|prefix| path.contains(&prefix.name()));
        prop_assert!(covered || !(above && below), "{key:?} in {lower:?} to {upper:?}, {:?}", texts(&prefixes));
    }
}

/// Generates keys of one index: none is the beginning of another one.
fn keys() -> impl Strategy<Value = Key> {
    vec((0u8..3, any::<bool>()), 1..3).prop_map(|columns| {
        let mut builder = hotrow_storage::KeyBuilder::default();
        for (byte, is_long) in columns {
            let text = if is_long { vec![byte; 9] } else { vec![byte] };
            builder.push(hotrow_storage::Type::Bytea, false, &hotrow_storage::Value::Bytea(text.as_slice().into()));
        }
        builder.finish()
    })
}

proptest! {
    /// The keys of a range are below its neighbouring prefixes, which are few; and a part of the range has its own at
    /// the same level or a deeper one.
    #[test]
    fn a_range_is_covered_by_few_neighbours(mut ends in proptest::array::uniform4(any::<u64>()), shift in 0u32..64, at_most in 1u128..4) {
        ends.iter_mut().for_each(|end| *end >>= shift);
        ends.sort_unstable();
        let space = KeySpace::of_bits(Granularity::new(4, 128).expect("a good granularity"));
        let numbers = ends.map(|end| u128::from(end) << 64);
        let [first, inner_first, inner_last, last] = numbers;
        let covered: Vec<_> = space.neighbours(BitRange { first, last }, at_most).collect();
        let inner: Vec<_> = space.neighbours(BitRange { first: inner_first, last: inner_last }, at_most).collect();
        prop_assert!((1..=at_most).contains(&(covered.len() as u128)));
        prop_assert!(covered.iter().all(|prefix| prefix.depth == covered[0].depth));
        prop_assert!(covered[0].first() <= first && last <= covered[covered.len() - 1].last());
        prop_assert!(covered.windows(2).all(|pair| pair[0].last() + 1 == pair[1].first()));
        prop_assert!(covered[0].depth <= inner[0].depth);
        if covered[0].depth < 128 && at_most > 1 {
            let block = covered[0].last() - covered[0].first();
            prop_assert!(last - first >= block / 16 * (at_most - 1) || covered[0].depth == 0, "a block is at most so much longer");
        }
    }

    /// A key that bounds let in has its number in their range.
    #[test]
    fn the_numbers_of_keys_are_between_those_of_the_bounds(mut keys in proptest::array::uniform3(keys())) {
        keys.sort_unstable();
        let [lower, key, upper] = keys;
        let range = BitRange::between(Bound::Included(&lower), Bound::Included(&upper));
        prop_assert!(range.is_some_and(|range| (range.first..=range.last).contains(&BitRange::number(&key))));
        if key < upper && !upper.starts_with(&key) {
            let range = BitRange::between(Bound::Included(&lower), Bound::Excluded(&upper));
            prop_assert!(range.is_some_and(|range| (range.first..=range.last).contains(&BitRange::number(&key))));
        }
    }
}
