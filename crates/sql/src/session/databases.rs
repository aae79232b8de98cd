//! CREATE, ALTER and DROP DATABASE.
//!
//! A database has a catalog of its own over the engine that all databases share. If there is a log, the database's
//! definitions are rows of a table of its own, and its name is a definition of the database `postgres`. So the name
//! appears, and goes, with the record of the transaction that makes or drops the database.

use super::Session;
use super::output::{Output, Tag};
use super::transaction::Phase;
use crate::catalog::stored::Stored;
use crate::catalog::{Catalog, place_log, stored};
use crate::cluster::Cluster;
use crate::contents::Contents;
use crate::context::DatabaseChange;
use crate::error::unsupported;
use crate::exec::Fail;
use crate::notifications::Listeners;
use crate::parse::database::{CreateDatabase, DatabaseStatement};
use crate::schema::DATABASE;
use crate::table_lock::Mode;
use crate::{SqlError, state};
use hotrow_storage::TableSchema;
use hotrow_sync::Arc;
use hotrow_txn::Abort;
use std::time::Duration;

/// The names of PostgreSQL's templates. Nobody can connect to them, and no database can have these names.
const TEMPLATES: [&str; 2] = ["template0", "template1"];

/// The maximum time for which DROP DATABASE and ALTER DATABASE … RENAME wait for the sessions of the database to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// The time between two checks whether these sessions have ended.
const LOOK: Duration = Duration::from_millis(10);

