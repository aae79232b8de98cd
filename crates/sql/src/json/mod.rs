//! JSON: how the values of `json` and `jsonb` are read, taken apart, compared and changed.
//!
//! | file | what |
//! | --- | --- |
//! | `lex` | tokens, and PostgreSQL's words about those that are none |
//! | `parse` | the grammar; [`validate`] |
//! | `normal` | the normal form: [`normalise`] |
//! | `number` | numbers as `numeric` prints them, and their order |
//! | `walk` | parts of a text that is JSON |
//! | `compare` | order, equality and containment of normal forms |
//! | `edit` | normal forms made of others |
//!
//! A `json` is the text as it was written, once it has been found to be JSON. A `jsonb` is a text, too: its normal
//! form, which is what PostgreSQL prints. So both are stored, sent and copied like texts, and a value that nobody looks
//! into costs what a text costs. What is asked of a part walks over the text up to it, and nothing of it is kept: no
//! tree takes memory beside the text, so it is bounded by the text's own size. What changes a value puts a text
//! together and brings it into normal form again.
//!
//! The grammar is ours, not that of a crate: PostgreSQL tells by its messages which token was wrong and why, numbers
//! keep all of their digits, and `json` keeps every blank.
//!
//! Normal form: no blanks but one after each comma and colon; an object's keys once each, the last of several with its
//! value, ordered by their length and then by their bytes; numbers without an exponent; strings with the least escapes.
//! Arrays and objects nest up to [`MAX_NESTING`] deep (54001).

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

/// How deep arrays and objects may nest.
pub(crate) const MAX_NESTING: usize = 1000;

/// The most bytes of a value, as in PostgreSQL.
const MAX_BYTES: usize = 0x0FFF_FFFF;

#[cfg(test)]
mod tests;
