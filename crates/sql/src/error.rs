//! The errors that clients are sent when statements fail.

use crate::full_name::{split, without_schemas};
use hotrow_txn::Abort;
use std::fmt;

/// A SQLSTATE: PostgreSQL's error code of five digits and capital letters.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SqlState([u8; 5]);

impl SqlState {
    /// Returns the SQLSTATE with this code, or `None` if `code` does not consist of five digits and capital letters.
    pub const fn of(code: &str) -> Option<Self> {
        let [a, b, c, d, e] = *code.as_bytes() else { return None };
        let code = [a, b, c, d, e];
        let mut at = 0;
        while at < code.len() {
            if !code[at].is_ascii_digit() && !code[at].is_ascii_uppercase() {
                return None;
            }
            at += 1;
        }
        Some(Self(code))
    }

    /// Returns the code as text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Debug for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SqlState").field(&self.as_str()).finish()
    }
}

/// An error as a client sees it: what was wrong, where, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlError {
    /// The SQLSTATE, from which programs see the kind of the error.
    pub state: SqlState,
    /// The description of the error, for people. Where PostgreSQL has a message for the error, it is the same.
    pub message: String,
    /// More details of the error.
    pub detail: Option<String>,
    /// Advice on what would be right.
    pub hint: Option<String>,
    /// The position of the error in the statement, in characters from 1.
    pub position: Option<u32>,
    /// The place of the error in COPY data or in procedures: `COPY t, line 3, column b: "x"`; `procedure pay, line 2`.
    pub context: Option<Box<str>>,
    /// The table and the rule, if a row violates a rule of its table.
    pub subject: Option<Box<Subject>>,
}

// Errors are small, since every statement, row and expression returns a `Result` with one.
const _: () = assert!(size_of::<SqlError>() < 128);

/// The rule that a row violated, in parts from which a client can make an error message of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// The table's schema.
    pub schema: String,
    /// The table's name.
    pub table: String,
    /// The column, if the rule is NOT NULL.
    pub column: Option<String>,
    /// The domain, if the rule is one of a domain. Then there is no table, and the schema is that of the domain.
    pub datatype: Option<String>,
    /// The constraint or the unique index, if the rule is not NOT NULL.
    pub constraint: Option<String>,
}

/// The message for a prepared statement whose result has other columns than before. Drivers recognise this error.
const CHANGED_RESULT: &str = "cached plan must not change result type";

impl SqlError {
    /// Makes an error. Names of relations in the message are shown without their schemas.
    pub fn new(state: SqlState, message: impl Into<String>) -> Self {
        Self {
            state,
            message: without_schemas(message.into()),
            detail: None,
            hint: None,
            position: None,
            context: None,
            subject: None,
        }
    }

    /// Returns the error 0A000 for a statement whose result has other columns than the client has been told.
    pub(crate) fn changed_result() -> Self {
        Self::new(state::FEATURE_NOT_SUPPORTED, CHANGED_RESULT)
    }