impl Session {
    pub(super) fn change_databases(
        &mut self,
        statement: &DatabaseStatement,
        output: &mut Output<'_>,
    ) -> Result<Tag, Fail> {
        let tag = statement.tag();
        if self.transaction.phase == Phase::Block || self.transaction.in_body || self.transaction.executed > 0 {
            let message = format!("{tag} cannot run inside a transaction block");
            return Err(SqlError::new(state::ACTIVE_SQL_TRANSACTION, message).into());
        }
        match statement {
            DatabaseStatement::Create(create) => self.create_database(create, output)?,
            DatabaseStatement::Rename(name, new) => self.rename_database(name, new)?,
            DatabaseStatement::Own(name, owner) => {
                self.lock_database(name)?.ok_or_else(|| undefined(name))?;
                self.ddl(|ddl| ddl.check_owner(owner).map(|()| tag).map_err(Fail::from), output)?;
            }
            DatabaseStatement::Drop { name, if_exists, force } => {
                if TEMPLATES.contains(&name.as_str()) {
                    let message = "cannot drop a template database";
                    return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message).into());
                }
                if self.lock_database(name)?.is_some() {
                    let contents = self.take_database(name, "drop", *force)?;
                    self.context.transaction.databases.push(DatabaseChange::Dropped(contents));
                } else if *if_exists {
                    let message = format!("{}, skipping", undefined(name).message);
                    self.context.notice(SqlError::new(state::SUCCESSFUL_COMPLETION, message));
                    self.tell_effects(output);
                } else {
                    return Err(undefined(name).into());
                }
            }
        }
        Ok(Tag::Word(tag))
    }

    fn cluster(&self) -> &Arc<Cluster> {
        self.database.cluster()
    }

    /// Locks the name of a database until the transaction ends. Returns the name if there is such a database.
    fn lock_database<'n>(&mut self, name: &'n str) -> Result<Option<&'n str>, Fail> {
        let lock = self.cluster().main.catalog.lock(&format!("\0database\0{name}"));
        self.lock_table(&lock, Mode::Exclusive)?;
        Ok(self.cluster().database(name).map(|_| name))
    }

    /// Locks the name of a new database.
    ///
    /// # Errors
    /// 42P04 if a database or a template has the name.
    fn claim_database(&mut self, name: &str) -> Result<(), Fail> {
        if self.lock_database(name)?.is_some() || TEMPLATES.contains(&name) {
            let message = format!("database \"{name}\" already exists");
            return Err(SqlError::new(state::DUPLICATE_DATABASE, message).into());
        }
        Ok(())
    }

    fn create_database(&mut self, create: &CreateDatabase, output: &mut Output<'_>) -> Result<(), Fail> {
        let CreateDatabase { name, owner, template, locales } = create;
        self.ddl(
            |ddl| {
                ddl.check_memory()?;
                owner.iter().try_for_each(|owner| ddl.check_owner(owner))?;
                Ok("CREATE DATABASE")
            },
            output,
        )?;
        self.claim_database(name)?;
        match template.as_deref().filter(|template| !TEMPLATES.contains(template)) {
            Some(template) if self.cluster().database(template).is_some() => {
                return Err(unsupported("a database as a template").into());
            }
            Some(template) => {
                let message = format!("template database \"{template}\" does not exist");
                return Err(SqlError::new(state::INVALID_CATALOG_NAME, message).into());
            }
            None => {}
        }
        if let Some(locale) = locales.first() {
            self.warn(
                output,
                state::WARNING,
                &format!("there is no locale \"{locale}\": texts are sorted as by \"C\""),
            );
        }
        let cluster = self.cluster().clone();
        let make = |schema: TableSchema| {
            let name = format!("{}\0{name}", schema.name);
            cluster.engine().create_table(TableSchema { name, ..schema })
        };
        let stored = cluster
            .main
            .places()
            .map(|places| Stored::new(places.sink().clone(), make(stored::schema()), make(place_log::schema())));
        let number = cluster.main.catalog.new_number();
        let (catalog, listeners) = (Catalog::default(), Listeners::new(self.database.memory_limit()));
        let contents = Contents { name: name.as_str().into(), number, catalog, stored, listeners };
        self.context.transaction.databases.push(DatabaseChange::Made(Arc::new(contents)));
        Ok(())
    }

    fn rename_database(&mut self, name: &str, new: &str) -> Result<(), Fail> {
        // In the order of the names, since two sessions may rename at once.
        self.lock_database(name.min(new))?;
        self.lock_database(name.max(new))?;
        self.lock_database(name)?.ok_or_else(|| undefined(name))?;
        self.claim_database(new)?;
        let contents = self.take_database(name, "rename", false)?;
        self.context.transaction.databases.push(DatabaseChange::Renamed(contents, new.into()));
        Ok(())
    }

    /// Removes a database from the list, so that no session can connect to it any more. Waits for a while until its
    /// sessions have ended; if `force` is set, ends them. `verb` is the action in error messages.
    ///
    /// # Errors
    /// 55006 if the database is the session's own or is still in use, 2BP01 if it is `postgres`, 57014 if the statement
    /// is cancelled.
    fn take_database(&self, name: &str, verb: &str, force: bool) -> Result<Arc<Contents>, Fail> {
        let in_use = |message: String| SqlError::new(state::OBJECT_IN_USE, message);
        if name == DATABASE {
            let message = format!("cannot {verb} database {name} because it is required by the database system");
            return Err(SqlError::new(state::DEPENDENT_OBJECTS_STILL_EXIST, message).into());
        }
        if name == self.database.name() {
            let opened = if verb == "drop" { "the currently open" } else { "current" };
            return Err(in_use(format!("cannot {verb} {opened} database")).into());
        }
        let end = self.waiter.now().after(PATIENCE);
        loop {
            if let Some(contents) = self.cluster().take(name) {
                return Ok(contents);
            }
            let mut entries = self.cluster().activity.entries();
            entries.retain(|entry| *entry.database == *name);
            if self.waiter.now() >= end {
                let sessions = match entries.len() {
                    1 => "There is 1 other session using the database.".to_owned(),
                    count => format!("There are {count} other sessions using the database."),
                };
                let message = format!("database \"{name}\" is being accessed by other users");
                return Err(in_use(message).detail(sessions).into());
            }
            if force {
                entries.iter().filter_map(|entry| entry.backend()).for_each(|backend| backend.terminate());
            }
            self.waiter.rest(LOOK);
            if self.waiter.is_cancelled() {
                return Err(Abort::Cancelled.into());
            }
        }
    }
}

fn undefined(name: &str) -> SqlError {
    SqlError::new(state::INVALID_CATALOG_NAME, format!("database \"{name}\" does not exist"))
}
