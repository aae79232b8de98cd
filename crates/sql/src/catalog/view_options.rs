//! The options of views: those that `WITH (…)` and `WITH CHECK OPTION` set.

use crate::parse::view_options::{CHECK_OPTION, ViewOption};
use crate::{SqlError, state};

/// The words that a flag may have as its value. A beginning suffices if no other word begins like it.
const FLAGS: [&str; 8] = ["true", "false", "yes", "no", "on", "off", "1", "0"];

/// The names of the options that are flags. They change nothing, since there is one role only.
const FLAG_NAMES: [&str; 2] = ["security_barrier", "security_invoker"];

/// The conditions that the check option of a view checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckOption {
    /// LOCAL: the condition of the view itself.
    Local,
    /// CASCADED: the conditions of the view and of all views below it.
    Cascaded,
}

/// Returns the value of the check option, or `None` if the view has none.
pub fn check_option(options: &[ViewOption]) -> Option<CheckOption> {
    let option = options.iter().find(|option| option.name == CHECK_OPTION)?;
    Some(if option.value.eq_ignore_ascii_case("local") { CheckOption::Local } else { CheckOption::Cascaded })
}

/// Checks that views have an option of this name, and that it may have this value.
///
/// # Errors
/// 22023 if there is no such option, or it cannot have the value.
fn check(ViewOption { name, value }: &ViewOption) -> Result<(), SqlError> {
    let lower = value.to_ascii_lowercase();
    let wrong = |kind: &str| {
        let message = format!("invalid value for {kind} option \"{name}\": {value}");
        SqlError::new(state::INVALID_PARAMETER_VALUE, message)
    };
    if name == CHECK_OPTION {
        return match &*lower {
            "local" | "cascaded" => Ok(()),
            _ => Err(wrong("enum").detail("Valid values are \"local\" and \"cascaded\".")),
        };
    }
    check_name(name)?;
    let fits = |word: &&str| !lower.is_empty() && word.starts_with(&lower);
    if FLAGS.iter().filter(|word| fits(word)).count() == 1 { Ok(()) } else { Err(wrong("boolean")) }
}

/// Checks that views have an option of this name.
///
/// # Errors
/// 22023 if there is none.
fn check_name(name: &str) -> Result<(), SqlError> {
    if name == CHECK_OPTION || FLAG_NAMES.contains(&name) {
        return Ok(());
    }
    Err(SqlError::new(state::INVALID_PARAMETER_VALUE, format!("unrecognized parameter \"{name}\"")))
}

/// Adds options to those of a view, where they replace options of the same names.
///
/// # Errors
/// 22023 if two of the new options have the same name, if views do not have such an option, or if an option cannot have
/// its value.
pub fn set_options(options: &mut Vec<ViewOption>, new: &[ViewOption]) -> Result<(), SqlError> {
    for (at, option) in new.iter().enumerate() {
        if new[..at].iter().any(|before| before.name == option.name) {
            let message = format!("parameter \"{}\" specified more than once", option.name);
            return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
        }
        check(option)?;
    }
    options.retain(|known| !new.iter().any(|option| option.name == known.name));
    options.extend_from_slice(new);
    Ok(())
}
