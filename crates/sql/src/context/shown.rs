//! The settings of a session, as functions read and change them. Some values are those of the transaction or the
//! engine.

use crate::context::SessionContext;
use crate::settings::{CONCURRENCY, EARLY_RELEASE, Known};
use crate::{SqlError, Times, isolation, state};
use hotrow_log::directory::LiveDirectory;
use hotrow_sync::meter;
use hotrow_txn::{AdmissionStatistics, EarlyReleaseStatistics, EngineInfo, LockStatistics, Setting, VersionStatistics};

impl SessionContext {
    /// Returns the value of a setting, as SHOW displays it.
    pub(crate) fn setting(&self, name: &str) -> Result<String, SqlError> {
        let settings = self.settings.borrow();
        let (name, value) = settings.show(name)?;
        Ok(self.shown(&name, value))
    }

    /// Returns the name, the value and the properties of each setting. The properties are `None` for an application's
    /// own setting.
    pub(crate) fn all_settings(&self) -> Vec<(String, String, Option<&'static Known>)> {
        let settings = self.settings.borrow();
        settings.all().map(|(name, value, known)| (name.to_owned(), self.shown(name, value), known)).collect()
    }

    /// Changes a setting for the session, or only for its transaction if `is_local` is set. `None` resets the setting
    /// to its default. During a rehearsal nothing changes.
    ///
    /// # Errors
    /// There is no such setting, the value is invalid, or the setting can only be changed by SET.
    pub(crate) fn set_config(&self, name: &str, value: Option<&str>, is_local: bool) -> Result<(), SqlError> {
        if ["transaction_isolation", "transaction_read_only", CONCURRENCY]
            .iter()
            .any(|at| at.eq_ignore_ascii_case(name))
        {
            let message = format!("parameter \"{name}\" cannot be set in a query");
            return Err(SqlError::new(state::ACTIVE_SQL_TRANSACTION, message).hint("Say SET before it."));
        }
        if self.is_rehearsing() {
            return Ok(());
        }
        self.check_early_release(name, value)?;
        self.settings.borrow_mut().set_quietly(name, value, is_local)
    }

    /// Checks that the engine supports a new value of `hotrow.early_release`. Accepts every value of any other setting.
    ///
    /// # Errors
    /// 0A000 if the value turns early release on and the engine does not support it.
    pub(crate) fn check_early_release(&self, name: &str, value: Option<&str>) -> Result<(), SqlError> {
        if !name.eq_ignore_ascii_case(EARLY_RELEASE) {
            return Ok(());
        }
        let wanted = self.settings.borrow().foreseen(EARLY_RELEASE, value)?;
        if wanted == "off" || self.shared().releases_early {
            return Ok(());
        }
        let EngineInfo { name, settings, .. } = self.shared().engine().info();
        let how = if settings.contains(&Setting::EarlyRelease) { ", as the server is set up," } else { "" };
        let message = format!("engine {name}{how} does not let others have rows before their writers have committed");
        Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message))
    }

    /// Returns the number of the session's transaction, and assigns one at the first call. No other transaction has had
    /// this number since the server started.
    pub(crate) fn transaction_number(&self) -> u64 {
        if self.transaction.number.get() == 0 {
            self.transaction.number.set(self.shared().next_transaction());
        }
        self.transaction.number.get()
    }

    fn shown(&self, name: &str, value: &str) -> String {
        let engine = self.shared().engine();
        let granted = engine.info().granted(self.transaction.isolation.get());
        match name {
            "transaction_isolation" => isolation::name(granted).to_owned(),
            "hotrow.isolation" => granted.name().to_owned(),
            "hotrow.locks" => locks(engine.locks(), self.shared().admission(), engine.early_release()),
            "data_directory" => {
                let folder = self.shared().directory().and_then(|directory| directory.folder());
                folder.map_or(String::new(), |folder| folder.display().to_string())
            }
            "hotrow.log" => log(self.shared().directory().map(|directory| &**directory)),
            "hotrow.memory" => format!("{} kB", meter::used_bytes() >> 10),
            "hotrow.memory_limit" => match self.shared().memory_limit().bytes() {
                Some(bytes) => format!("{} kB", bytes >> 10),
                None => "none".to_owned(),
            },
            "hotrow.times" => times(self.shared().config.times.as_deref()),
            "max_connections" => self.shared().max_connections().to_string(),
            "hotrow.versions" => versions(engine.versions()),
            "transaction_read_only" => if self.transaction.read_only.get() { "on" } else { "off" }.to_owned(),
            _ => value.to_owned(),
        }
    }
}

/// Describes in words where the time of sessions went, if times are counted.
fn times(times: Option<&Times>) -> String {
    times.map_or_else(|| "not counted".to_owned(), Times::to_string)
}

/// Describes the state of the log and the checkpoint, for `SHOW hotrow.log`.
fn log(directory: Option<&LiveDirectory>) -> String {
    let Some(directory) = directory else { return "none: everything is in memory only".to_owned() };
    let (log, checkpoint) = (directory.log().statistics(), directory.checkpoints().statistics());
    let state = match directory.log().failure() {
        Some(why) => format!(", failed: {why}"),
        None if log.is_full => ", the disk is full".to_owned(),
        None => String::new(),
    };
    let failed = directory.checkpoint_failure().map_or(String::new(), |why| format!(", the last one failed: {why}"));
    format!(
        "written to {}, durable to {}, {} files; checkpoint at {}, {} files, {} bytes{failed}{state}",
        log.newest, log.durable, log.files, checkpoint.position, checkpoint.files, checkpoint.bytes
    )
}

/// Describes in words how many versions of rows the engine keeps.
fn versions(statistics: Option<VersionStatistics>) -> String {
    let Some(VersionStatistics { alive, garbage, held, transactions, oldest_reader }) = statistics else {
        return "none beside the rows".to_owned();
    };
    let oldest = oldest_reader.map_or(String::new(), |behind| format!(", the oldest reader {behind} changes behind"));
    format!("alive {alive}, garbage {garbage}, held {held}, transactions {transactions}{oldest}")
}

/// Describes the engine's locks in words. If the engine has held transactions back or released locks early, the text
/// says so.
fn locks(
    statistics: Option<LockStatistics>,
    admission: AdmissionStatistics,
    early_release: Option<EarlyReleaseStatistics>,
) -> String {
    let mut locks = match statistics {
        Some(LockStatistics { held, waiting }) => format!("held {held}, waiting {waiting}"),
        None => "none are counted".to_owned(),
    };
    let AdmissionStatistics { hot, limit, admitted, held_back, held_back_ever } = admission;
    if held_back_ever > 0 {
        let hot = if hot > 0 { format!("{hot} hot, ") } else { String::new() };
        locks += &format!("; {hot}admitted {admitted} of {limit}, held back {held_back}, so far {held_back_ever}");
    }
    if let Some(EarlyReleaseStatistics { released, released_ever, followed_ever, .. }) = early_release
        && released_ever > 0
    {
        locks += &format!("; released early {released}, so far {released_ever}, followed {followed_ever}");
    }
    locks
}
