//! JSON: parsing, access to parts, comparison and changes of `json` and `jsonb` values.
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
//! A `json` is stored as the text that was written, after a check of its syntax. A `jsonb` is stored as a text, too:
//! its normal form, which is what PostgreSQL prints. So both are stored, sent and copied like texts. A function that
//! needs a part scans the text up to that part. No tree is built, so the memory is bounded by the size of the text. A
//! function that changes a value composes a new text and normalises it.
//!
//! The grammar is implemented here and not by a crate: errors must name the wrong token as PostgreSQL's do, numbers
//! must have all of their digits, and `json` must have its original blanks.
//!
//! Normal form: no blanks but one after each comma and colon. An object has each key once, with the value of its last
//! occurrence; keys are ordered by their length and then by their bytes. Numbers have no exponent, and strings have the
//! fewest possible escapes. Arrays and objects may nest up to [`MAX_NESTING`] levels; deeper nesting is error 54001.

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
pub(crate) use walk::{Kind, as_text, element, elements, field, has, kind, members, step, trim, unescape};

/// The maximum depth to which arrays and objects may nest.
pub(crate) const MAX_NESTING: usize = 1000;

/// The greatest size of a value in bytes, as in PostgreSQL.
const MAX_BYTES: usize = 0x0FFF_FFFF;

#[cfg(test)]
mod tests;
