//! The frames of triggers' functions.
//!
//! The function of a trigger has a frame like any body. `found` has the first slot. Then come the fields of NEW, those
//! of OLD, and the variables whose names begin with `TG_`.

use hotrow_storage::{Element, Type};

/// The variables whose slots follow the fields of NEW and OLD, in the order of their slots.
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

/// The slot of `found`, which precedes the fields of the rows.
pub const FOUND: usize = 0;

/// The slot of the first field of NEW.
pub const NEW: usize = FOUND + 1;
