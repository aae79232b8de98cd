//! Functions of notifications.

use super::argument::{Arguments, text_of};
use super::function::{Function, NotificationFunction, Overload};
use crate::SqlError;
use crate::error::unsupported;
use crate::expr::Env;
use hotrow_storage::{Type, Value};

/// Returns this module's overloads of the SQL function with this name, or an empty list if it has none.
pub fn named(name: &str) -> &'static [Overload] {
    macro_rules! overload {
        ($function:ident($($argument:ident),*) -> $result:ident) => {
            const {
                &[Overload {
                    function: Function::Notification(NotificationFunction::$function),
                    arguments: &[$(Type::$argument),*],
                    result: Type::$result,
                }]
            }
        };
    }
    match name {
        // The result `void` of PostgreSQL is an empty text here.
        "pg_notify" => overload!(Notify(Text, Text) -> Text),
        "pg_notification_queue_usage" => overload!(QueueUsage() -> Float8),
        _ => &[],
    }
}

impl NotificationFunction {
    /// Evaluates the function. An argument that is NULL counts as an empty text.
    pub(super) fn call<'a>(self, arguments: &Arguments<'a>, env: &Env<'a>) -> Result<Value<'a>, SqlError> {
        let Some(context) = env.context else { return Err(unsupported("a notification in this place")) };
        Ok(match self {
            NotificationFunction::Notify => {
                context.notify(text_of(&arguments[0]), text_of(&arguments[1]))?;
                Value::text("")
            }
            NotificationFunction::QueueUsage => Value::Float8(context.shared().listeners().usage()),
        })
    }
}
