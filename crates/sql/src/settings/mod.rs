//! The settings of sessions: SET, SHOW, RESET.
//!
//! Clients set many PostgreSQL settings that have no effect here. They are accepted and shown. An unknown name is an
//! error, as in PostgreSQL, unless it has a dot: applications may define settings with such names. Changes are
//! transactional: a rollback undoes them, and the end of the transaction undoes SET LOCAL in any case.

mod known;

pub(crate) use known::Known;

use crate::error::unsupported;
use crate::schema::SEARCH_PATH;
use crate::session_entry::SessionEntry;
use crate::setting_value::{date_style, parse_duration, parse_memory, show_memory};
use crate::types::{NoZone, SessionZone, Styles};
use crate::{SqlError, isolation, schema, state};
use hotrow_sync::Arc;
use hotrow_txn::{Concurrency, Isolation};
use known::{DEFAULT_PATH, KNOWN, Kind, LEVELS};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

/// The result of `version()`. Drivers parse the version number in it.
pub const VERSION: &str = concat!("PostgreSQL 15.0 (Hotrow ", env!("CARGO_PKG_VERSION"), ")");

/// The value of the setting `server_version`.
pub const SERVER_VERSION: &str = concat!("15.0 (Hotrow ", env!("CARGO_PKG_VERSION"), ")");

/// The name of the setting that makes transactions optimistic or pessimistic.
pub(crate) const CONCURRENCY: &str = "hotrow.concurrency";

/// The name of the setting that lets the engine release hot rows early. If other transactions often wait for a row that
/// a transaction block has written, they get the row between two messages of the block, before the block commits.
pub(crate) const EARLY_RELEASE: &str = "hotrow.early_release";

/// The value of [`EARLY_RELEASE`] under which blocks release hot rows early.
const HOT: &str = "hot";

/// The name of the setting that limits how long a transaction block that excludes all others from the database may be
/// idle while others wait.
pub(crate) const EXCLUSIVE_IDLE_TIMEOUT: &str = "hotrow.exclusive_idle_timeout";

/// The name of the setting that determines whether a commit waits until its record is durable.
const SYNCHRONOUS_COMMIT: &str = "synchronous_commit";

/// The value of [`CONCURRENCY`] under which transactions take turns.
const MIXED: &str = "mixed";

type Values = BTreeMap<Cow<'static, str>, String>;

/// The settings of one session. Changes are undone on rollback; see the module.
#[derive(Debug, Default)]
pub struct Settings {
    /// The values that differ from the defaults.
    values: Values,
    /// The session's own defaults, which the client set when it connected.
    initial: Values,
    /// The values before the transaction; `None` if the transaction has changed none.
    before: Option<Values>,
    /// The values to use after the transaction commits, which differ if it used SET LOCAL; `None` otherwise.
    after: Option<Values>,
    /// The number of times that a value may have changed.
    changes: u64,
    /// The names of the reported settings that functions have changed and that have not been reported to the client
    /// yet.
    untold: Vec<&'static str>,
    /// The number of times that `search_path` may have changed.
    paths: u64,
    /// The session's entry: its waits for locks obey `lock_timeout` and `deadlock_timeout`.
    entry: Option<Arc<SessionEntry>>,
    /// The styles of texts, as five of the settings determine them.
    styles: Styles,
    /// The text that stands for the styles in the keys of cached plans. It is empty for the default styles.
    styles_key: String,
}

/// The settings at a savepoint, for ROLLBACK TO.
#[derive(Debug)]
pub(crate) struct SavedSettings {
    values: Values,
    after: Option<Values>,
    /// The counter of the changes at the savepoint.
    changes: u64,
}

impl Settings {
    /// Makes the settings of a new session of `user`. `level` is the default isolation level.
    pub(crate) fn new(user: &str, level: Isolation) -> Self {
        let initial = BTreeMap::from([
            (Cow::Borrowed("session_authorization"), user.to_owned()),
            (Cow::Borrowed("default_transaction_isolation"), isolation::name(level).to_owned()),
        ]);
        Self { values: initial.clone(), initial, ..Self::default() }
    }

