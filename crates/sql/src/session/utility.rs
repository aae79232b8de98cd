//! Transaction control, settings, prepared statements, LOCK, TRUNCATE and the like.

use super::Session;
use super::output::{Output, Tag};
use super::run::Bound;
use super::transaction::Phase;
use crate::advisory::Scope;
use crate::bind::Binder;
use crate::client::Notice;
use crate::depth::{Syntax, with_room};
use crate::exec::Fail;
use crate::exec::ddl::Ddl;
use crate::expr::Input;
use crate::notifications::Action;
use crate::parse::lex::{TokenKind, tokenize};
use crate::parse::materialized::Materialize;
use crate::parse::utility::{Modes, Utility};
use crate::parse::{parse_arguments, parse_type};
use crate::plan::Statement;
use crate::schema::{RelationName, undefined_table};
use crate::settings::CONCURRENCY;
use crate::table_lock::Mode;
use crate::{SqlError, SqlState, isolation, state};
use hotrow_storage::Value;
use hotrow_sync::Arc;
use hotrow_txn::{Holding, Ownership};

impl Session {
    pub(super) fn utility(
        &mut self,
        utility: &Utility,
        statement: &Statement,
        output: &mut Output<'_>,
    ) -> Result<Tag, Fail> {
        Ok(match utility {
            Utility::Begin { modes, tag } => {
                self.seek_ticket()?;
                if !self.begin_block(*modes)? {
                    self.warn(output, state::ACTIVE_SQL_TRANSACTION, "there is already a transaction in progress");
                }
                Tag::Word(tag)
            }
            Utility::Commit { chain } => self.end_block(true, *chain, output)?,
            Utility::Rollback { chain } => self.end_block(false, *chain, output)?,
            Utility::Savepoint(name) => {
                self.savepoint(name)?;
                Tag::Word("SAVEPOINT")
            }
            Utility::Release(name) => {
                self.release(name)?;
                Tag::Word("RELEASE")
            }
            Utility::RollbackTo(name) => {
                for (name, value) in self.rollback_to(name)? {
                    output.client.parameter(name, &value);
                }
                Tag::Word("ROLLBACK")
            }
            Utility::SetTransaction(modes) => {
                if self.transaction.phase == Phase::Implicit {
                    let message = "SET TRANSACTION can only be used in transaction blocks";
                    self.warn(output, state::NO_ACTIVE_SQL_TRANSACTION, message);
                }
                self.set_modes(*modes)?;
                Tag::Word("SET")
            }
            Utility::SetConstraints { names, deferred } => {
                if self.transaction.phase == Phase::Implicit && !self.transaction.in_body {
                    let message = "SET CONSTRAINTS can only be used in transaction blocks";
                    self.warn(output, state::NO_ACTIVE_SQL_TRANSACTION, message);
                }
                self.set_constraints(names.as_deref(), *deferred)?;
                Tag::Word("SET CONSTRAINTS")
            }
            Utility::SetCharacteristics(modes) => self.set_characteristics(*modes, output)?,
            Utility::Set { name, value, local } => self.set(name, value.as_deref(), *local, output)?,
            Utility::Show(name) => self.show(name, statement, output)?,
            Utility::Reset(name) => self.reset(name.as_deref(), output)?,
            Utility::Prepare { name, types, sql } => self.prepare_by_name(name, types, sql)?,
            Utility::Execute { name, sql } => return self.execute_by_name(name, sql, output),
            Utility::Deallocate(name) => self.deallocate(name.as_deref())?,
            Utility::DiscardAll => self.discard_all(output)?,
            Utility::DiscardSequences => {
                self.context.forget_numbers();
                Tag::Word("DISCARD SEQUENCES")
            }
            Utility::DiscardTemporary => return self.discard_temporary(output),
            Utility::DiscardPlans => Tag::Word("DISCARD PLANS"),
            Utility::Database(statement) => self.change_databases(statement, output)?,
            Utility::Checkpoint => self.checkpoint()?,
            Utility::Backup(folder) => self.back_up(folder)?,
            Utility::Maintenance { tag, tables } => {
                let mut tables = tables.iter().map(|table| self.view().find(table));
                match tables.find(|table| !self.view().has_relation(table)) {
                    Some(table) => return Err(undefined_table(&table).into()),
                    None => Tag::Word(tag),
                }
            }
            Utility::LockTable { tables, exclusive, nowait } => self.lock_tables(tables, *exclusive, *nowait)?,
            Utility::Truncate { tables, restart, cascade } => {
                self.begin_engine()?;
                return self.ddl(|ddl| ddl.truncate(tables, *restart, *cascade), output);
            }
            Utility::Copy(copy) => {
                self.begin_engine()?;
                let copied = self.copy(copy, output);
                self.tell_effects_of(&copied, output);
                return copied;
            }
            Utility::Do(body) => return self.run_anonymous(body, output),
            Utility::CreateProcedure(create) => return self.ddl(|ddl| ddl.create_procedure(create), output),
            Utility::Materialize(statement) => return self.materialize(statement, output),
            Utility::CreateSequence(create) => return self.ddl(|ddl| ddl.create_sequence(create), output),
            Utility::AlterSequence(alter) => return self.ddl(|ddl| ddl.alter_sequence(alter), output),
            Utility::Define(definition) => {
                self.begin_engine()?;
                return self.ddl(|ddl| ddl.run_definition(definition), output);
            }
            Utility::DropProcedures(drop) => return self.ddl(|ddl| ddl.drop_procedures(drop), output),
            Utility::Fetch(fetch) => return self.fetch(fetch, statement.columns(), output),
            Utility::CloseCursor(name) => self.close_cursor(name.as_deref())?,
            Utility::Channels(action) => self.change_channels(action)?,
            Utility::Notify { channel, payload } => self.notify(channel, payload)?,
            // Planned as statements of their own.
            Utility::Explain(..) => Tag::Word("EXPLAIN"),
            Utility::DeclareCursor(_) => Tag::Word("DECLARE CURSOR"),
        })
    }

