//! The context of a session: the inputs of an expression other than its row. They are the catalog, the settings, the
//! numbers that the session got from sequences, and the modes of its transaction.

mod databases;
mod notifications;
mod sequences;
mod shown;

pub(crate) use databases::DatabaseChange;

use crate::SqlError;
use crate::catalog::search_path::effective;
use crate::catalog::temporary::Temporary;
use crate::catalog::{Changes, Table, View};
use crate::client::Notice;
use crate::notifications::Pending;
use crate::schema::SearchPath;
use crate::session_entry::SessionEntry;
use crate::settings::Settings;
use crate::shared::Shared;
use crate::types::Styles;
use hotrow_sync::Arc;
use hotrow_txn::Isolation;
use sequences::SequenceNumbers;
use std::cell::{Cell, RefCell};

/// The inputs of a session's expressions other than their rows: catalog, settings, sequences, transaction. A session
/// has one for all of its transactions.
#[derive(Debug)]
pub struct SessionContext {
    shared: Arc<Shared>,
    /// The part of the session's state that other sessions may read.
    pub(crate) entry: Arc<SessionEntry>,
    /// The session's settings, which functions read and change.
    pub(crate) settings: RefCell<Settings>,
    /// The search path; `None` if it is `public` alone.
    pub(crate) path: Option<Arc<SearchPath>>,
    /// The catalog's version, the settings' count of `search_path` changes and the version of the temporary relations
    /// for which the path was made.
    path_at: Option<(u64, u64, u64)>,
    /// The session's committed temporary relations.
    temporary: Temporary,
    /// The numbers that the session has got from sequences.
    numbers: SequenceNumbers,
    /// The session's present transaction.
    pub(crate) transaction: TransactionContext,
    /// Whether the present statement may wait in the middle of an expression. Only a statement that accesses no table
    /// may, for example for an advisory lock.
    pub(crate) may_wait: Cell<bool>,
    /// The notices that functions have raised and that have not been sent to the client yet.
    pub(crate) notices: RefCell<Vec<Notice>>,
}

/// The state of a session's transaction that expressions and DDL use.
#[derive(Debug, Default)]
pub(crate) struct TransactionContext {
    /// The changes of the catalog that the transaction has made.
    pub(crate) changes: Changes,
    /// The databases that the transaction has created, renamed and dropped.
    pub(crate) databases: Vec<DatabaseChange>,
    /// Whether the transaction is read-only.
    pub(crate) read_only: Cell<bool>,
    /// The nesting depth of the triggers that are running.
    pub(crate) trigger_depth: Cell<i32>,
    /// The isolation level of the transaction.
    pub(crate) isolation: Cell<Isolation>,
    /// The number of the transaction, or zero if no statement has requested it.
    pub(crate) number: Cell<u64>,
    /// The notifications and the changes of channels that the commit will carry out.
    pub(crate) notifications: RefCell<Pending>,
}

impl SessionContext {
    /// Makes the context of a new session.
    pub(crate) fn new(shared: Arc<Shared>, entry: Arc<SessionEntry>) -> Self {
        let isolation = shared.config.default_isolation;
        let settings = Settings::new(&entry.user, isolation).with_early_release(shared.config.early_release);
        Self {
            settings: RefCell::new(settings.heeded_by(entry.clone())),
            shared,
            entry,
            path: None,
            path_at: None,
            temporary: Temporary::default(),
            numbers: SequenceNumbers::default(),
            transaction: TransactionContext { isolation: Cell::new(isolation), ..TransactionContext::default() },
            may_wait: Cell::new(false),
            notices: RefCell::default(),
        }
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Returns the catalog as the session's transaction sees it, with its search path and styles.
    pub fn view(&self) -> View<'_> {
        let (changes, path) = (&self.transaction.changes, self.path.as_ref());
        View {
            database: self.shared.name(),
            catalog: self.shared.catalog(),
            changes,
            temporary: &self.temporary,
            path,
            styles: self.styles(),
        }
    }

    /// Adds a notice of severity NOTICE, which the client will be sent later.
    pub(crate) fn notice(&self, error: SqlError) {
        self.notices.borrow_mut().push(Notice { severity: "NOTICE", error });
    }

    /// Updates the search path if the setting, the schemas or the temporary relations have changed.
    pub(crate) fn follow_path(&mut self) {
        let version = self.temporary.version();
        let at = (self.shared.catalog().version(), self.settings.borrow().paths(), version);
        let own = !self.transaction.changes.schemas.is_empty();
        if self.path_at != Some(at) || own {
            let path = effective(self.settings.borrow().search_path(), &self.entry.user, self.view());
            self.path = path;
            self.path_at = (!own).then_some(at);
        }
    }

    /// Returns the name of the schema for the session's temporary relations. The first call creates the schema.
    pub(crate) fn temporary_schema(&mut self) -> &str {
        if self.temporary.schema().is_none() {
            self.temporary.make_schema(self.shared.catalog().new_temporary_number());
            self.follow_path();
        }
        self.temporary.schema().unwrap_or_default()
    }

    /// Publishes the changes of temporary relations of a transaction that has committed: moves them from the
    /// transaction's changes into the session's own relations. Returns the definitions of the tables that were replaced
    /// or dropped.
    pub(crate) fn publish_temporary(&mut self) -> Vec<Arc<Table>> {
        let new_version = || self.shared.catalog().new_temporary_number();
        self.temporary.apply(&mut self.transaction.changes, new_version)
    }

    /// Drops the session's temporary relations, since the session ends.
    pub(crate) fn forget_temporary(&mut self) {
        let Some((schema, tables)) = self.temporary.clear() else { return };
        tables.into_iter().for_each(|table| self.shared.engine().drop_table(table));
        self.shared.catalog().forget_numbers(&schema);
    }

    /// Returns the styles in which the session formats and parses values as text.
    #[inline]
    pub(crate) fn styles(&self) -> Styles {
        self.settings.borrow().styles()
    }

    /// Appends the session's styles to the key of a cached plan. Appends nothing for the default styles.
    #[inline]
    pub(crate) fn push_styles_key(&self, key: &mut String) {
        key.push_str(self.settings.borrow().styles_key());
    }
}
