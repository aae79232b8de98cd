//! Types and values as clients see them: PostgreSQL's type OIDs, text and binary formats, input and output functions.
//!
//! | file | what it holds |
//! | --- | --- |
//! | [`oid`](mod@oid) | types and their numbers, modifiers and sizes on the wire |
//! | `text` | text format: [`encode_text`], [`decode_text`], [`decode_text_borrowed`] |
//! | `binary` | binary format: [`encode_binary`], [`decode_binary`] |
//! | `array` | arrays in both formats |
//! | `number` | integers, floats and numerics as text; digits of base 10,000 |
//! | `enumeration` | labels of enumerated types |
//! | `domain` | the identity of domains |
//! | `datetime`, `datetime_input`, `range`, `zone` | dates, times, timestamps, their ranges, time zones in texts |
//! | `session_zone` | the time zone of a session: [`SessionZone`] |
//! | [`interval_text`], `interval_style` | intervals |
//! | `value` | the types of values, and their names |
//! | `length` | declared lengths: `varchar(n)`, `char(n)` |
//! | `styles` | the styles in which a session writes and reads texts: [`Styles`] |
//!
//! Dates and timestamps reach from 4714-11-24 BC to 9999-12-31 (PostgreSQL goes further, to 5874897 AD), and there are
//! `infinity` and `-infinity`.

mod array;
mod binary;
mod datetime;
mod datetime_input;
mod domain;
mod enumeration;
mod interval_style;
pub mod interval_text;
mod length;
mod number;
pub mod oid;
mod range;
mod session_zone;
mod styles;
mod text;
mod value;
mod zone;

pub use array::map_elements;
pub use binary::{decode_binary, encode_binary, utf8};
pub(crate) use datetime::now;
pub use datetime::{check_date, check_timestamp, date_parts, days_from_parts, fit_interval, fit_micros, fit_timestamp};
pub use domain::DomainId;
pub(crate) use enumeration::enumeration;
pub use length::{fit_char, fit_name, fit_varchar};
pub use number::{fit_numeric, numeric_error, six_digits};
pub use oid::{from_oid, oid, type_len, typmod};
pub use range::{DATE_RANGE, TIMESTAMP_RANGE};
pub(crate) use session_zone::named_zones;
pub use session_zone::{NoZone, SessionZone, written_offset};
pub use styles::{DateOrder, DateStyle, IntervalStyle, Styles};
pub use text::{decode_text, decode_text_borrowed, encode_text};
pub(crate) use value::{is_number, number_literal, rank, type_name, type_of, without_modifier};

#[cfg(test)]
mod tests;