    /// COMMIT or ROLLBACK.
    fn end_block(&mut self, commit: bool, chain: bool, output: &mut Output<'_>) -> Result<Tag, Fail> {
        if chain {
            self.require_block(if commit { "COMMIT AND CHAIN" } else { "ROLLBACK AND CHAIN" })?;
        }
        if matches!(self.transaction.phase, Phase::Idle | Phase::Implicit) {
            self.warn(output, state::NO_ACTIVE_SQL_TRANSACTION, "there is no transaction in progress");
        }
        let concurrency = self.context.settings.borrow().concurrency();
        let modes = Modes {
            isolation: Some(self.context.transaction.isolation.get()),
            read_only: Some(self.context.transaction.read_only.get()),
            concurrency,
        };
        let unheard = commit && self.transaction.given_up_unheard.is_some();
        let commit = commit && self.transaction.phase != Phase::Failed;
        let ended = if unheard {
            let error = self.failed_block();
            self.rollback_all();
            Err(error.into())
        } else if commit {
            self.commit()
        } else {
            self.rollback_all();
            Ok(())
        };
        for (name, value) in self.context.settings.borrow_mut().end_transaction(commit && ended.is_ok()) {
            output.client.parameter(name, &value);
        }
        ended?;
        if chain {
            let may_begin = self.seek_ticket();
            if !commit {
                may_begin?;
            }
            // A transaction that has committed must not be reported as cancelled.
            self.begin_block(modes)?;
        }
        Ok(Tag::Word(if commit { "COMMIT" } else { "ROLLBACK" }))
    }