    /// Returns the settings with `hotrow.early_release` on as the session's default, if `is_on` is set.
    pub(crate) fn with_early_release(mut self, is_on: bool) -> Self {
        for values in [&mut self.values, &mut self.initial] {
            let on = is_on.then(|| (Cow::Borrowed(EARLY_RELEASE), HOT.to_owned()));
            values.extend(on);
        }
        self
    }

    /// Returns the settings, linked to the session's entry, to which they pass on changes of `lock_timeout` and
    /// `deadlock_timeout`.
    pub(crate) fn heeded_by(self, entry: Arc<SessionEntry>) -> Self {
        Self { entry: Some(entry), ..self }
    }

    /// Applies `lock_timeout` and `deadlock_timeout` to the session's later waits for locks, and `synchronous_commit`
    /// to its later commits.
    pub(crate) fn heed_waits(&self) {
        if let Some(entry) = &self.entry {
            entry.set_time_outs(self.duration("lock_timeout"), self.duration("deadlock_timeout"));
            entry.waiter.set_waits_for_log(self.waits_for_log());
        }
    }

    /// Returns a setting's name and value, as SHOW displays them.
    ///
    /// # Errors
    /// 42704 if there is no setting of this name.
    pub(crate) fn show(&self, name: &str) -> Result<(Cow<'static, str>, &str), SqlError> {
        if let Some(known) = known_by(name) {
            return Ok((Cow::Borrowed(known.name), self.value(known)));
        }
        let custom = self.values.get_key_value(&*name.to_lowercase()).ok_or_else(|| unrecognized(name))?;
        Ok((custom.0.clone(), custom.1))
    }

