//! The context of a session: the inputs of an expression other than its row. They are the catalog, the settings, the
//! numbers that the session got from sequences, and the modes of its transaction.

mod notifications;
mod sequences;
mod shown;

use crate::catalog::{Changes, View};
use crate::client::Notice;
use crate::notifications::Pending;
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
    pub(crate) path: Option<Arc<[String]>>,
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
    /// Whether the transaction is read-only.
    pub(crate) read_only: Cell<bool>,
    /// The number of triggers that run, one within the other.
    pub(crate) trigger_depth: Cell<i32>,
    /// The isolation level of the transaction.
    pub(crate) isolation: Cell<Isolation>,
    /// The number of the transaction, or zero if no statement has requested it.
    pub(crate) number: Cell<u64>,
    /// The notifications and the changes of channels that the transaction has asked for.
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
        View { catalog: &self.shared.catalog, changes, path, styles: self.styles() }
    }

    /// Returns the styles in which the session formats and parses values as text.
    #[inline]
    pub(crate) fn styles(&self) -> Styles {
        self.settings.borrow().styles()
    }

    /// Appends the text that stands for the styles in the key of a plan, which is empty for the default styles.
    #[inline]
    pub(crate) fn push_styles_key(&self, key: &mut String) {
        key.push_str(self.settings.borrow().styles_key());
    }
}
