//! JSON: how the values of `json` and `jsonb` are read, taken apart, compared and changed.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `lex` | tokens, and PostgreSQL's words about text that is no token |
//! | `parse` | the grammar; [`validate`] |
//! | `normal` | the normal form: [`normalise`] |
//! | `number` | numbers as `numeric` prints them, and their order |
//! | `walk` | parts of a text that is JSON |
//! | `compare` | order, equality and containment of normal forms |
//! | `edit` | operations that make normal forms of other normal forms |
//!
//! A `json` is the text as it was written, once it has been found to be JSON. A `jsonb` is a text, too: its normal
//! form, which is what PostgreSQL prints. So both are stored, sent and copied like texts, and a value costs no more
//! than a text unless a query looks into it. A function that needs a part walks over the text up to it and keeps
//! nothing of it. There is no tree, so the memory is bounded by the text's own size. A function that changes a value
//! puts a text together and brings it into normal form again.
//!
//! The grammar is our own, not that of a crate: PostgreSQL's messages say which token was wrong and why, numbers keep
//! all of their digits, and `json` keeps every blank.
//!
//! Normal form: no blanks but one after each comma and colon. An object has each key once, with the value of its last
//! occurrence; keys are ordered by their length and then by their bytes. Numbers have no exponent, and strings have the
//! fewest possible escapes. Arrays and objects nest up to [`MAX_NESTING`] deep (54001).

mod compare;
mod edit;
mod lex;
mod normal;
mod number;
mod parse;
mod walk;

pub(crate) use compare::{canonical, compare, contains};
pub(crate) use edit::{Place, concat, delete_element, delete_keys, delete_path, pretty, set, strip_nulls};
pub(crate) use normal::{normalise, write_string};
pub(crate) use parse::validate;
pub(crate) use walk::{Kind, as_text, element, elements, field, has, kind, members, step, unescape};

/// The greatest depth to which arrays and objects may nest.
pub(crate) const MAX_NESTING: usize = 1000;

/// The greatest size of a value in bytes, as in PostgreSQL.
const MAX_BYTES: usize = 0x0FFF_FFFF;

#[cfg(test)]
mod tests;
