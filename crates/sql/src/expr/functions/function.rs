//! The functions of SQL, as bound expressions refer to them after overload resolution.

use crate::advisory::Scope;
use crate::expr::Comparison;
use crate::table_lock::Mode;
use hotrow_storage::{Element, Type};

/// A function of SQL. The variants group the functions by the values that they work on.
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
    /// A function of notifications.
    Notification(NotificationFunction),
    /// A function that describes the type of a column.
    Column(ColumnFunction),
    /// A function of JSON.
    Json(JsonFunction),
    /// A function that evaluates an SQL/JSON path.
    JsonPath(JsonPathFunction),
    /// A function of any number of arguments.
    Variadic(Variadic),
    /// A function of arrays.
    Array(ArrayFunction),
}

/// A function with the types of its arguments and its result. Lengths and scales are not part of these types.
#[derive(Clone, Copy, Debug)]
pub struct Overload {
    pub(super) function: Function,
    pub(super) arguments: &'static [Type],
    pub(super) result: Type,
}

impl Overload {
    /// Returns the function that the overload calls.
    pub fn function(&self) -> Function {
        self.function
    }

    /// Returns the type of the result.
    pub fn result(&self) -> Type {
        self.result
    }
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
    Factorial,
    Scale,
    MinScale,
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
    ToCharacters,
    ToNumber,
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
    Sha224,
    Sha256,
    Sha384,
    Sha512,
    Encode,
    Decode,
}

/// A function of regular expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternFunction {
    /// `~`, `~*`, `!~`, `!~*`: whether a text matches a pattern.
    Matches {
        /// Whether case is ignored.
        ignore_case: bool,
        /// Whether the result is negated: whether the text does not match.
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
    MakeTimestampTz,
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
    TimezoneHour,
    TimezoneMinute,
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

/// A function of sequences, such as `nextval`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum SequenceFunction {
    NextValue,
    CurrentValue,
    LastValue,
    SetValue,
    SerialSequence,
    /// The column `last_value` of a sequence that is read in FROM.
    Stand,
    /// The column `is_called` of a sequence that is read in FROM.
    IsCalled,
    LastTaken,
}

/// The parts of procedures, functions and triggers that the catalogs show as SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of functions of SQL")]
pub enum RoutinePart {
    Definition,
    Body,
    Arguments,
    IdentityArguments,
    Result,
    Trigger,
}

/// A function that reads the catalogs, such as `format_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum CatalogFunction {
    FormatType,
    UserById,
    IsVisible,
    /// `pg_function_is_visible`
    RoutineIsVisible,
    /// `pg_type_is_visible`
    TypeIsVisible,
    /// The function of this name, such as `pg_opclass_is_visible`: whether an object is visible by its name. The result
    /// is always true.
    AnyIsVisible(&'static str),
    Expression,
    IndexDefinition,
    ConstraintDefinition,
    ViewDefinition,
    /// `pg_relation_is_updatable`
    RelationChanges,
    /// `pg_column_is_updatable`
    ColumnIsUpdatable,
    /// A part of a function or trigger as SQL, such as `pg_get_functiondef`.
    Routine(RoutinePart),
    /// The comment on an object (`obj_description`). An argument may name the catalog of the object.
    Comment,
    ColumnComment,
    /// The comment on an object that all databases share (`shobj_description`). The result is always NULL.
    SharedComment,
    Encoding,
    /// The function of this name, such as `has_table_privilege`: whether a role has a privilege. The result is true,
    /// since every role has all privileges.
    Privilege(&'static str),
    PrettySize,
    IsInRecovery,
    /// The OID of a relation by its name. If there is none, the result is NULL, or an error in a cast to `regclass`.
    ToRelation,
    RelationNumber,
    RelationName,
    ToType,
    TypeNumber,
    TypeName,
    SchemaNumber,
    SchemaName,
    /// A function by its name, in a cast to `regproc`. Only the input and output functions of types are found. They
    /// have no OIDs, so the result is the name.
    ProcedureNamed,
    /// A function by its name and the types of its arguments, in a cast to `regprocedure`. As for `regproc`, the result
    /// is the name.
    SignatureNamed,
    ProcedureName,
    /// `current_schemas`: the schemas of the search path, including those of the system if the argument is true.
    CurrentSchemas,
    /// The function of this name for a kind of object that does not exist here, such as `pg_get_ruledef`. The result is
    /// NULL.
    NoText(&'static str),
    /// The function of this name for the size of a relation, such as `pg_table_size`.
    Size(&'static str),
    /// The function of this name for the size of a database or a tablespace.
    DatabaseSize(&'static str),
    EncodingNumber,
    Empty,
    /// Whether an OID is that of the schema for another session's temporary relations (`pg_is_other_temp_schema`). The
    /// result is always false.
    OtherTemporarySchema,
    /// The OID of the schema of the session's temporary relations (`pg_my_temp_schema`). The result is zero if the
    /// session has never had any.
    TemporarySchema,
}

/// A function of the session, or one without arguments. Only `Age` and `Sleep` take an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum SessionFunction {
    Now,
    CurrentTimestamp,
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
    /// The nesting depth of the triggers that are running (`pg_trigger_depth`).
    TriggerDepth,
    ClientEncoding,
    Sleep,
}

/// A function of locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum LockFunction {
    BlockingPids,
    /// Whether any of the given sessions blocks a session (`pg_isolation_test_session_is_blocked`).
    IsBlocked,
    /// Takes an advisory lock, and waits until it is free.
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
    /// `set_config(name, value, is_local)`: a NULL as `value` resets the setting to its default.
    Set,
    /// `txid_current()`
    TransactionNumber,
    /// `pg_postmaster_start_time()`
    Started,
}

/// A function of notifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotificationFunction {
    /// `pg_notify(channel, payload)`
    Notify,
    /// `pg_notification_queue_usage()`
    QueueUsage,
}

/// A function that describes the type of a column, given by the type's OID and modifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnFunction {
    /// The greatest length of a text, in characters.
    MaxLength,
    /// The greatest length of a text, in bytes.
    MaxBytes,
    /// The number of digits of a number, in its radix.
    Precision,
    /// The radix in which the digits of a number are counted.
    Radix,
    /// The number of digits of a number after the point.
    Scale,
    /// The number of digits after the decimal point of the seconds of a time, timestamp or interval.
    TimeDigits,
}

