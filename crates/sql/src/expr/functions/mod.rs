//! The functions of SQL: their names, overload resolution, and their evaluation.
//!
//! | file | functions |
//! | --- | --- |
//! | `function` | the list of all functions |
//! | `argument` | the values of arguments |
//! | `append` | arguments as text |
//! | `call` | what all calls have in common |
//! | `choose` | overload resolution |
//! | `number` | functions of numbers |
//! | `text` | functions of strings |
//! | `variadic` | functions with any number of arguments: `concat`, `format`, `greatest` |
//! | `json` | functions of JSON |
//! | `json_path` | functions that evaluate an SQL/JSON path |
//! | `json_build` | functions that make JSON of their arguments |
//! | `pattern` | functions of regular expressions |
//! | `moment` | dates and timestamps, split into the parts of the calendar |
//! | `time` | functions of dates and timestamps |
//! | `interval` | functions of intervals and times of day |
//! | `template` | formatting of dates by a template: `to_char` |
//! | `template_number` | formatting of numbers by a template: `to_char` |
//! | `template_input` | reading numbers by a template: `to_number` |
//! | `template_read`, `template_date` | parsing of dates by a template: `to_date`, `to_timestamp`; the date from its parts |
//! | `sequence` | functions of sequences |
//! | `catalog` | functions that read the catalogs |
//! | `lock` | functions of locks |
//! | `session` | functions of the session, and functions without arguments |
//! | `setting` | functions of settings |
//! | `notification` | functions of notifications |
//! | `column_type` | functions of the types of columns |
//! | `array` | functions of arrays |
//! | `written` | the names with which calls are shown |
//!
//! A module lists its functions by name, with the types of their arguments and results, and has a `call` that evaluates
//! them. If an argument is NULL, the function is not called, and the result is NULL. Exceptions are functions in
//! `variadic` and `array`, `set_config`, and `pg_notify`.

mod append;
mod argument;
mod array;
mod call;
mod catalog;
mod choose;
mod column_type;
mod function;
mod interval;
mod json;
mod json_build;
mod json_path;
mod lock;
mod moment;
mod notification;
mod number;
mod pattern;
mod sequence;
mod session;
mod setting;
mod template;
mod template_date;
mod template_input;
mod template_number;
mod template_read;
mod text;
mod time;
mod variadic;
mod written;

pub(crate) use argument::value_bytes;
pub use choose::{Candidate, Choice, choose, choose_among, overloads};
pub use function::{
    ArrayFunction, Field, Function, IntervalFunction, JsonFunction, NumberFunction, Overload, SequenceFunction,
    TimeFunction, Variadic,
};
pub(crate) use json_build::{finish as finish_json, write as write_json, write_key as write_json_key};
pub use moment::unknown_unit;
pub(crate) use pattern::{like_regex, like_regex_is_valid, matches_of};
pub(crate) use written::{Form, form_of};
