//! Random numbers, names and strings, as clauses 2.1.6 and 4.3.2 require.

use fastrand::Rng;
use hotrow_storage::mix;

/// The number of different last names.
pub(super) const LAST_NAMES: i32 = 1000;

/// The length of the longest last name, in bytes.
pub(super) const LAST_NAME_LONGEST: usize = 15;

/// The syllables of last names, one for each digit (clause 4.3.2.3).
const SYLLABLES: [&[u8]; 10] =
    [b"BAR", b"OUGHT", b"ABLE", b"PRI", b"PRES", b"ESE", b"ANTI", b"CALLY", b"ATION", b"EING"];

/// The constants C of NURand for customers, items and last names (clause 2.1.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Constants {
    customer: u32,
    item: u32,
    last_name: u32,
}

/// The constant for last names that the load uses.
const LOADED_LAST_NAME: u32 = 173;

impl Constants {
    /// Returns the constants of the load.
    pub(super) fn of_load() -> Self {
        Self { customer: 0, item: 0, last_name: LOADED_LAST_NAME }
    }

    /// Returns the constants of a run with this seed, which are the same for all its workers. The constant of the last
    /// names differs from the load's by 65 to 119, but neither by 96 nor by 112 (clause 2.1.6.1).
    pub(super) fn of_run(seed: u64) -> Self {
        let mut rng = Rng::with_seed(mix(seed ^ 0xC0_57A7));
        let last_name = loop {
            let drawn = rng.u32(..=255);
            if is_apart(drawn.abs_diff(LOADED_LAST_NAME)) {
                break drawn;
            }
        };
        Self { customer: rng.u32(..=1023), item: rng.u32(..=8191), last_name }
    }
}

/// Whether the constants for last names of the load and a run may differ by `difference`.
fn is_apart(difference: u32) -> bool {
    (65..=119).contains(&difference) && difference != 96 && difference != 112
}

/// Draws NURand(A, low, high): the bits of two uniform numbers are combined, so that some values are far more frequent.
#[inline]
fn nurand(rng: &mut Rng, a: u32, c: u32, low: u32, high: u32) -> i32 {
    let bits = rng.u32(..=a) | rng.u32(low..=high);
    ((bits + c) % (high - low + 1) + low) as i32
}

/// A stream of random numbers, under one set of constants, for one size of database.
#[derive(Clone, Debug)]
pub(super) struct Random {
    pub rng: Rng,
    constants: Constants,
    customers: u32,
    items: u32,
}

impl Random {
    pub(super) fn new(rng: Rng, constants: Constants, customers: u32, items: u32) -> Self {
        Self { rng, constants, customers, items }
    }

    /// Draws a number of `low..=high`, uniformly.
    #[inline]
    pub(super) fn uniform(&mut self, low: i32, high: i32) -> i32 {
        self.rng.i32(low..=high)
    }

    /// Returns true with probability `share`.
    #[inline]
    pub(super) fn chance(&mut self, share: f64) -> bool {
        share > 0.0 && self.rng.f64() < share
    }

    /// Draws a customer's number.
    #[inline]
    pub(super) fn customer(&mut self) -> i32 {
        nurand(&mut self.rng, 1023, self.constants.customer, 1, self.customers)
    }

    /// Draws an item's number.
    #[inline]
    pub(super) fn item(&mut self) -> i32 {
        nurand(&mut self.rng, 8191, self.constants.item, 1, self.items)
    }

    /// Draws a last name's number, among those that the first customers of a district have.
    #[inline]
    pub(super) fn last_name(&mut self) -> i32 {
        let names = self.customers.min(LAST_NAMES as u32);
        nurand(&mut self.rng, 255, self.constants.last_name, 0, names - 1)
    }

