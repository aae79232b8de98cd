//! The functions of SQL, as calls name them once their names and arguments have been resolved.

use crate::advisory::Scope;
use crate::expr::Comparison;
use crate::table_lock::Mode;
use hotrow_storage::{Element, Type};

/// A function of SQL, by what it works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// A function of numbers.
    Number(NumberFunction),
    /// A function of strings.
    Text(TextFunction),
    /// A function of regular expressions.
    Pattern(PatternFunction),
    /// A function of dates and timestamps.
    Time(TimeFunction),
    /// A function of intervals and times of day.
    Interval(IntervalFunction),
    /// A function of sequences.
    Sequence(SequenceFunction),
    /// A function of the catalogs.
    Catalog(CatalogFunction),
    /// A function of the session.
    Session(SessionFunction),
    /// A function of locks.
    Lock(LockFunction),
    /// A function of the session's settings.
    Setting(SettingFunction),
    /// A function of JSON.
    Json(JsonFunction),
    /// A function of any number of arguments.
    Variadic(Variadic),
    /// A function of arrays.
    Array(ArrayFunction),
}

/// A function with the types that it takes and returns. Lengths and scales are not part of these types.
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
        /// Whether upper and lower case are the same.
        ignore_case: bool,
        /// Whether the result is the opposite: whether the text does not match.
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
    /// Whether an object that is not a relation is visible by its name. It always is.
    AnyIsVisible,
    Expression,
    IndexDefinition,
    ConstraintDefinition,
    ViewDefinition,
    /// The comment on an object, perhaps on one of a certain catalog.
    Comment,
    ColumnComment,
    /// The comment on an object that all databases share, which never exists.
    SharedComment,
    Encoding,
    /// Whether a role has a privilege. Every role may do everything.
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
    /// A function by its name. Only the functions of the system exist; they have no numbers, so the result is a name.
    ProcedureNamed,
    ProcedureName,
    /// The schemas that are searched. If the argument is true, those of the system are among them.
    CurrentSchemas,
    /// The functions for objects that do not exist here (statistics' columns, a function's arguments, triggers): the
    /// result is NULL.
    NoText,
    Size,
    DatabaseSize,
    EncodingNumber,
    Empty,
    /// The number of the schema of temporary tables, which is zero: there is no such schema.
    NoSchema,
}

/// A function of the session or of nothing. Only `Age` and `Sleep` take an argument.
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
    /// `->`, `->>`: a part of the value, as a text if the flag is set.
    Part(bool),
    /// `#>`, `#>>`: the part to which a path leads, as a text if the flag is set.
    Path(bool),
    /// A subscript: a part of the value, by a number or by a key that is a text.
    Subscript,
    /// `?`
    HasKey,
    /// `?|`, `?&`: whether any of the keys is there, or whether all are if the flag is set.
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

/// A function of arrays. Where a variant has an `Element`, that is the type of the elements of the result, or of those
/// that are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayFunction {
    /// `ARRAY[…]`
    Make(Element),
    /// `value <op> ANY (array)`, or ALL if the first flag is set. If the second flag is set, trailing blanks do not
    /// count.
    Any(Comparison, bool, bool),
    /// `array[index]`
    Subscript,
    /// `array[from:to]`, of an array with these elements. The flags say which bounds are given; a bound that is left
    /// out is an end of the array.
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
    /// Keys and values as a JSON object, which is a `jsonb` if the flag is set.
    JsonObject(bool),
    /// Values as a JSON array, which is a `jsonb` if the flag is set.
    JsonArray(bool),
    /// A value as JSON, which is a `jsonb` if the flag is set.
    ToJson(bool),
}