    /// Returns a counter that increases whenever a value may have changed, so that a caller can cache values.
    #[inline]
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// Returns the name, the value and the properties of each setting. A setting that an application has defined has no
    /// properties.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &str, Option<&'static Known>)> {
        let known = KNOWN.iter().map(|known| (known.name, self.value(known), Some(known)));
        let custom = self.values.iter().filter(|(name, _)| name.contains('.') && known_by(name).is_none());
        known.chain(custom.map(|(name, value)| (&**name, &**value, None)))
    }

    /// Returns the names and values of all settings whose changes are reported to the client.
    pub(crate) fn reported(&self) -> Vec<(&'static str, String)> {
        let reported = KNOWN.iter().filter(|known| known.reported);
        reported.map(|known| (known.name, self.value(known).to_owned())).collect()
    }

    /// Changes a setting, only for the transaction if `local` is set. `None` resets the setting to its default. Returns
    /// the name and the new value if the change is to be reported to the client.
    ///
    /// # Errors
    /// There is no such setting, it cannot be changed, or the value is invalid.
    pub(crate) fn set(
        &mut self,
        name: &str,
        value: Option<&str>,
        local: bool,
    ) -> Result<Option<(&'static str, &str)>, SqlError> {
        let known = find(name)?;
        if let Some(known) = known.filter(|known| matches!(known.kind, Kind::Fixed | Kind::Reported)) {
            let message = format!("parameter \"{}\" cannot be changed", known.name);
            // A client may set a fixed setting to the value that it has, which is no change.
            return match value {
                Some(value) if known.kind == Kind::Fixed && value.eq_ignore_ascii_case(known.default) => Ok(None),
                _ => Err(SqlError::new(state::CANT_CHANGE_RUNTIME_PARAM, message)),
            };
        }
        let name = known.map_or_else(|| Cow::Owned(name.to_lowercase()), |known| Cow::Borrowed(known.name));
        let value = match (value, known) {
            (Some(value), Some(known)) => Some(self.check(known, value)?),
            (Some(value), None) => Some(value.to_owned()),
            (None, _) => self.initial.get(&name).cloned(),
        };
        self.before.get_or_insert_with(|| self.values.clone());
        if local {
            self.after.get_or_insert_with(|| self.values.clone());
        } else if let Some(after) = &mut self.after {
            put(after, name.clone(), value.clone());
        }
        put(&mut self.values, name, value);
        self.note_change();
        self.paths += 1;
        Ok(known.filter(|known| known.reported).map(|known| (known.name, self.value(known))))
    }

    /// Changes a setting on behalf of a function, which cannot send messages to the client. The session sends the
    /// change later: it gets it from [`untold`](Self::untold).
    ///
    /// # Errors
    /// As [`Self::set`].
    pub(crate) fn set_quietly(&mut self, name: &str, value: Option<&str>, local: bool) -> Result<(), SqlError> {
        if let Some((name, _)) = self.set(name, value, local)? {
            self.untold.push(name);
        }
        Ok(())
    }

    /// Returns the names and values of the reported settings that functions have changed since the last call, for the
    /// client.
    pub(crate) fn untold(&mut self) -> Vec<(&'static str, String)> {
        let names = std::mem::take(&mut self.untold);
        names.into_iter().filter_map(|name| Some((name, self.show(name).ok()?.1.to_owned()))).collect()
    }

    /// Whether functions have changed reported settings since the last call of [`untold`](Self::untold).
    #[inline]
    pub(crate) fn has_untold(&self) -> bool {
        !self.untold.is_empty()
    }

    /// Changes a setting and the default that RESET restores. Used for the settings that the client sends when it
    /// connects.
    ///
    /// # Errors
    /// There is no such setting, or the value is invalid.
    pub(crate) fn set_initial(&mut self, name: &str, value: &str) -> Result<(), SqlError> {
        let (name, value) = match find(name)? {
            Some(known) if matches!(known.kind, Kind::Fixed | Kind::Reported) => return Ok(()),
            Some(known) => (Cow::Borrowed(known.name), self.check(known, value)?),
            None => (Cow::Owned(name.to_lowercase()), value.to_owned()),
        };
        self.paths += u64::from(name == SEARCH_PATH);
        self.initial.insert(name.clone(), value.clone());
        self.values.insert(name, value);
        self.note_change();
        Ok(())
    }

    /// Resets all settings to the session's defaults, for RESET ALL.
    pub(crate) fn reset_all(&mut self) {
        self.before.get_or_insert_with(|| self.values.clone());
        if self.after.is_some() {
            self.after = Some(self.initial.clone());
        }
        self.values = self.initial.clone();
        self.note_change();
        self.paths += 1;
    }

    /// Ends the transaction: undoes its changes unless it has committed, and SET LOCAL in any case. Returns the names
    /// and values of the reported settings that have changed thereby.
    pub(crate) fn end_transaction(&mut self, committed: bool) -> Vec<(&'static str, String)> {
        let (before, after) = (self.before.take(), self.after.take());
        let Some(values) = (if committed { after } else { before }) else { return Vec::new() };
        self.replace(values)
    }

    /// Returns the present values, for a savepoint.
    pub(crate) fn save(&self) -> SavedSettings {
        SavedSettings { values: self.values.clone(), after: self.after.clone(), changes: self.changes }
    }

    /// Undoes the changes since a savepoint. Returns the names and values of the reported settings that have changed
    /// thereby.
    pub(crate) fn restore(&mut self, saved: &SavedSettings) -> Vec<(&'static str, String)> {
        if self.changes == saved.changes {
            return Vec::new();
        }
        self.after.clone_from(&saved.after);
        self.replace(saved.values.clone())
    }

    /// Undoes the changes since a savepoint on behalf of the body of a function or procedure, which cannot send
    /// messages to the client. The session sends the changes later: it gets them from [`untold`](Self::untold).
    pub(crate) fn restore_quietly(&mut self, saved: &SavedSettings) {
        let changed = self.restore(saved);
        self.untold.extend(changed.into_iter().map(|(name, _)| name));
    }

    fn replace(&mut self, values: Values) -> Vec<(&'static str, String)> {
        let old = std::mem::replace(&mut self.values, values);
        self.note_change();
        self.paths += u64::from(old.get(SEARCH_PATH) != self.values.get(SEARCH_PATH));
        let value_in = |values: &Values, known: &Known| {
            values.get(known.name).map_or_else(|| known.default.to_owned(), String::clone)
        };
        let changed = KNOWN.iter().filter(|known| known.reported && value_in(&old, known) != self.value(known));
        changed.map(|known| (known.name, self.value(known).to_owned())).collect()
    }

    /// Returns the isolation level of transactions that do not set one.
    pub(crate) fn default_isolation(&self) -> Isolation {
        let text = self.values.get("default_transaction_isolation").map_or("read committed", String::as_str);
        // Every transaction reads this setting, so it is compared with the names without parsing it.
        Isolation::ALL.into_iter().find(|level| isolation::name(*level) == text).unwrap_or(Isolation::ReadCommitted)
    }

    /// Returns whether transactions are optimistic or pessimistic; `None` if the engine chooses, or if the setting is
    /// `mixed`.
    pub(crate) fn concurrency(&self) -> Option<Concurrency> {
        self.values.get(CONCURRENCY).and_then(|value| value.parse().ok())
    }

    /// Whether transactions are optimistic and pessimistic by turns (`mixed`).
    pub(crate) fn mixes_concurrency(&self) -> bool {
        self.values.get(CONCURRENCY).is_some_and(|value| value == MIXED)
    }

    /// Returns the normal form of the value that a setting would have if it were set to `value`. `None` stands for its
    /// default. The setting is not changed.
    ///
    /// # Errors
    /// There is no such setting, or the value is invalid.
    pub(crate) fn foreseen(&self, name: &str, value: Option<&str>) -> Result<String, SqlError> {
        let known = known_by(name).ok_or_else(|| unrecognized(name))?;
        let initial = || self.initial.get(known.name).map_or(known.default, String::as_str).to_owned();
        value.map_or_else(|| Ok(initial()), |value| self.check(known, value))
    }

    /// Returns the styles in which values are formatted and parsed as text.
    #[inline]
    pub(crate) fn styles(&self) -> Styles {
        self.styles
    }

    /// Returns the text that stands for the styles in the keys of cached plans. It is empty for the default styles.
    #[inline]
    pub(crate) fn styles_key(&self) -> &str {
        &self.styles_key
    }

    /// Whether `client_min_messages` lets notices of this severity through to the client. INFO always comes through.
    pub(crate) fn tells(&self, severity: &str) -> bool {
        if severity == "INFO" {
            return true;
        }
        let rank = |word: &str| LEVELS.iter().position(|level| level.eq_ignore_ascii_case(word));
        let least = self.values.get("client_min_messages").map_or("notice", String::as_str);
        rank(severity) >= rank(least)
    }

    fn note_change(&mut self) {
        let value = |name| known_by(name).map_or("", |known| self.value(known));
        let names = ["DateStyle", "TimeZone", "IntervalStyle", "bytea_output", "extra_float_digits"];
        self.styles = Styles::of(names.map(value));
        self.styles_key = match self.styles == Styles::default() {
            true => String::new(),
            false => format!("{:?}\0", self.styles),
        };
        self.changes += 1;
        self.heed_waits();
    }

    /// Checks a value for a setting and returns it in its shown form.
    fn check(&self, known: &Known, value: &str) -> Result<String, SqlError> {
        match known.kind {
            Kind::DateStyle => {
                date_style(value, self.value(known)).map_err(|detail| invalid_value(known, value).detail(detail))
            }
            Kind::Role => self.check_role(value, known.name == "role"),
            _ => check(known, value),
        }
    }

    /// Checks a role: there is no other than the session's user, and NONE means that user.
    fn check_role(&self, role: &str, or_none: bool) -> Result<String, SqlError> {
        let user = self.initial.get("session_authorization").map_or("", String::as_str);
        match role {
            role if (or_none && role == "none") || role == user => Ok(role.to_owned()),
            "postgres" => {
                let message = "permission denied to set role \"postgres\"";
                Err(SqlError::new(state::INSUFFICIENT_PRIVILEGE, message))
            }
            role => Err(SqlError::new(state::INVALID_PARAMETER_VALUE, format!("role \"{role}\" does not exist"))),
        }
    }

    /// Returns the value of `search_path`.
    pub(crate) fn search_path(&self) -> &str {
        self.values.get(SEARCH_PATH).map_or(DEFAULT_PATH, String::as_str)
    }

    /// Returns a counter that increases whenever `search_path` may have changed.
    pub(crate) fn paths(&self) -> u64 {
        self.paths
    }

    /// Whether transactions are read-only by default.
    pub(crate) fn default_read_only(&self) -> bool {
        self.values.get("default_transaction_read_only").is_some_and(|value| value == "on")
    }

    /// Whether transaction blocks release hot rows to other transactions before they commit.
    pub(crate) fn releases_early(&self) -> bool {
        self.values.get(EARLY_RELEASE).is_some_and(|value| value == HOT)
    }

    /// Whether commits wait until their records are durable.
    pub(crate) fn waits_for_log(&self) -> bool {
        self.values.get(SYNCHRONOUS_COMMIT).is_none_or(|value| value != "off")
    }

    /// Returns the value of a setting that is a duration, or `None` if it is zero or has its default.
    pub(crate) fn duration(&self, name: &str) -> Option<Duration> {
        let text = self.values.get(name)?;
        parse_duration(text).filter(|duration| !duration.is_zero())
    }

    /// Whether bodies of procedures and functions are bound when they are defined.
    pub(crate) fn checks_bodies(&self) -> bool {
        self.values.get("check_function_bodies").is_none_or(|value| value != "off")
    }

    /// Returns how long a transaction block that excludes all others from the database may be idle while others wait,
    /// or `None` if there is no limit.
    pub(crate) fn exclusive_idle_timeout(&self) -> Option<Duration> {
        let (_, text) = self.show(EXCLUSIVE_IDLE_TIMEOUT).ok()?;
        parse_duration(text).filter(|duration| !duration.is_zero())
    }

    fn value(&self, known: &Known) -> &str {
        self.values.get(known.name).map_or(known.default, String::as_str)
    }
}

