//! Functions: which there are, which one a call means, and what they do.
//!
//! | file | functions |
//! | --- | --- |
//! | `function` | which there are |
//! | `argument` | their arguments |
//! | `append` | the texts of arguments |
//! | `call` | what all calls have in common |
//! | `choose` | which of several functions of one name a call means |
//! | `number` | of numbers |
//! | `text` | of strings |
//! | `variadic` | of any number of arguments: `concat`, `format`, `greatest` |
//! | `json` | of JSON |
//! | `json_build` | of any number of arguments, as JSON |
//! | `pattern` | of regular expressions |
//! | `moment` | dates and timestamps, split into the parts of the calendar |
//! | `time` | of dates and timestamps |
//! | `interval` | of intervals and times of day |
//! | `template` | dates by a template: `to_char` |
//! | `template_read`, `template_date` | the same way back: `to_date`, `to_timestamp`; the date from its parts |
//! | `sequence` | of sequences |
//! | `catalog` | of the catalogs |
//! | `lock` | of locks |
//! | `session` | of the session and of nothing |
//! | `setting` | of settings |
//! | `array` | of arrays |
//!
//! Each file lists its functions by name, with the types that they take and return, and has a `call` that evaluates
//! them. If an argument is NULL, the function is not called, and the result is NULL. Only functions in `variadic` and
//! `array`, and `set_config`, may differ from that.

mod append;
mod argument;
mod array;
mod call;
mod catalog;
mod choose;
mod function;
mod interval;
mod json;
mod json_build;
mod lock;
mod moment;
mod number;
mod pattern;
mod sequence;
mod session;
mod setting;
mod template;
mod template_date;
mod template_read;
mod text;
mod time;
mod variadic;

pub(crate) use argument::value_bytes;
pub use choose::{Choice, choose};
pub use function::{ArrayFunction, Field, Function, SequenceFunction, Variadic};
pub(crate) use json_build::{finish as finish_json, write as write_json, write_key as write_json_key};
pub use moment::unknown_unit;
