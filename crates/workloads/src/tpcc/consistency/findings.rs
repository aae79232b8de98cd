//! The conditions that do not hold.

use crate::Violation;
use std::collections::BTreeMap;

/// The conditions that do not hold, by number, each with its first case and the number of its cases. Number 0 stands
/// for transactions that gave up.
#[derive(Debug, Default)]
pub(super) struct Findings {
    broken: BTreeMap<u32, (String, u64)>,
    is_corrupt: bool,
}

impl Findings {
    /// Adds a case that an engine without isolation may cause.
    pub(super) fn add(&mut self, condition: u32, what: String) {
        self.broken.entry(condition).or_insert((what, 0)).1 += 1;
    }

    /// Adds a case that no interleaving explains.
    pub(super) fn add_corruption(&mut self, condition: u32, what: String) {
        self.is_corrupt = true;
        self.add(condition, what);
    }

    /// Returns the verdict: the conditions that do not hold, as an error, if there are any.
    pub(super) fn into_result(self) -> Result<(), Violation> {
        if self.broken.is_empty() {
            return Ok(());
        }
        let describe = |(condition, (what, cases)): (u32, (String, u64))| {
            let place = if condition == 0 { String::new() } else { format!("condition {condition}, ") };
            let others = if cases > 1 { format!(" (and {} more)", cases - 1) } else { String::new() };
            format!("{place}{what}{others}")
        };
        let what = self.broken.into_iter().map(describe).collect::<Vec<_>>().join("; ");
        Err(if self.is_corrupt { Violation::Corruption(what) } else { Violation::Anomaly(what) })
    }
}

/// Formats an amount with two digits after the point.
pub(super) fn cents(amount: i64) -> String {
    let sign = if amount < 0 { "-" } else { "" };
    let amount = amount.unsigned_abs();
    format!("{sign}{}.{:02}", amount / 100, amount % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_printed_with_two_digits() {
        for (amount, text) in [(0, "0.00"), (5, "0.05"), (-5, "-0.05"), (123_456, "1234.56"), (-1000, "-10.00")] {
            assert_eq!(cents(amount), text);
        }
    }

    #[test]
    fn each_condition_is_told_once_with_the_number_of_its_cases() {
        let mut findings = Findings::default();
        findings.add(5, "an order".to_owned());
        findings.add(2, "a district".to_owned());
        findings.add(5, "another order".to_owned());
        let what = "condition 2, a district; condition 5, an order (and 1 more)".to_owned();
        assert_eq!(findings.into_result(), Err(Violation::Anomaly(what)));
        assert_eq!(Findings::default().into_result(), Ok(()));
    }
}
