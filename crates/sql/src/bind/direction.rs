//! The direction of an item of ORDER BY.

use crate::SqlError;
use crate::error::unsupported;
use sqlparser::ast::{OrderByOptions, OrderBySort};

/// Returns whether the order of an item is descending, and whether NULLs come first, in this order.
///
/// # Errors
/// 0A000 for USING.
pub(super) fn direction(options: &OrderByOptions) -> Result<(bool, bool), SqlError> {
    let descending = match &options.sort {
        None | Some(OrderBySort::Asc) => false,
        Some(OrderBySort::Desc) => true,
        Some(OrderBySort::Using(_)) => return Err(unsupported("ORDER BY ... USING")),
    };
    Ok((descending, options.nulls_first.unwrap_or(descending)))
}