    /// SET CONSTRAINTS. The checks of constraints that become immediate are made at once.
    fn set_constraints(&mut self, names: Option<&[RelationName]>, deferred: bool) -> Result<(), Fail> {
        let mut full_names = Vec::new();
        for name in names.unwrap_or_default() {
            let (full_name, is_deferrable) = self.view().named_constraint(name)?;
            if deferred && !is_deferrable {
                let message = format!("constraint \"{}\" is not deferrable", name.name);
                return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message).into());
            }
            full_names.push(full_name);
        }
        self.transaction.deferred.set(names.map(|_| full_names), deferred);
        if deferred { Ok(()) } else { self.check_deferred(false) }
    }

    fn set_characteristics(&mut self, modes: Modes, output: &mut Output<'_>) -> Result<Tag, Fail> {
        if let Some(isolation) = modes.isolation {
            self.set("default_transaction_isolation", Some(isolation::name(isolation)), false, output)?;
        }
        if let Some(read_only) = modes.read_only {
            let value = if read_only { "on" } else { "off" };
            self.set("default_transaction_read_only", Some(value), false, output)?;
        }
        if let Some(concurrency) = modes.concurrency {
            self.set(CONCURRENCY, Some(concurrency.name()), false, output)?;
        }
        Ok(Tag::Word("SET"))
    }

    fn set(&mut self, name: &str, value: Option<&str>, local: bool, output: &mut Output<'_>) -> Result<Tag, Fail> {
        if local && self.transaction.phase != Phase::Block && !self.transaction.in_body {
            let message = "SET LOCAL can only be used in transaction blocks";
            self.warn(output, state::NO_ACTIVE_SQL_TRANSACTION, message);
        }
        match (name, value) {
            ("transaction_isolation", Some(value)) => {
                // The setting keeps the client's spelling; the transaction takes the level.
                let level = isolation::parse(&self.context.settings.borrow().foreseen(name, Some(value))?).ok();
                self.set_modes(Modes { isolation: level, ..Modes::default() })?;
            }
            ("transaction_read_only", Some(value)) => {
                let read_only = self.context.settings.borrow().foreseen(name, Some(value))? == "on";
                self.set_modes(Modes { read_only: Some(read_only), ..Modes::default() })?;
            }
            _ => {
                if name == CONCURRENCY {
                    self.check_concurrency(value)?;
                }
                self.context.check_early_release(name, value)?;
                if let Some((name, value)) = self.context.settings.borrow_mut().set(name, value, local)? {
                    output.client.parameter(name, value);
                }
            }
        }
        Ok(Tag::Word("SET"))
    }

    fn show(&mut self, name: &str, statement: &Statement, output: &mut Output<'_>) -> Result<Tag, Fail> {
        if name == "all" {
            for (name, value, _) in self.context.all_settings() {
                let row = [Value::text(&name), Value::text(&value), Value::text("")];
                output.row(statement.columns(), &row)?;
            }
            return Ok(Tag::Word("SHOW"));
        }
        let value = self.context.setting(name)?;
        output.row(statement.columns(), &[Value::text(&value)])?;
        Ok(Tag::Word("SHOW"))
    }

    fn reset(&mut self, name: Option<&str>, output: &mut Output<'_>) -> Result<Tag, Fail> {
        match name {
            Some(name) => {
                self.set(name, None, false, output)?;
            }
            None => {
                self.check_concurrency(None)?;
                let before = self.parameters();
                self.context.settings.borrow_mut().reset_all();
                for ((name, old), (_, new)) in before.into_iter().zip(self.parameters()) {
                    if old != new {
                        output.client.parameter(name, &new);
                    }
                }
            }
        }
        Ok(Tag::Word("RESET"))
    }

    fn prepare_by_name(&mut self, name: &str, types: &[String], sql: &str) -> Result<Tag, Fail> {
        let mut declared = Vec::with_capacity(types.len());
        for ty in types {
            declared.push(Some(self.view().data_type(&parse_type(ty)?)?));
        }
        check_preparable(sql)?;
        // Notices about names that are too long were sent for the whole text.
        self.prepare(name, sql, &declared, &mut |_| ())?;
        Ok(Tag::Word("PREPARE"))
    }

    fn execute_by_name(&mut self, name: &str, arguments: &str, output: &mut Output<'_>) -> Result<Tag, Fail> {
        let statement = self.statement(name)?;
        let arguments = if arguments.is_empty() { Syntax::new(Vec::new()) } else { parse_arguments(arguments)? };
        if arguments.len() != statement.params.len() {
            let message = format!("wrong number of parameters for prepared statement \"{name}\"");
            let (wanted, given) = (statement.params.len(), arguments.len());
            return Err(SqlError::new(state::SYNTAX_ERROR, message)
                .detail(format!("Expected {wanted} parameters but got {given}."))
                .into());
        }
        let mut values = Vec::with_capacity(arguments.len());
        for (argument, ty) in arguments.iter().zip(&statement.params) {
            let expr = with_room(|| Binder::new("", 0, self.view(), Vec::new()).argument(argument, *ty))?;
            let exec = self.exec(&[]);
            values.push(expr.eval(&exec.env, &Input::NONE)?.into_owned());
        }
        self.run_inner(&statement, &values, output)
    }

    /// Runs a statement as part of another statement, which sends the command tag.
    fn run_inner(
        &mut self,
        statement: &Arc<Statement>,
        params: &[Value<'static>],
        output: &mut Output<'_>,
    ) -> Result<Tag, Fail> {
        if matches!(&statement.plan, crate::plan::Plan::Utility(utility) if matches!(**utility, Utility::Execute { .. }))
        {
            return Err(crate::error::unsupported("EXECUTE of EXECUTE").into());
        }
        self.check_in_body(&statement.plan)?;
        self.attempt(Bound::prepared(statement, params), output)
    }

    fn deallocate(&mut self, name: Option<&str>) -> Result<Tag, Fail> {
        match name {
            None => {
                self.kept.statements.clear();
                Ok(Tag::Word("DEALLOCATE ALL"))
            }
            Some(name) => {
                self.statement(name)?;
                self.kept.statements.remove(name);
                Ok(Tag::Word("DEALLOCATE"))
            }
        }
    }

    fn discard_all(&mut self, output: &mut Output<'_>) -> Result<Tag, Fail> {
        if self.transaction.phase == Phase::Block {
            let message = "DISCARD ALL cannot run inside a transaction block";
            return Err(SqlError::new(state::ACTIVE_SQL_TRANSACTION, message).into());
        }
        self.kept.statements.clear();
        self.kept.cursors.clear();
        self.context.change_channels(Action::UnlistenAll)?;
        self.give_advisory_back(Scope::Session);
        self.context.forget_numbers();
        self.reset(None, output)?;
        self.discard_temporary(output)?;
        Ok(Tag::Word("DISCARD ALL"))
    }

    /// Runs CREATE MATERIALIZED VIEW or REFRESH MATERIALIZED VIEW. As in PostgreSQL, the command tag of a CREATE that
    /// fills the view is that of a query.
    fn materialize(&mut self, statement: &Materialize, output: &mut Output<'_>) -> Result<Tag, Fail> {
        self.begin_engine()?;
        let mut filled = None;
        let run = |ddl: &mut Ddl<'_>| {
            match statement {
                Materialize::Create(create) => filled = ddl.create_materialized(create)?,
                Materialize::Refresh { name, has_data, concurrently } => ddl.refresh(name, *has_data, *concurrently)?,
            }
            Ok(statement.tag())
        };
        let tag = self.ddl(run, output)?;
        Ok(filled.map_or(tag, |rows| Tag::Rows("SELECT", rows)))
    }

    /// Drops the session's temporary relations.
    fn discard_temporary(&mut self, output: &mut Output<'_>) -> Result<Tag, Fail> {
        if self.view().temporary.schema().is_some() {
            self.begin_engine()?;
            self.ddl(|ddl| ddl.discard_temporary(), output)?;
        }
        Ok(Tag::Word("DISCARD TEMP"))
    }

    /// Sends the client a warning, unless the client wants to receive errors only.
    pub(super) fn warn(&self, output: &mut Output<'_>, state: SqlState, message: &str) {
        const SEVERITY: &str = "WARNING";
        if self.context.settings.borrow().tells(SEVERITY) {
            output.client.notice(Notice { severity: SEVERITY, error: SqlError::new(state, message) });
        }
    }

    fn lock_tables(&mut self, tables: &[RelationName], exclusive: bool, nowait: bool) -> Result<Tag, Fail> {
        self.require_block("LOCK TABLE")?;
        self.begin_engine()?;
        let mode = if exclusive { Mode::Exclusive } else { Mode::Shared };
        for name in tables {
            let name = &self.view().find(name);
            let table = self.view().table(name).ok_or_else(|| undefined_table(name))?;
            if nowait {
                let wait = Some(std::time::Duration::ZERO);
                let wake = self.transaction.locks.acquire(&table.lock, mode, (&self.database, &self.entry), wait)?;
                if wake != hotrow_sync::Wake::Ready {
                    let message = format!("could not obtain lock on relation \"{name}\"");
                    return Err(SqlError::new(state::LOCK_NOT_AVAILABLE, message).into());
                }
            } else {
                self.lock_table(&table.lock, mode)?;
            }
            // The definition may have changed while we waited for the lock.
            let table = self.view().table(name).ok_or_else(|| undefined_table(name))?;
            if exclusive {
                self.engine.txn.own_table(table.id, Ownership::Locked);
            }
        }
        Ok(Tag::Word("LOCK TABLE"))
    }
}

/// Checks that PREPARE has a statement that reads or writes rows. WITH, TABLE and MERGE pass here, since the planner
/// has its own errors for them.
fn check_preparable(sql: &str) -> Result<(), SqlError> {
    const FIRST: [&str; 8] = ["select", "values", "insert", "update", "delete", "with", "table", "merge"];
    let mut tokens = Vec::new();
    tokenize(sql, &mut tokens)?;
    let message = match tokens.iter().find(|token| token.kind != TokenKind::Symbol(b'(')) {
        Some(first) if FIRST.iter().any(|word| first.is(sql, word)) => return Ok(()),
        Some(first) => format!("syntax error at or near \"{}\"", first.text(sql)),
        None => "syntax error at end of input".to_owned(),
    };
    Err(SqlError::new(state::SYNTAX_ERROR, message))
}
