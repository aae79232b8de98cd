//! Functions of the session, and of nothing.

use super::Overload;
use crate::SqlError;
use crate::expr::{Env, Strictness, cast};
use hotrow_storage::{Type, Value};

/// A function without arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum Function {
    Now,
    ClockTimestamp,
    CurrentDate,
    LocalTimestamp,
    Random,
    RandomUuid,
    Version,
    CurrentUser,
    CurrentDatabase,
    CurrentSchema,
    BackendPid,
}

/// The functions of a name.
pub fn named(name: &str) -> &'static [Overload] {
    macro_rules! returning {
        ($function:ident, $result:ident) => {
            const {
                &[Overload {
                    function: super::Function::Session(Function::$function),
                    arguments: &[],
                    result: Type::$result,
                }]
            }
        };
    }
    match name {
        "now" | "current_timestamp" | "transaction_timestamp" | "statement_timestamp" => returning!(Now, TimestampTz),
        "clock_timestamp" => returning!(ClockTimestamp, TimestampTz),
        "current_date" => returning!(CurrentDate, Date),
        "localtimestamp" => returning!(LocalTimestamp, Timestamp),
        "random" => returning!(Random, Float8),
        "gen_random_uuid" => returning!(RandomUuid, Uuid),
        "version" => returning!(Version, Text),
        "current_user" | "session_user" | "user" | "current_role" => returning!(CurrentUser, Text),
        "current_database" | "current_catalog" => returning!(CurrentDatabase, Text),
        "current_schema" => returning!(CurrentSchema, Text),
        "pg_backend_pid" => returning!(BackendPid, Int4),
        _ => &[],
    }
}

impl Function {
    /// Whether two calls may differ within one statement.
    pub(super) fn is_volatile(self) -> bool {
        matches!(self, Function::Random | Function::ClockTimestamp | Function::RandomUuid)
    }

    /// How a call is written.
    pub(super) fn written(self) -> &'static str {
        match self {
            Function::Now => "now()",
            Function::ClockTimestamp => "clock_timestamp()",
            Function::CurrentDate => "CURRENT_DATE",
            Function::LocalTimestamp => "LOCALTIMESTAMP",
            Function::Random => "random()",
            Function::RandomUuid => "gen_random_uuid()",
            Function::Version => "version()",
            Function::CurrentUser => "CURRENT_USER",
            Function::CurrentDatabase => "current_database()",
            Function::CurrentSchema => "CURRENT_SCHEMA",
            Function::BackendPid => "pg_backend_pid()",
        }
    }

    /// The function's value.
    pub(super) fn call<'a>(self, env: &Env<'a>) -> Result<Value<'a>, SqlError> {
        Ok(match self {
            Function::Random => Value::Float8(random()),
            Function::Now => Value::TimestampTz(env.now),
            Function::LocalTimestamp => Value::Timestamp(env.now),
            Function::ClockTimestamp => Value::TimestampTz(now()),
            Function::CurrentDate => {
                return cast(Value::TimestampTz(env.now), Type::TimestampTz, Type::Date, Strictness::Explicit);
            }
            Function::Version => Value::text(crate::settings::VERSION),
            Function::CurrentUser => Value::text(env.user),
            Function::CurrentDatabase => Value::text("postgres"),
            Function::CurrentSchema => Value::text("public"),
            Function::BackendPid => Value::Int4(env.session_id),
            Function::RandomUuid => Value::Uuid(random_uuid()),
        })
    }
}

/// Microseconds since 2000-01-01 UTC.
pub fn now() -> i64 {
    jiff::Timestamp::now().as_microsecond() - 946_684_800_000_000
}

fn random() -> f64 {
    (random_bits() >> 11) as f64 / (1_u64 << 53) as f64
}

fn random_uuid() -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&random_bits().to_be_bytes());
    bytes[8..].copy_from_slice(&random_bits().to_be_bytes());
    *uuid::Builder::from_random_bytes(bytes).as_uuid().as_bytes()
}

/// Fresh random bits: the standard library's hasher keys come from the operating system.
fn random_bits() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    let state = RandomState::new();
    hotrow_storage::mix(state.hash_one(now()))
}