    /// Returns the name of the function that reports this error in PostgreSQL, if drivers recognise the error by that
    /// name: they prepare the statement again. Returns `None` for any other error.
    pub fn routine(&self) -> Option<&'static str> {
        (self.message == CHANGED_RESULT).then_some("RevalidateCachedQuery")
    }

    /// Returns the error with this DETAIL.
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(without_schemas(detail.into()));
        self
    }

    /// Returns the error with this HINT: advice on what would be right.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(without_schemas(hint.into()));
        self
    }

    /// Returns the error with its subject: a column that violates NOT NULL. `table` is a full name.
    pub(crate) fn about_column(mut self, table: &str, column: &str) -> Self {
        let (schema, table) = split(table);
        let (schema, table) = (schema.to_owned(), table.to_owned());
        let subject = Subject { schema, table, column: Some(column.to_owned()), ..Subject::default() };
        self.subject = Some(Box::new(subject));
        self
    }

    /// Returns the error with its subject: a constraint or unique index that is violated. `table` is a full name.
    pub(crate) fn about_constraint(mut self, table: &str, constraint: &str) -> Self {
        let (schema, table) = split(table);
        let (schema, table) = (schema.to_owned(), table.to_owned());
        let subject = Subject { schema, table, constraint: Some(constraint.to_owned()), ..Subject::default() };
        self.subject = Some(Box::new(subject));
        self
    }

    /// Returns the error with its subject: a domain that refuses a value. `domain` is a full name.
    pub(crate) fn about_domain(mut self, domain: &str, constraint: Option<&str>) -> Self {
        let (schema, domain) = split(domain);
        let (schema, datatype) = (schema.to_owned(), Some(domain.to_owned()));
        let constraint = constraint.map(str::to_owned);
        self.subject = Some(Box::new(Subject { schema, datatype, constraint, ..Subject::default() }));
        self
    }

    /// Returns the subject of the error. If the error has none, gives it an empty one.
    pub(crate) fn about(&mut self) -> &mut Subject {
        self.subject.get_or_insert_default()
    }

    /// Returns the error with this context: its place in COPY data or in a procedure.
    pub fn context(mut self, context: impl Into<String>) -> Self {
        self.context = Some(without_schemas(context.into()).into());
        self
    }

    /// Returns the error with a place in a body appended to its context, and without its position, which would be one
    /// in the text of the body rather than in the client's statement.
    pub(crate) fn within(self, here: String) -> Self {
        let context = match &self.context {
            Some(inner) => format!("{inner}\n{here}"),
            None => here,
        };
        Self { context: Some(context.into()), position: None, ..self }
    }

    /// Returns the error with its position in the statement, in characters from 1.
    pub fn at(mut self, position: u32) -> Self {
        self.position = Some(position);
        self
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (SQLSTATE {})", self.message, self.state.as_str())
    }
}

impl std::error::Error for SqlError {}

impl From<Abort> for SqlError {
    /// Converts an abort into an error: 40P01 for a proven deadlock, and 40001 for any other abort that a retry can
    /// cure. A cancellation, a lack of memory and an abort without a reason have codes of their own.
    fn from(abort: Abort) -> Self {
        let retry = "The transaction might succeed if retried.";
        let again = "Run the whole transaction again, from its first statement.";
        match abort {
            Abort::Deadlock => Self::new(state::DEADLOCK_DETECTED, "deadlock detected").hint(retry),
            Abort::Timeout => Self::new(
                state::SERIALIZATION_FAILURE,
                "could not obtain a lock within the wait limit; assuming a deadlock",
            )
            .hint(retry),
            Abort::Validation => Self::new(
                state::SERIALIZATION_FAILURE,
                "could not serialize access due to read/write dependencies among transactions",
            )
            .detail("Another transaction changed what this one had read, before it could commit.")
            .hint(again),
            Abort::Conflict | Abort::OutsidePlan => {
                Self::new(state::SERIALIZATION_FAILURE, "could not serialize access due to a concurrent transaction")
                    .detail(format!("Reason: {abort}."))
                    .hint(retry)
            }
            Abort::WriteConflict => {
                Self::new(state::SERIALIZATION_FAILURE, "could not serialize access due to concurrent update")
                    .detail("Another transaction changed the row first (the first writer wins).")
                    .hint(again)
            }
            Abort::Cascade => Self::new(
                state::SERIALIZATION_FAILURE,
                "could not serialize access: a transaction whose changes this one had read was rolled back, or made others",
            )
            .hint(again),
            Abort::TableChanged => Self::new(
                state::SERIALIZATION_FAILURE,
                "could not serialize access due to a change of a whole table",
            )
            .detail("The table has changed as a whole, or was about to, since the moment as of which this transaction reads.")
            .hint(again),
            Abort::Cancelled => Self::new(state::QUERY_CANCELED, "canceling statement due to user request"),
            Abort::Resources => Self::new(state::OUT_OF_MEMORY, "out of memory"),
            Abort::LogFailed => {
                Self::new(state::IO_ERROR, "the log has failed, so it is not known whether the transaction is durable")
                    .detail("Its changes are visible now. They may or may not be there after a restart.")
                    .hint("Restart the server, and look whether the changes are there before you repeat them.")
            }
            Abort::User => Self::new(state::INTERNAL_ERROR, "the statement gave up without a reason"),
        }
    }
}

