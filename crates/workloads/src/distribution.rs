//! The distribution of the keys that transactions draw: how popular each key is.
//!
//! A key is its rank: rank 0, the most popular, is key 0, and rank 1 is key 1, as in the test beds with which results
//! are compared. A hash index scatters popular keys; their records are loaded in key order, and so are neighbours in
//! memory.

use fastrand::Rng;
use std::ops::Range;

/// The greatest exponent that [`Zipf`] takes. Far beyond it, one key gets all draws.
pub const THETA_MAX: f64 = 5.0;

/// The distribution by which keys are drawn from `0..keys`.
#[derive(Clone, Debug)]
pub enum Distribution {
    /// All keys are equally popular.
    Uniform {
        /// The number of keys.
        keys: u64,
    },
    /// Lower keys are more popular than higher ones.
    Zipfian(Zipf),
}

impl Distribution {
    /// Makes the Zipfian distribution with exponent `theta`, or the uniform distribution if `theta` is zero. `keys`
    /// must not be zero, and `theta` must be within `0..=THETA_MAX`.
    pub fn new(keys: u64, theta: f64) -> Self {
        if theta == 0.0 { Distribution::Uniform { keys } } else { Distribution::Zipfian(Zipf::new(keys, theta)) }
    }

    /// Draws a key.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        match self {
            Distribution::Uniform { keys } => rng.u64(..*keys),
            Distribution::Zipfian(zipf) => zipf.draw(rng),
        }
    }
}

/// Calls `draw` until it returns a key that is not taken. If one key gets nearly all draws, returns instead the next
/// free key of `keys` after that one. At least one key must be free.
#[inline]
pub(crate) fn different(is_taken: impl Fn(u64) -> bool, keys: Range<u64>, mut draw: impl FnMut() -> u64) -> u64 {
    const DRAWS: usize = 64;
    let mut key = draw();
    for _ in 1..DRAWS {
        if !is_taken(key) {
            return key;
        }
        key = draw();
    }
    while is_taken(key) {
        key = if key + 1 < keys.end { key + 1 } else { keys.start };
    }
    key
}

/// Draws rank r of `0..n` with probability proportional to 1/(r + 1)^θ: exactly, in constant time and memory.
///
/// Rejection-inversion (W. Hörmann and G. Derflinger, *Rejection-inversion to generate variates from monotone discrete
/// distributions*, ACM TOMACS 6(3), 1996): a point below the continuous x^-θ is drawn by inverting its integral H. It
/// is rejected, which is rare, if it lies outside the histogram of the discrete probabilities.
#[derive(Clone, Debug)]
pub struct Zipf {
    keys: f64,
    theta: f64,
    /// The number 1 - θ, and its inverse.
    power: f64,
    inverse_power: f64,
    /// The value H(1.5) - 1, at which the range of areas begins.
    from: f64,
    /// The value H(n + 0.5), at which the range of areas ends.
    to: f64,
    /// The distance below its rank up to which a point is accepted without evaluating the histogram.
    squeeze: f64,
}

impl Zipf {
    /// Makes the distribution over `keys` ranks with exponent `theta`.
    ///
    /// # Panics
    /// If `keys` is zero or `theta` is not within `0..=THETA_MAX`.
    pub fn new(keys: u64, theta: f64) -> Self {
        assert!(keys > 0, "a distribution over no keys");
        assert!((0.0..=THETA_MAX).contains(&theta), "theta {theta} is not within 0 and {THETA_MAX}");
        let power = 1.0 - theta;
        let mut zipf =
            Self { keys: keys as f64, theta, power, inverse_power: power.recip(), from: 0.0, to: 0.0, squeeze: 0.0 };
        zipf.from = zipf.integral(1.5) - 1.0;
        zipf.to = zipf.integral(zipf.keys + 0.5);
        zipf.squeeze = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    /// Draws a rank, from zero.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        /// The number of basic blocks that the simulated machine counts for the logarithms and exponential functions of
        /// one round.
        const FUNCTIONS_BLOCKS: u64 = 55;
        loop {
            hotrow_sync::count_work(FUNCTIONS_BLOCKS);
            let area = self.to + rng.f64() * (self.from - self.to);
            let point = self.inverse(area);
            let rank = point.round().clamp(1.0, self.keys);
            if rank - point <= self.squeeze || area >= self.integral(rank + 0.5) - self.density(rank) {
                return rank as u64 - 1;
            }
        }
    }

    /// Whether the exponent is so close to one that the general formulas lose their digits, while the logarithm is
    /// accurate.
    fn is_harmonic(&self) -> bool {
        self.power.abs() < 1e-9
    }

    /// Returns the density x^-θ.
    fn density(&self, x: f64) -> f64 {
        (-self.theta * x.ln()).exp()
    }

    /// Returns H(x), the density's integral from 1 to x.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        if self.is_harmonic() { log } else { (self.power * log).exp_m1() * self.inverse_power }
    }

    /// Returns the x at which the integral H(x) is `area`.
    #[inline]
    fn inverse(&self, area: f64) -> f64 {
        if self.is_harmonic() {
            return area.exp();
        }
        // Rounding may put the argument just below the logarithm's domain.
        let scaled = (area * self.power).max(-1.0);
        (scaled.ln_1p() * self.inverse_power).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws often and compares each rank's share with its probability, in standard deviations.
    fn check_zipf(keys: u64, theta: f64) {
        const DRAWS: u64 = 200_000;
        let mut rng = Rng::with_seed(7);
        let distribution = Distribution::new(keys, theta);
        let mut counts = vec![0_u64; keys as usize];
        for _ in 0..DRAWS {
            counts[distribution.draw(&mut rng) as usize] += 1;
        }
        let weight = |rank: usize| ((rank + 1) as f64).powf(-theta);
        let total: f64 = (0..keys as usize).map(weight).sum();
        for (rank, &count) in counts.iter().enumerate() {
            let probability = weight(rank) / total;
            let expected = DRAWS as f64 * probability;
            let deviation = (expected * (1.0 - probability)).sqrt().max(1.0);
            let off = (count as f64 - expected).abs() / deviation;
            assert!(off < 6.0, "theta {theta}, rank {rank} of {keys}: {count} draws, {expected:.0} expected");
        }
    }

    #[test]
    fn ranks_are_drawn_with_their_probabilities() {
        for (keys, theta) in [
            (1, 0.9),
            (2, 0.9),
            (10, 0.0),
            (10, 0.5),
            (100, 0.9),
            (100, 0.99),
            (100, 1.0),
            (100, 1.2),
            (100, 1.5),
            (100_000, 1.5),
            (50, 3.0),
            (20, 5.0),
        ] {
            check_zipf(keys, theta);
        }
    }

    #[test]
    fn the_smallest_and_largest_parameters_stay_in_range() {
        for (keys, theta) in
            [(1, 5.0), (u64::from(u32::MAX), 5.0), (1 << 40, 0.01), (1 << 40, 1.0), (1 << 40, 1.5), (3, 1.000_000_01)]
        {
            let mut rng = Rng::with_seed(3);
            let zipf = Zipf::new(keys, theta);
            for _ in 0..10_000 {
                let rank = zipf.draw(&mut rng);
                assert!(rank < keys, "theta {theta}: rank {rank} of {keys}");
            }
        }
    }
}
