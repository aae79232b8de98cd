//! `hotrow reproduce`

use super::Failure;
use hotrow_bench::ReproduceOptions;
use std::io::Write;

/// Measures figures. Ctrl-C ends it early, and the measurements until then are kept.
pub fn run(options: &ReproduceOptions, out: &mut dyn Write) -> Result<(), Failure> {
    let interrupt = super::interrupt()?;
    hotrow_bench::reproduce(options, out, &interrupt).map_err(Failure::from)
}