/// Returns error 0A000: the statement asks for something that is not supported.
pub(crate) fn unsupported(what: &str) -> SqlError {
    SqlError::new(state::FEATURE_NOT_SUPPORTED, format!("{what} is not supported"))
}

/// The SQLSTATEs in use, by PostgreSQL's names.
pub mod state {
    use super::SqlState;

    macro_rules! states {
        ($($name:ident = $code:literal;)*) => {
            $(#[doc = concat!("`", $code, "`")] pub const $name: SqlState = SqlState::of($code).expect("a SQLSTATE");)*
        };
    }

    states! {
        SUCCESSFUL_COMPLETION = "00000";
        WARNING = "01000";
        CONNECTION_FAILURE = "08006";
        PROTOCOL_VIOLATION = "08P01";
        FEATURE_NOT_SUPPORTED = "0A000";
        CARDINALITY_VIOLATION = "21000";
        STRING_DATA_RIGHT_TRUNCATION = "22001";
        NUMERIC_VALUE_OUT_OF_RANGE = "22003";
        NULL_VALUE_NOT_ALLOWED = "22004";
        INVALID_DATETIME_FORMAT = "22007";
        DATETIME_FIELD_OVERFLOW = "22008";
        INTERVAL_FIELD_OVERFLOW = "22015";
        DIVISION_BY_ZERO = "22012";
        INVALID_PRECEDING_OR_FOLLOWING_SIZE = "22013";
        INVALID_ARGUMENT_FOR_NTILE = "22014";
        INVALID_ARGUMENT_FOR_NTH_VALUE = "22016";
        INVALID_PARAMETER_VALUE = "22023";
        INVALID_ESCAPE_SEQUENCE = "22025";
        ARRAY_ELEMENT_ERROR = "2202E";
        SUBSTRING_ERROR = "22011";
        INVALID_ARGUMENT_FOR_LOGARITHM = "2201E";
        INVALID_ARGUMENT_FOR_POWER_FUNCTION = "2201F";
        SEQUENCE_GENERATOR_LIMIT_EXCEEDED = "2200H";
        INVALID_ARGUMENT_FOR_WIDTH_BUCKET = "2201G";
        INVALID_REGULAR_EXPRESSION = "2201B";
        INVALID_SQL_JSON_SUBSCRIPT = "22033";
        NON_NUMERIC_SQL_JSON_ITEM = "22036";
        SINGLETON_SQL_JSON_ITEM_REQUIRED = "22038";
        SQL_JSON_ARRAY_NOT_FOUND = "22039";
        SQL_JSON_MEMBER_NOT_FOUND = "2203A";
        SQL_JSON_NUMBER_NOT_FOUND = "2203B";
        SQL_JSON_OBJECT_NOT_FOUND = "2203C";
        INVALID_ROW_COUNT_IN_LIMIT = "2201W";
        INVALID_ROW_COUNT_IN_OFFSET = "2201X";
        CHARACTER_NOT_IN_REPERTOIRE = "22021";
        INVALID_TEXT_REPRESENTATION = "22P02";
        INVALID_BINARY_REPRESENTATION = "22P03";
        BAD_COPY_FILE_FORMAT = "22P04";
        UNTRANSLATABLE_CHARACTER = "22P05";
        NOT_NULL_VIOLATION = "23502";
        INVALID_FOREIGN_KEY = "42830";
        FOREIGN_KEY_VIOLATION = "23503";
        UNIQUE_VIOLATION = "23505";
        CHECK_VIOLATION = "23514";
        DEPENDENT_OBJECTS_STILL_EXIST = "2BP01";
        INVALID_TRANSACTION_STATE = "25000";
        ACTIVE_SQL_TRANSACTION = "25001";
        READ_ONLY_SQL_TRANSACTION = "25006";
        NO_ACTIVE_SQL_TRANSACTION = "25P01";
        IN_FAILED_SQL_TRANSACTION = "25P02";
        INVALID_SQL_STATEMENT_NAME = "26000";
        INVALID_AUTHORIZATION_SPECIFICATION = "28000";
        INVALID_PASSWORD = "28P01";
        INVALID_CURSOR_NAME = "34000";
        INVALID_CURSOR_DEFINITION = "42P11";
        INVALID_SAVEPOINT_SPECIFICATION = "3B001";
        INVALID_CATALOG_NAME = "3D000";
        INVALID_SCHEMA_NAME = "3F000";
        DUPLICATE_SCHEMA = "42P06";
        RESERVED_NAME = "42939";
        PRIVILEGE_NOT_REVOKED = "01006";
        SERIALIZATION_FAILURE = "40001";
        DEADLOCK_DETECTED = "40P01";
        GENERATED_ALWAYS = "428C9";
        WITH_CHECK_OPTION_VIOLATION = "44000";
        SYNTAX_ERROR = "42601";
        INVALID_NAME = "42602";
        NAME_TOO_LONG = "42622";
        INSUFFICIENT_PRIVILEGE = "42501";
        DUPLICATE_COLUMN = "42701";
        AMBIGUOUS_COLUMN = "42702";
        INVALID_RECURSION = "42P19";
        WINDOWING_ERROR = "42P20";
        UNDEFINED_COLUMN = "42703";
        UNDEFINED_OBJECT = "42704";
        DUPLICATE_OBJECT = "42710";
        DUPLICATE_ALIAS = "42712";
        GROUPING_ERROR = "42803";
        DATATYPE_MISMATCH = "42804";
        WRONG_OBJECT_TYPE = "42809";
        CANNOT_COERCE = "42846";
        UNDEFINED_FUNCTION = "42883";
        AMBIGUOUS_FUNCTION = "42725";
        UNDEFINED_TABLE = "42P01";
        DUPLICATE_FUNCTION = "42723";
        UNDEFINED_PARAMETER = "42P02";
        DUPLICATE_CURSOR = "42P03";
        DUPLICATE_PREPARED_STATEMENT = "42P05";
        DUPLICATE_DATABASE = "42P04";
        DUPLICATE_TABLE = "42P07";
        INVALID_COLUMN_DEFINITION = "42611";
        INVALID_COLUMN_REFERENCE = "42P10";
        INVALID_FUNCTION_DEFINITION = "42P13";
        FUNCTION_EXECUTED_NO_RETURN_STATEMENT = "2F005";
        TRIGGERED_DATA_CHANGE_VIOLATION = "27000";
        INVALID_TABLE_DEFINITION = "42P16";
        INVALID_OBJECT_DEFINITION = "42P17";
        INDETERMINATE_DATATYPE = "42P18";
        TOO_MANY_ARGUMENTS = "54023";
        CASE_NOT_FOUND = "20000";
        ERROR_IN_ASSIGNMENT = "22005";
        RAISE_EXCEPTION = "P0001";
        NO_DATA_FOUND = "P0002";
        TOO_MANY_ROWS = "P0003";
        ASSERT_FAILURE = "P0004";
        STACKED_DIAGNOSTICS_ACCESSED_WITHOUT_ACTIVE_HANDLER = "0Z002";
        INVALID_TRANSACTION_TERMINATION = "2D000";
        DISK_FULL = "53100";
        OUT_OF_MEMORY = "53200";
        TOO_MANY_CONNECTIONS = "53300";
        PROGRAM_LIMIT_EXCEEDED = "54000";
        STATEMENT_TOO_COMPLEX = "54001";
        TOO_MANY_COLUMNS = "54011";
        OBJECT_NOT_IN_PREREQUISITE_STATE = "55000";
        UNSAFE_NEW_ENUM_VALUE_USAGE = "55P04";
        CANT_CHANGE_RUNTIME_PARAM = "55P02";
        OBJECT_IN_USE = "55006";
        LOCK_NOT_AVAILABLE = "55P03";
        QUERY_CANCELED = "57014";
        ADMIN_SHUTDOWN = "57P01";
        IDLE_SESSION_TIMEOUT = "57P05";
        IDLE_IN_TRANSACTION_SESSION_TIMEOUT = "25P03";
        CANNOT_CONNECT_NOW = "57P03";
        IO_ERROR = "58030";
        INTERNAL_ERROR = "XX000";
    }
}