/// A function that evaluates an SQL/JSON path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonPathFunction {
    /// `jsonb_path_exists`, or the operator `@?`.
    Exists(PathCall),
    /// `jsonb_path_match`, or the operator `@@`.
    Matches(PathCall),
    /// `jsonb_path_query_array`
    Query(PathCall),
    /// `jsonb_path_query_first`
    QueryFirst(PathCall),
}

/// The way in which a function that evaluates an SQL/JSON path is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathCall {
    /// An operator, which is silent.
    Operator,
    /// The function.
    Plain,
    /// The function with `_tz` at the end of its name, which may depend on the session's time zone.
    Zoned,
}

/// A function of a `json` or `jsonb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonFunction {
    /// `->`, `->>`: a part of the value, as a text if the flag is set.
    Part(bool),
    /// `#>`, `#>>`: the part at the end of a path, as a text if the flag is set.
    Path(bool),
    /// A subscript: the element with an index, or the value of a key.
    Subscript,
    /// `?`
    HasKey,
    /// `?|`, `?&`: whether the value has any of the keys, or all of them if the flag is set.
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
    /// `json_typeof`. The flag says whether the argument is a `jsonb`.
    TypeOf(bool),
    /// `json_array_length`. The flag says whether the argument is a `jsonb`.
    ArrayLength(bool),
    /// `jsonb_set`
    Set,
    /// `jsonb_insert`
    Insert,
    /// `jsonb_strip_nulls`
    StripNulls,
    /// `jsonb_pretty`
    Pretty,
    /// A cast of a text to `jsonpath`: the path as PostgreSQL prints it.
    PathText,
}

/// A function of arrays. The `Element` of a variant is the type of the result's elements, or of the argument's elements
/// if the result is no array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayFunction {
    /// `ARRAY[…]`
    Make(Element),
    /// `value <op> ANY (array)`, or ALL if the first flag is set. If the second flag is set, trailing blanks are
    /// ignored (`char`).
    Any(Comparison, bool, bool),
    /// `value LIKE ANY (array)`, or ALL, or ILIKE, or NOT LIKE.
    Like { ignore_case: bool, negated: bool, all: bool },
    /// `array[index]`
    Subscript,
    /// `array[from:to]`, of an array with these elements. The flags say whether the lower and the upper bound are
    /// given. A missing bound is an end of the array.
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

/// A function with any number of arguments, which may be NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variadic {
    /// `greatest`: the greatest argument. NULLs are ignored.
    Greatest,
    /// `least`: the least argument. NULLs are ignored.
    Least,
    /// `concat`: all arguments as one text. NULLs are ignored.
    Concat,
    /// `concat_ws`: the arguments after the first as one text, separated by the first. NULLs are ignored.
    ConcatWithSeparator,
    /// `format`: the first argument is a template, in whose places the others are inserted.
    Format,
    /// `num_nulls`: the number of arguments that are NULL.
    CountNulls,
    /// `num_nonnulls`: the number of arguments that are not NULL.
    CountValues,
    /// `make_interval`: the interval of the given years, months, weeks, days, hours, minutes and seconds.
    MakeInterval,
    /// `json_build_object`: an object of alternating keys and values. The flag says whether it is a `jsonb`.
    JsonObject(bool),
    /// `json_build_array`: an array of the arguments. The flag says whether it is a `jsonb`.
    JsonArray(bool),
    /// A row as a `json`: an object of alternating names and values.
    JsonRow {
        /// Whether the row is that of an item in FROM. Such a row becomes NULL if all of its columns are NULL.
        of_relation: bool,
    },
    /// `to_json`: the argument as JSON. The flag says whether it is a `jsonb`.
    ToJson(bool),
}
