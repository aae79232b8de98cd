//! One file for each reproduced figure, and what several of them share.

mod orthrus;
mod orthrus_12;
mod orthrus_13;
mod orthrus_4;

use super::figure::Figure;

/// All figures, in the order of the list.
pub(crate) static FIGURES: &[&Figure] = &[&orthrus_4::FIGURE, &orthrus_12::FIGURE, &orthrus_13::FIGURE];
