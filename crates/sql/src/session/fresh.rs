//! Locks on a statement's tables, and a new plan if the statement's plan is out of date.

use super::Session;
use super::run::Bound;
use crate::catalog::expected::Expected;
use crate::client::are_alike;
use crate::database::plan;
use crate::exec::Fail;
use crate::parse::lex::tokenize_within;
use crate::plan::Statement;
use crate::table_lock::Mode;
use crate::{SqlError, parse};
use hotrow_storage::Value;
use hotrow_sync::Arc;
use hotrow_sync::atomic::Ordering;

impl Session {
    /// Takes shared locks on a statement's tables. Returns a new plan if the present one is out of date, and `None`
    /// otherwise.
    pub(super) fn lock_and_refresh(&mut self, bound: Bound<'_>) -> Result<Option<Arc<Statement>>, Fail> {
        let Bound { statement, params, source } = bound;
        let mut replanned: Option<Arc<Statement>> = None;
        self.context.follow_path();
        loop {
            let current = replanned.as_ref().unwrap_or(statement);
            for lock in current.used.locks() {
                self.lock_table(lock, Mode::Shared)?;
            }
            self.lock_sequences(current, params)?;
            if self.is_fresh(current) {
                if replanned.is_some() {
                    self.forget_accesses();
                }
                return Ok(replanned);
            }
            replanned = Some(match source {
                Some(source) => {
                    let tokens = &source.tokens[source.range.clone()];
                    source.plan(parse::parse(source.text, tokens)?, self.view())?
                }
                None => self.succeed(statement, current)?,
            });
        }
    }

    /// Takes shared locks on the sequences that the statement's parameters name.
    fn lock_sequences(&mut self, statement: &Statement, params: &[Value<'static>]) -> Result<(), Fail> {
        for &at in &statement.used.sequence_params {
            let Some(Value::Text(name)) = params.get(at) else { continue };
            // An error in the name is reported when the statement runs.
            let Ok(sequence) = self.view().named_sequence(name) else { continue };
            let lock = self.database.catalog().lock(&sequence.name);
            self.lock_table(&lock, Mode::Shared)?;
        }
        Ok(())
    }

    /// Whether a plan is up to date: the names of its tables and procedures still mean the same objects, and the tables
    /// have about as many rows as the plan expects. The caller holds the locks of the tables.
    pub(super) fn is_fresh(&self, statement: &Statement) -> bool {
        let holds = |expected: &Expected| {
            expected.look(&**self.database.engine());
            expected.holds()
        };
        let version = self.database.catalog().version();
        let known = statement.version.load(Ordering::Acquire) == version && statement.path == self.context.path;
        if known && self.context.transaction.changes.is_empty() && !statement.private {
            return statement.expected.iter().all(holds);
        }
        let view = self.view();
        let fresh = statement.used.is_current(view) && statement.expected.iter().all(holds);
        if fresh && self.context.transaction.changes.is_empty() && !statement.private {
            statement.version.store(version, Ordering::Release);
        }
        fresh
    }

    /// Returns the plan that replaces one that is out of date. Another session may have made a successor already: it is
    /// used if it is not the `current` plan, which is out of date. Otherwise makes a new plan.
    fn succeed(&self, statement: &Statement, current: &Arc<Statement>) -> Result<Arc<Statement>, SqlError> {
        let known = || statement.successor.lock().unwrap_or_else(|poison| poison.into_inner());
        if let Some(successor) = &*known()
            && !Arc::ptr_eq(successor, current)
        {
            return Ok(successor.clone());
        }
        let fresh = self.replan(current)?;
        if !fresh.private {
            *known() = Some(fresh.clone());
        }
        Ok(fresh)
    }

    /// Plans a prepared statement again, for the present definitions of its tables.
    ///
    /// # Errors
    /// 0A000 if the new plan has other result columns or parameter types.
    fn replan(&self, statement: &Statement) -> Result<Arc<Statement>, SqlError> {
        let mut tokens = Vec::new();
        let _room = tokenize_within(&statement.sql, &mut tokens, self.database.memory_limit())?;
        // The text may hold several statements of one query string; the plan says where its own is.
        let range = statement.tokens.clone();
        let parsed = parse::parse(&statement.sql, &tokens[range.clone()])?;
        let types = statement.params.iter().copied().map(Some).collect();
        let mut fresh = plan(parsed, &statement.sql, &tokens, range, self.view(), types)?;
        fresh.declared.clone_from(&statement.declared);
        fresh.domains.clone_from(&statement.domains);
        let is_alike = match (fresh.columns(), statement.columns()) {
            (Some(fresh), Some(known)) => are_alike(fresh, known),
            (fresh, known) => fresh.is_some() == known.is_some(),
        };
        if !is_alike || fresh.params != statement.params {
            return Err(SqlError::changed_result());
        }
        Ok(Arc::new(fresh))
    }
}
