//! Functions of the session, functions without arguments, and `pg_sleep`.

use super::argument::Arguments;
use super::function::{Function, Overload, SessionFunction};
use super::interval::age;
use super::moment::DAY;
use crate::SqlError;
use crate::context::SessionContext;
use crate::expr::{Env, Strictness, cast};
use crate::schema::DATABASE;
use crate::types::now;
use hotrow_storage::{Type, Value};
use std::time::Duration;

/// Returns this module's overloads of the SQL function with this name, or an empty list if it has none.
pub fn named(name: &str) -> &'static [Overload] {
    macro_rules! returning {
        ($function:ident, $result:expr) => {
            const {
                &[Overload {
                    function: Function::Session(SessionFunction::$function),
                    arguments: &[],
                    result: $result,
                }]
            }
        };
    }
    match name {
        "pg_sleep" => {
            const {
                &[Overload {
                    function: Function::Session(SessionFunction::Sleep),
                    arguments: &[Type::Float8],
                    result: Type::Text,
                }]
            }
        }
        "now" | "transaction_timestamp" | "statement_timestamp" => returning!(Now, Type::TIMESTAMP_TZ),
        "current_timestamp" => returning!(CurrentTimestamp, Type::TIMESTAMP_TZ),
        "clock_timestamp" => returning!(ClockTimestamp, Type::TIMESTAMP_TZ),
        "current_date" => returning!(CurrentDate, Type::Date),
        "localtimestamp" => returning!(LocalTimestamp, Type::TIMESTAMP),
        "localtime" => returning!(LocalTime, Type::TIME),
        "age" => {
            const {
                &[Overload {
                    function: Function::Session(SessionFunction::Age),
                    arguments: &[Type::TIMESTAMP],
                    result: Type::INTERVAL,
                }]
            }
        }
        "random" => returning!(Random, Type::Float8),
        "gen_random_uuid" | "uuid_generate_v4" => returning!(RandomUuid, Type::Uuid),
        "version" => returning!(Version, Type::Text),
        "current_user" | "session_user" | "user" | "current_role" => returning!(CurrentUser, Type::Name),
        "current_database" | "current_catalog" => returning!(CurrentDatabase, Type::Name),
        "current_schema" => returning!(CurrentSchema, Type::Name),
        "pg_client_encoding" | "getdatabaseencoding" => returning!(ClientEncoding, Type::Text),
        "pg_backend_pid" => returning!(BackendPid, Type::Int4),
        "pg_trigger_depth" => returning!(TriggerDepth, Type::Int4),
        _ => &[],
    }
}

impl SessionFunction {
    /// Whether two calls may have different results within one statement.
    pub(super) fn is_volatile(self) -> bool {
        matches!(
            self,
            SessionFunction::Random
                | SessionFunction::ClockTimestamp
                | SessionFunction::RandomUuid
                | SessionFunction::Sleep
        )
    }

    /// Whether a call has side effects that other sessions could notice.
    pub(super) fn acts(self) -> bool {
        self == SessionFunction::Sleep
    }

    /// Returns the keyword of a function of the present time that accepts a number of digits, such as
    /// `CURRENT_TIMESTAMP`. Returns `None` for any other function.
    pub(crate) fn moment(self) -> Option<&'static str> {
        match self {
            SessionFunction::CurrentTimestamp | SessionFunction::LocalTimestamp | SessionFunction::LocalTime => {
                self.written()
            }
            _ => None,
        }
    }

    /// Returns the SQL text of a call, such as `now()`, or `None` if the function takes arguments.
    pub(super) fn written(self) -> Option<&'static str> {
        Some(match self {
            SessionFunction::Now => "now()",
            SessionFunction::CurrentTimestamp => "CURRENT_TIMESTAMP",
            SessionFunction::ClockTimestamp => "clock_timestamp()",
            SessionFunction::CurrentDate => "CURRENT_DATE",
            SessionFunction::LocalTimestamp => "LOCALTIMESTAMP",
            SessionFunction::LocalTime => "LOCALTIME",
            SessionFunction::Random => "random()",
            SessionFunction::RandomUuid => "gen_random_uuid()",
            SessionFunction::Version => "version()",
            SessionFunction::CurrentUser => "CURRENT_USER",
            SessionFunction::CurrentDatabase => "current_database()",
            SessionFunction::CurrentSchema => "CURRENT_SCHEMA",
            SessionFunction::BackendPid => "pg_backend_pid()",
            SessionFunction::TriggerDepth => "pg_trigger_depth()",
            SessionFunction::ClientEncoding => "pg_client_encoding()",
            SessionFunction::Sleep | SessionFunction::Age => return None,
        })
    }

    /// Returns the result of the function for these arguments.
    pub(super) fn call<'a>(self, arguments: &Arguments<'a>, env: &Env<'a>) -> Result<Value<'a>, SqlError> {
        Ok(match self {
            SessionFunction::Random => Value::Float8(random()),
            SessionFunction::Now | SessionFunction::CurrentTimestamp => Value::TimestampTz(env.now),
            SessionFunction::LocalTimestamp => Value::Timestamp(env.styles.zone.to_local(env.now)),
            SessionFunction::LocalTime => Value::Time(env.styles.zone.to_local(env.now).rem_euclid(DAY)),
            SessionFunction::Age => {
                let Value::Timestamp(moment) = arguments[0] else { return Ok(Value::Null) };
                let now = env.styles.zone.to_local(env.now);
                Value::Interval(age(now - now.rem_euclid(DAY), moment)?)
            }
            SessionFunction::ClockTimestamp => Value::TimestampTz(now()),
            SessionFunction::CurrentDate => {
                let now = Value::TimestampTz(env.now);
                return cast(now, Type::TIMESTAMP_TZ, Type::Date, Strictness::Explicit, env.styles);
            }
            SessionFunction::Version => Value::text(crate::settings::VERSION),
            SessionFunction::CurrentUser => Value::text(env.user),
            SessionFunction::CurrentDatabase => {
                let name = env.context.map_or(DATABASE, |context| context.shared().name());
                Value::Text(name.to_owned().into())
            }
            SessionFunction::CurrentSchema => {
                let schema = env.context.and_then(|context| context.view().current_schema().map(str::to_owned));
                schema.map_or(Value::Null, |schema| Value::Text(schema.into()))
            }
            SessionFunction::BackendPid => Value::Int4(env.session_id),
            SessionFunction::TriggerDepth => {
                Value::Int4(env.context.map_or(0, |context| context.transaction.trigger_depth.get()))
            }
            SessionFunction::RandomUuid => Value::Uuid(random_uuid()),
            SessionFunction::ClientEncoding => Value::text("UTF8"),
            SessionFunction::Sleep => return pause(&arguments[0], env),
        })
    }
}

/// Waits for this number of seconds, or until the statement is to stop.
fn pause<'a>(seconds: &Value<'_>, env: &Env<'_>) -> Result<Value<'a>, SqlError> {
    let Value::Float8(seconds) = seconds else { return Ok(Value::Null) };
    // Nobody waits for longer than a century.
    let duration = Duration::try_from_secs_f64(seconds.clamp(0.0, 4e9)).unwrap_or_default();
    if !env.context.is_some_and(SessionContext::is_rehearsing) {
        env.waiter.rest(duration);
    }
    env.check_cancelled()?;
    Ok(Value::text(""))
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

/// Returns fresh random bits: the standard library takes the keys of its hasher from the operating system.
fn random_bits() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    let state = RandomState::new();
    hotrow_storage::mix(state.hash_one(now()))
}
