//! The frames of triggers' functions.
//!
//! The function of a trigger has a frame like any body. After `found` come the fields of NEW, those of OLD, and the
//! variables whose names begin with `TG_`.

use hotrow_storage::{Element, Type};

/// The variables after the rows, in the order of their places.
pub const VARIABLES: [(&str, Type); 9] = [
    ("tg_name", Type::Name),
    ("tg_when", Type::Text),
    ("tg_level", Type::Text),
    ("tg_op", Type::Text),
    ("tg_relname", Type::Name),
    ("tg_table_name", Type::Name),
    ("tg_table_schema", Type::Name),
    ("tg_nargs", Type::Int4),
    ("tg_argv", Type::Array(Element::Text)),
];

/// The place of `found`, before the rows.
pub const FOUND: usize = 0;

/// The place of the first field of NEW.
pub const NEW: usize = FOUND + 1;
