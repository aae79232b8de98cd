//! The functions that there are, once a name and arguments have been resolved.

use crate::advisory::Scope;
use crate::expr::Comparison;
use crate::table_lock::Mode;
use hotrow_storage::{Element, Type};

/// A function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// Of numbers.
    Number(NumberFunction),
    /// Of strings.
    Text(TextFunction),
    /// Of regular expressions.
    Pattern(PatternFunction),
    /// Of dates and timestamps.
    Time(TimeFunction),
    /// Of intervals and times of day.
    Interval(IntervalFunction),
    /// Of sequences.
    Sequence(SequenceFunction),
    /// Of the catalogs.
    Catalog(CatalogFunction),
    /// Of the session.
    Session(SessionFunction),
    /// Of locks.
    Lock(LockFunction),
    /// Of the session's settings.
    Setting(SettingFunction),
    /// Of JSON.
    Json(JsonFunction),
    /// Of any number of arguments.
    Variadic(Variadic),
    /// Of arrays.
    Array(ArrayFunction),
}

/// A function with what it takes and returns. Of lengths and scales nothing is said.
#[derive(Clone, Copy, Debug)]
pub struct Overload {
    pub(super) function: Function,
    pub(super) arguments: &'static [Type],
    pub(super) result: Type,
}

/// A function of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum NumberFunction {
    Abs,
    Sign,
    Ceil,
    Floor,
    Round,
    Trunc,
    Mod,
    Div,
    Gcd,
    Lcm,
    Scale,
    TrimScale,
    Sqrt,
    Cbrt,
    Exp,
    Ln,
    Log,
    Power,
    Pi,
    Degrees,
    Radians,
    Sin,
    Cos,
    Tan,
    Cot,
    Asin,
    Acos,
    Atan,
    Atan2,
    Sinh,
    Cosh,
    Tanh,
    BitNot,
    ShiftLeft,
    ShiftRight,
    ToHex,
    WidthBucket,
}

/// A function of strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum TextFunction {
    Length,
    OctetLength,
    BitLength,
    Lower,
    Upper,
    Initcap,
    Substring,
    Overlay,
    Trim,
    TrimStart,
    TrimEnd,
    Position,
    StartsWith,
    Replace,
    Translate,
    Left,
    Right,
    Repeat,
    Reverse,
    PadLeft,
    PadRight,
    SplitPart,
    Ascii,
    Character,
    QuoteIdentifier,
    QuoteLiteral,
    Md5,
    Encode,
    Decode,
}

/// A function of regular expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternFunction {
    /// Whether a text matches.
    Matches {
        /// Upper and lower case are the same.
        ignore_case: bool,
        /// Whether it does not.
        negated: bool,
    },
    /// `SIMILAR TO`; the third argument is the escape character.
    Similar,
    /// `regexp_like`
    Like,
    /// `regexp_count`
    Count,
    /// `regexp_replace`
    Replace,
    /// `substring(text from pattern)`
    Extract,
    /// `regexp_match`
    Parts,
    /// `regexp_split_to_array`
    Split,
}

/// A function of dates and timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum TimeFunction {
    Extract(Field),
    DatePart,
    DateTrunc,
    ToCharacters,
    ToDate,
    ToTimestamp,
    MakeDate,
    MakeTimestamp,
    IsFinite,
    AtTimeZone,
}

/// A part of a date or timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum Field {
    Millennium,
    Century,
    Decade,
    Year,
    IsoYear,
    Quarter,
    Month,
    Week,
    Day,
    DayOfWeek,
    IsoDayOfWeek,
    DayOfYear,
    Julian,
    Hour,
    Minute,
    Second,
    Milliseconds,
    Microseconds,
    Epoch,
    Timezone,
}

/// A function of intervals or times of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum IntervalFunction {
    Age,
    JustifyDays,
    JustifyHours,
    JustifyInterval,
    DateBin,
    MakeTime,
}

/// A function that looks into the catalog for a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum SequenceFunction {
    NextValue,
    CurrentValue,
    LastValue,
    SetValue,
    SerialSequence,
}

/// A function of the catalogs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum CatalogFunction {
    FormatType,
    UserById,
    IsVisible,
    /// Everything that is not a relation is visible by its name.
    AnyIsVisible,
    Expression,
    IndexDefinition,
    ConstraintDefinition,
    ViewDefinition,
    /// Of an object, perhaps of a certain catalog.
    Comment,
    ColumnComment,
    /// The comment on an object that all databases share, which never exists.
    SharedComment,
    Encoding,
    /// The privilege functions: every role may do everything.
    Privilege,
    PrettySize,
    IsInRecovery,
    /// The number of a relation by its name; NULL, or for `regclass` an error, if there is none.
    ToRelation,
    RelationNumber,
    RelationName,
    ToType,
    TypeNumber,
    TypeName,
    SchemaNumber,
    SchemaName,
    /// The functions of the system have names and no numbers, and there are no others.
    ProcedureNamed,
    ProcedureName,
    /// The schemas that are searched; with those of the system if the argument is true.
    CurrentSchemas,
    /// The functions for objects that do not exist here: statistics' columns, a function's arguments, triggers.
    NoText,
    Size,
    DatabaseSize,
    EncodingNumber,
    Empty,
    /// There is no schema of temporary tables.
    NoSchema,
}