    /// Fills the beginning of `buffer` with letters and digits, as many as are drawn from `shortest..=longest`.
    pub(super) fn letters<'b>(&mut self, buffer: &'b mut [u8], shortest: usize, longest: usize) -> &'b [u8] {
        let length = self.rng.usize(shortest..=longest);
        self.fill(&mut buffer[..length], b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789");
        &buffer[..length]
    }

    /// Fills `buffer` with digits.
    pub(super) fn digits<'b>(&mut self, buffer: &'b mut [u8]) -> &'b [u8] {
        self.fill(buffer, b"0123456789");
        buffer
    }

    /// Fills `buffer` with eight characters for each draw: the load makes some hundred million characters.
    fn fill(&mut self, buffer: &mut [u8], characters: &[u8]) {
        for chunk in buffer.chunks_mut(8) {
            for (place, byte) in chunk.iter_mut().zip(self.rng.u64(..).to_le_bytes()) {
                *place = characters[(usize::from(byte) * characters.len()) >> 8];
            }
        }
    }

    /// Makes a zip code: four digits and 11111.
    pub(super) fn zip<'b>(&mut self, buffer: &'b mut [u8; 9]) -> &'b [u8] {
        self.digits(&mut buffer[..4]);
        buffer[4..].fill(b'1');
        buffer
    }

    /// Makes the data of an item or a stock: 26 to 50 characters. In a tenth of all cases [`ORIGINAL`] is somewhere in
    /// them.
    pub(super) fn data<'b>(&mut self, buffer: &'b mut [u8; 50]) -> &'b [u8] {
        let length = self.letters(buffer, 26, 50).len();
        if self.chance(0.1) {
            let at = self.rng.usize(..=length - ORIGINAL.len());
            buffer[at..at + ORIGINAL.len()].copy_from_slice(ORIGINAL);
        }
        &buffer[..length]
    }
}

/// The text in the data of an item or a stock by which it counts as original.
pub(super) const ORIGINAL: &[u8] = b"ORIGINAL";

/// Writes the last name with this number, `0..LAST_NAMES`, into `buffer`. Returns the part of the buffer that it takes.
pub(super) fn last_name(number: i32, buffer: &mut [u8; LAST_NAME_LONGEST]) -> &[u8] {
    let mut length = 0;
    for digit in [number / 100, number / 10 % 10, number % 10] {
        let syllable = SYLLABLES[digit as usize];
        buffer[length..length + syllable.len()].copy_from_slice(syllable);
        length += syllable.len();
    }
    &buffer[..length]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_last_name_has_a_syllable_a_digit() {
        let mut buffer = [0; LAST_NAME_LONGEST];
        for (number, name) in
            [(0, "BARBARBAR"), (371, "PRICALLYOUGHT"), (777, "CALLYCALLYCALLY"), (999, "EINGEINGEING")]
        {
            assert_eq!(last_name(number, &mut buffer), name.as_bytes(), "{number}");
        }
    }

    #[test]
    fn the_constants_of_load_and_run_are_apart() {
        for (difference, apart) in [(64, false), (65, true), (96, false), (112, false), (119, true), (120, false)] {
            assert_eq!(is_apart(difference), apart, "{difference}");
        }
        for seed in 0..1000 {
            let Constants { customer, item, last_name } = Constants::of_run(seed);
            assert!(customer <= 1023 && item <= 8191 && last_name <= 255, "seed {seed}");
            assert!(is_apart(last_name.abs_diff(LOADED_LAST_NAME)), "seed {seed}");
        }
    }

    #[test]
    fn numbers_are_in_their_ranges_and_not_uniform() {
        for (customers, items) in [(3000, 100_000), (30, 100), (1, 1)] {
            let mut random = Random::new(Rng::with_seed(7), Constants::of_run(7), customers, items);
            let mut counts = vec![0_u32; items as usize + 1];
            for _ in 0..100_000 {
                assert!((1..=customers as i32).contains(&random.customer()));
                assert!((0..customers.min(1000) as i32).contains(&random.last_name()));
                counts[random.item() as usize] += 1;
            }
            assert_eq!(counts[0], 0);
            let most = counts.iter().max().copied().unwrap_or_default();
            assert!(items == 1 || u64::from(most) * u64::from(items) > 150_000, "the most frequent item: {most}");
        }
    }

    #[test]
    fn a_tenth_of_the_data_is_original() {
        let mut random = Random::new(Rng::with_seed(3), Constants::of_load(), 3000, 100_000);
        let mut buffer = [0; 50];
        let mut originals = 0;
        for _ in 0..10_000 {
            let data = random.data(&mut buffer);
            assert!((26..=50).contains(&data.len()) && data.is_ascii());
            originals += usize::from(data.windows(8).any(|window| window == ORIGINAL));
        }
        assert!((850..1150).contains(&originals), "{originals} of 10,000");
    }
}