fn put(values: &mut Values, name: Cow<'static, str>, value: Option<String>) {
    match value {
        Some(value) => values.insert(name, value),
        None => values.remove(&name),
    };
}

/// Returns the name of a setting as SHOW displays it, in PostgreSQL's upper and lower case.
pub(crate) fn shown_name(name: &str) -> &str {
    known_by(name).map_or(name, |known| known.name)
}

fn known_by(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.name.eq_ignore_ascii_case(name))
}

/// Returns the known setting of a name, or `None` if the name is one that an application may give to a setting of its
/// own.
///
/// # Errors
/// 42704 if there is no setting of this name, 42602 if an application cannot give its setting this name.
fn find(name: &str) -> Result<Option<&'static Known>, SqlError> {
    if let Some(known) = known_by(name) {
        return Ok(Some(known));
    }
    let parts: Vec<_> = name.split('.').collect();
    let is_identifier = |part: &&str| {
        part.starts_with(|first: char| first.is_alphabetic() || first == '_')
            && part.chars().all(|next| next.is_alphanumeric() || matches!(next, '_' | '$'))
    };
    let invalid = |detail: &str| {
        let message = format!("invalid configuration parameter name \"{name}\"");
        Err(SqlError::new(state::INVALID_NAME, message).detail(detail))
    };
    match parts.as_slice() {
        [_] => Err(unrecognized(name)),
        [prefix, ..] if prefix.eq_ignore_ascii_case("hotrow") => invalid("\"hotrow\" is a reserved prefix."),
        parts if parts.iter().all(is_identifier) => Ok(None),
        _ => invalid("Custom parameter names must be two or more simple identifiers separated by dots."),
    }
}