/// A function without arguments, but for the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum SessionFunction {
    Now,
    ClockTimestamp,
    CurrentDate,
    LocalTimestamp,
    LocalTime,
    Age,
    Random,
    RandomUuid,
    Version,
    CurrentUser,
    CurrentDatabase,
    CurrentSchema,
    BackendPid,
    ClientEncoding,
    Sleep,
}

/// A function of locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum LockFunction {
    BlockingPids,
    /// Whether one of the given sessions blocks a session.
    IsBlocked,
    /// Takes an advisory lock, and waits for it.
    Lock(Mode, Scope),
    /// Takes an advisory lock if it is free.
    TryLock(Mode, Scope),
    Unlock(Mode),
    UnlockAll,
    /// Cancels the statement of a session.
    Cancel,
    /// Ends a session.
    Terminate,
}

/// A function of the session's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingFunction {
    /// `current_setting(name [, missing_ok])`
    Current,
    /// `set_config(name, value, is_local)`: NULL is the default value.
    Set,
    /// `txid_current()`
    TransactionNumber,
    /// `pg_postmaster_start_time()`
    Started,
}

/// A function of a `json` or `jsonb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonFunction {
    /// `->`, `->>`: a part; as a text if the flag says so.
    Part(bool),
    /// `#>`, `#>>`: where a path leads to, likewise.
    Path(bool),
    /// A subscript: as `->`, by a number or a key that is a text.
    Subscript,
    /// `?`
    HasKey,
    /// `?|`, `?&`: whether all keys are there, or any.
    HasKeys(bool),
    /// `@>`
    Contains,
    /// `<@`
    Contained,
    /// `||`
    Concat,
    /// `-`
    Delete,
    /// `#-`
    DeletePath,
    /// `json_typeof`
    TypeOf,
    /// `json_array_length`
    ArrayLength,
    /// `jsonb_set`
    Set,
    /// `jsonb_insert`
    Insert,
    /// `jsonb_strip_nulls`
    StripNulls,
    /// `jsonb_pretty`
    Pretty,
}

/// A function of arrays. Where elements are named, they are those of the result, or those that are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayFunction {
    /// `ARRAY[…]`
    Make(Element),
    /// `value <op> ANY (array)`, or ALL if the first flag says so; trailing blanks do not count if the second does.
    Any(Comparison, bool, bool),
    /// `array[index]`
    Subscript,
    /// `array[from:to]`, of the array's elements; a bound that is left out is an end.
    Slice(Element, bool, bool),
    /// `array || array`
    Concat(Element),
    /// `array || element`
    Append(Element),
    /// `element || array`
    Prepend(Element),
    /// `array_remove`
    Remove(Element),
    /// `array_replace`
    Replace(Element),
    /// `trim_array`
    Trim(Element),
    /// `array_position`
    Position,
    /// `array_positions`
    Positions,
    /// `array @> array`
    Contains,
    /// `array <@ array`
    Contained,
    /// `array && array`
    Overlaps,
    /// `array_length`
    Length,
    /// `array_upper`
    Upper,
    /// `array_lower`
    Lower,
    /// `cardinality`
    Cardinality,
    /// `array_ndims`
    Dimensions,
    /// `array_dims`
    Bounds,
    /// `array_to_string`
    ToText(Element),
    /// `string_to_array`
    FromText,
}

/// A function of any number of arguments, which may be NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variadic {
    /// The greatest argument; NULLs are left out.
    Greatest,
    /// The least argument; NULLs are left out.
    Least,
    /// All arguments as one text; NULLs are left out.
    Concat,
    /// The arguments after the first as one text, with the first between them; NULLs are left out.
    ConcatWithSeparator,
    /// The first argument as a template, with the others in its places.
    Format,
    /// The number of arguments that are NULL.
    CountNulls,
    /// The number of arguments that are not NULL.
    CountValues,
    /// The interval of so many years, months, weeks, days, hours, minutes and seconds.
    MakeInterval,
    /// Keys and values as a JSON object; a `jsonb` if the flag says so.
    JsonObject(bool),
    /// Values as a JSON array, likewise.
    JsonArray(bool),
    /// A value as JSON, likewise.
    ToJson(bool),
}