fn unrecognized(name: &str) -> SqlError {
    SqlError::new(state::UNDEFINED_OBJECT, format!("unrecognized configuration parameter \"{name}\""))
}

fn invalid_value(known: &Known, value: &str) -> SqlError {
    let message = format!("invalid value for parameter \"{}\": \"{value}\"", known.name);
    SqlError::new(state::INVALID_PARAMETER_VALUE, message)
}

/// Checks a value for a setting whose values do not depend on other settings. Returns the value in its shown form.
fn check(known: &Known, value: &str) -> Result<String, SqlError> {
    let invalid = |hint: &str| {
        let error = invalid_value(known, value);
        if hint.is_empty() { error } else { error.hint(hint) }
    };
    Ok(match known.kind {
        Kind::Text | Kind::Fixed | Kind::Reported | Kind::DateStyle | Kind::Role => value.to_owned(),
        Kind::Word(words, obeyed) => {
            let at = words.iter().position(|word| word.eq_ignore_ascii_case(value));
            let at = at.ok_or_else(|| invalid(&format!("Available values: {}.", words.join(", "))))?;
            if at >= obeyed {
                return Err(unsupported(&format!("{} = {}", known.name, words[at])));
            }
            words[at].to_owned()
        }
        Kind::Memory => {
            let hint = "Valid units for this parameter are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\".";
            let kilobytes = parse_memory(value).ok_or_else(|| invalid(hint))?;
            if kilobytes < 64 {
                let (name, range) = (known.name, "(64 kB .. 2147483647 kB)");
                let message = format!("{kilobytes} kB is outside the valid range for parameter \"{name}\" {range}");
                return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
            }
            show_memory(kilobytes)
        }
        Kind::Path if schema::parse_path(value).is_none() => return Err(invalid("").detail("List syntax is invalid.")),
        Kind::Path => value.to_owned(),
        Kind::Bool => match value.to_lowercase().as_str() {
            "on" | "true" | "yes" | "1" | "t" | "y" => "on".to_owned(),
            "off" | "false" | "no" | "0" | "f" | "n" => "off".to_owned(),
            _ => {
                let message = format!("parameter \"{}\" requires a Boolean value", known.name);
                return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
            }
        },
        Kind::SynchronousCommit => match value.to_lowercase().as_str() {
            word @ ("local" | "remote_write" | "remote_apply" | "on" | "off") => word.to_owned(),
            "true" | "yes" | "1" => "on".to_owned(),
            "false" | "no" | "0" => "off".to_owned(),
            _ => return Err(invalid("Available values: local, remote_write, remote_apply, on, off.")),
        },
        Kind::Between(least, most) => {
            let number = value.trim().parse::<i32>().map_err(|_| invalid(""))?;
            if !(least..=most).contains(&number) {
                let name = known.name;
                let message =
                    format!("{number} is outside the valid range for parameter \"{name}\" ({least} .. {most})");
                return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
            }
            number.to_string()
        }
        Kind::Cost => {
            let number = value.trim().parse::<f64>().map_err(|_| invalid(""))?;
            if !(0.0..f64::INFINITY).contains(&number) {
                let message =
                    format!("{number} is outside the valid range for parameter \"{}\" (0 .. 1.79769e+308)", known.name);
                return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
            }
            number.to_string()
        }
        Kind::Duration => {
            parse_duration(value).ok_or_else(|| {
                invalid("Valid units for this parameter are \"us\", \"ms\", \"s\", \"min\", \"h\", and \"d\".")
            })?;
            value.trim().to_owned()
        }
        Kind::Encoding => match value.to_lowercase().replace('-', "").as_str() {
            "utf8" | "unicode" => "UTF8".to_owned(),
            _ => return Err(invalid("Only UTF8 is supported.")),
        },
        Kind::TimeZone => match SessionZone::parse(value) {
            Ok((_, shown)) => shown,
            Err(NoZone::Unknown) => return Err(invalid("")),
            Err(NoZone::TooFar) => return Err(invalid("").detail("UTC timezone offset is out of range.")),
        },
        Kind::Isolation => {
            let level =
                isolation::parse(value).map_err(|_| invalid(&format!("Available values: {}.", isolation::NAMES)))?;
            isolation::name(level).to_owned()
        }
        Kind::Concurrency => match value.trim().to_ascii_lowercase().as_str() {
            word @ ("default" | MIXED) => word.to_owned(),
            word => match word.parse::<Concurrency>() {
                Ok(way) => way.name().to_owned(),
                Err(_) => return Err(invalid("Available values: default, optimistic, pessimistic, mixed.")),
            },
        },
    })
}

#[cfg(test)]
mod tests;
