//! CREATE, ALTER and DROP of procedures and functions, and comments on them.

use super::Fail;
use super::ddl::Ddl;
use super::temporary::needs_temporary;
use crate::bind::{argument_types, check_returns, compile_new, define_arguments, define_function};
use crate::catalog::procedure::{Argument, FunctionTraits, Procedure, Returns, key, lock_of, name_in};
use crate::catalog::view::StoredView;
use crate::catalog::{Declared, DefaultSource, DefaultValue, is_temporary};
use crate::error::unsupported;
use crate::parse::procedure::{
    AlterProcedure, CreateProcedure, DropProcedures, Language, RoutineChange, RoutineKind, RoutineName,
};
use crate::schema::{RelationName, full, undefined_schema};
use crate::table_lock::Mode;
use crate::types::type_name;
use crate::{SqlError, state};
use hotrow_storage::Type;
use hotrow_sync::Arc;

impl Ddl<'_> {
    /// Runs CREATE [OR REPLACE] PROCEDURE or FUNCTION. Binds the body, so that everything that it names must exist. The
    /// body of a PL/pgSQL function is bound only when the function is called, and so are all bodies if
    /// `check_function_bodies` is off.
    pub(crate) fn create_procedure(&mut self, create: &CreateProcedure) -> Result<&'static str, Fail> {
        self.check_memory()?;
        let name = self.lasting_place(&create.name)?;
        if is_temporary(&name) {
            return Err(unsupported("a function in the schema of temporary relations").into());
        }
        self.lock(&lock_of(&name), Mode::Exclusive)?;
        for argument in &create.arguments {
            let Declared { ty, domain } = self.view().declared_type(&argument.ty)?;
            self.keep_type(ty)?;
            self.keep_domain(domain)?;
            argument.default.iter().try_for_each(|default| self.keep_mentioned(&**default))?;
        }
        let arguments = define_arguments(&create.arguments, self.view())?;
        let function = match &create.function {
            Some(written) => {
                let draft = define_function(written, &arguments, self.view())?;
                self.keep_domain(draft.domain)?;
                match &draft.returns {
                    Returns::Value(ty) => self.keep_type(*ty)?,
                    // Locked below, so that no other transaction changes the relation before the function is defined.
                    Returns::RowOf(name) if is_temporary(name) => {
                        return Err(needs_temporary("a function").into());
                    }
                    Returns::RowOf(name) => {
                        self.lock(name, Mode::Shared)?;
                    }
                    Returns::Outputs | Returns::Nothing | Returns::Trigger => {}
                }
                Some(define_function(written, &arguments, self.view())?)
            }
            None => None,
        };
        let is_trigger = function.as_ref().is_some_and(|function| function.returns == Returns::Trigger);
        if is_trigger && create.language == Language::Sql {
            let message = "SQL functions cannot return type trigger";
            return Err(SqlError::new(state::INVALID_FUNCTION_DEFINITION, message).into());
        }
        let procedure = Arc::new(Procedure::new(name, create, arguments, function, self.view().styles));
        let known = self.view().procedure(&procedure.key);
        if let Some(known) = &known {
            check_replaced(known, &procedure, create.replace)?;
        }
        let procedure = match known.and_then(|known| known.comment.clone()) {
            Some(comment) => Arc::new(procedure.commented(Some(comment))),
            None => procedure,
        };
        check_returns(&procedure)?;
        let is_checked = self.context.settings.borrow().checks_bodies();
        // A body may call itself.
        self.context.transaction.changes.procedures.insert(procedure.key.clone(), Some(procedure.clone()));
        if is_checked && (procedure.function.is_none() || procedure.language == Language::Sql) {
            compile_new(&procedure, self.view())?;
        }
        Ok(create.tag())
    }

    /// Runs DROP PROCEDURE, DROP FUNCTION or DROP ROUTINE. A body that calls a dropped routine stays, and fails when it
    /// is called.
    pub(crate) fn drop_procedures(&mut self, drop: &DropProcedures) -> Result<&'static str, Fail> {
        for routine in &drop.procedures {
            match self.locked_routine(drop.kind, routine) {
                Ok(known) => self.drop_routine(&known, drop.cascade)?,
                Err(Fail::Sql(error)) if drop.if_exists && is_missing(&error) => {
                    let shown = match error.state {
                        state::UNDEFINED_FUNCTION => undefined(drop.kind, &routine.name, Some(&self.types(routine)?)),
                        _ => error,
                    };
                    self.notice(state::SUCCESSFUL_COMPLETION, format!("{}, skipping", shown.message));
                }
                Err(fail) => return Err(fail),
            }
        }
        Ok(drop.tag())
    }

    /// Drops a procedure or function. With `cascade`, also drops the triggers that run it, and the views and defaults
    /// that call it.
    ///
    /// # Errors
    /// 2BP01 if there are any of these and `cascade` is not set.
    pub(super) fn drop_routine(&mut self, known: &Procedure, cascade: bool) -> Result<(), Fail> {
        self.lock(&lock_of(&known.name), Mode::Exclusive)?;
        self.drop_triggers_of(known, cascade)?;
        let callers = self.views_that_call(&known.key);
        let columns = self.columns_that_call(&known.key);
        let is_used = !callers.is_empty() || !columns.is_empty();
        if is_used && !cascade {
            let subject = format!("function {}", known.identity());
            let mut details: Vec<_> =
                callers.iter().map(|view| format!("{} depends on {subject}", self.written_view(view))).collect();
            details.extend(columns.iter().map(|column| format!("{} depends on {subject}", self.of_default(column))));
            let message = format!("cannot drop {subject} because other objects depend on it");
            return Err(SqlError::new(state::DEPENDENT_OBJECTS_STILL_EXIST, message)
                .detail(details.join("\n"))
                .hint("Use DROP ... CASCADE to drop the dependent objects too.")
                .into());
        }
        for view in &callers {
            self.drop_views_of(&view.name, "view", &[], true)?;
        }
        if !callers.is_empty() {
            self.drop_dependents(&callers)?;
        }
        for column in &columns {
            let message = format!("drop cascades to {}", self.of_default(column));
            self.notice(state::SUCCESSFUL_COMPLETION, message);
            let table = self.owned_table(&column.0)?;
            let mut rules = table.rules.clone();
            rules.defaults[column.1] = None;
            self.publish(table.with(table.schema.clone(), rules));
        }
        self.context.transaction.changes.procedures.insert(known.key.clone(), None);
        Ok(())
    }

    fn views_that_call(&self, key: &str) -> Vec<Arc<StoredView>> {
        self.view().stored_queries().into_iter().filter(|view| view.calls(key)).collect()
    }

    /// Returns the columns whose defaults call the function of this key: the full name of the table, and the position.
    fn columns_that_call(&self, key: &str) -> Vec<(String, usize)> {
        let calls = |default: &Option<DefaultValue>| default.as_ref().is_some_and(|default| default.calls(key));
        let mut columns = Vec::new();
        for table in self.view().tables() {
            let defaults = table.rules.defaults.iter().enumerate().filter(|(_, default)| calls(default));
            columns.extend(defaults.map(|(at, _)| (table.name().to_owned(), at)));
        }
        columns
    }

    /// Returns the name that messages give to the default of a column.
    fn of_default(&self, (table, at): &(String, usize)) -> String {
        let known = self.view().table(table);
        let column = known.and_then(|table| table.schema.columns.get(*at).map(|column| column.name.clone()));
        format!("default value for column {} of table {}", column.unwrap_or_default(), self.view().written(table))
    }

    /// Locks the functions that a new default calls, so that no other transaction drops them before the default is
    /// defined.
    ///
    /// # Errors
    /// 42883 if one of them no longer exists.
    pub(super) fn lock_functions(&mut self, default: &DefaultValue) -> Result<(), Fail> {
        let functions = default.calling().map(|(written, _)| &written.functions[..]).unwrap_or_default();
        for (name, keys) in functions {
            for key in keys {
                self.lock(&lock_of(name_in(key)), Mode::Shared)?;
                if self.view().procedure(key).is_none() {
                    return Err(undefined(RoutineKind::Function, name, None).into());
                }
            }
        }
        Ok(())
    }

    /// Returns the procedures and functions of a schema, ordered by their keys.
    pub(super) fn routines_in(&self, schema: &str) -> Vec<Arc<Procedure>> {
        let mut all = self.view().procedures();
        all.retain(|known| known.schema_name() == schema);
        all.sort_by(|one, other| one.key.cmp(&other.key));
        all
    }
}

impl Ddl<'_> {
    /// Returns the types of arguments by which a statement names a procedure or function. The list is empty if the
    /// statement has none.
    fn types(&self, routine: &RoutineName) -> Result<Vec<Type>, SqlError> {
        argument_types(routine.types.as_deref().unwrap_or_default(), self.view())
    }

    /// Returns the procedure or function that a statement names.
    ///
    /// # Errors
    /// 3F000 if there is no such schema, 42883 if there is no such procedure or function, 42725 if there are several
    /// and the statement lists no types, 42809 if it is of another kind than `kind`.
    pub(super) fn known_routine(&self, kind: RoutineKind, routine: &RoutineName) -> Result<Arc<Procedure>, SqlError> {
        let RoutineName { name, types } = routine;
        let view = self.view();
        view.check_database(name)?;
        if let Some(schema) = name.schema.as_deref().filter(|schema| !view.knows_schema(schema)) {
            return Err(undefined_schema(schema));
        }
        let mut found = view.visible_routines(name);
        let is_of_kind = |known: &Procedure| kind == RoutineKind::Routine || known.word() == kind.word();
        let Some(types) = types.as_ref().map(|_| self.types(routine)).transpose()? else {
            found.retain(|known| is_of_kind(known));
            return match &found[..] {
                [] => Err(undefined(kind, name, None)),
                [only] => Ok(only.clone()),
                _ => {
                    let word = kind.word();
                    let message = format!("{word} name \"{name}\" is not unique");
                    let hint = format!("Specify the argument list to select the {word} unambiguously.");
                    Err(SqlError::new(state::AMBIGUOUS_FUNCTION, message).hint(hint))
                }
            };
        };
        found.retain(|known| key(&known.name, types.iter().copied()) == known.key);
        let known = found.into_iter().next().ok_or_else(|| undefined(kind, name, Some(&types)))?;
        if is_of_kind(&known) {
            return Ok(known);
        }
        let message = format!("{} is not a {}", known.signature(), kind.word());
        Err(SqlError::new(state::WRONG_OBJECT_TYPE, message))
    }

    /// Locks the procedure or function that a statement names, and returns it. Fails as
    /// [`known_routine`](Self::known_routine) does.
    fn locked_routine(&mut self, kind: RoutineKind, routine: &RoutineName) -> Result<Arc<Procedure>, Fail> {
        loop {
            let known = self.known_routine(kind, routine)?;
            self.lock(&lock_of(&known.name), Mode::Exclusive)?;
            // It may have changed while we waited.
            let now = self.known_routine(kind, routine)?;
            if now.name == known.name {
                return Ok(now);
            }
        }
    }

    /// Runs COMMENT ON FUNCTION, PROCEDURE or ROUTINE. Cached plans that call the routine become out of date.
    pub(super) fn comment_routine(
        &mut self,
        kind: RoutineKind,
        routine: &RoutineName,
        text: Option<&str>,
    ) -> Result<(), Fail> {
        let known = self.locked_routine(kind, routine)?;
        let commented = Arc::new(known.commented(text.map(str::to_owned)));
        self.context.transaction.changes.procedures.insert(known.key.clone(), Some(commented));
        Ok(())
    }

    /// Runs ALTER FUNCTION, ALTER PROCEDURE or ALTER ROUTINE.
    pub(super) fn alter_procedure(&mut self, alter: &AlterProcedure) -> Result<(), Fail> {
        let AlterProcedure { kind, routine, change } = alter;
        let known = self.locked_routine(*kind, routine)?;
        match change {
            RoutineChange::Owner(role) => Ok(self.check_owner(role)?),
            RoutineChange::SetSchema(schema) => {
                let place = self.lasting_place(&RelationName::within(schema, known.plain_name()))?;
                if is_temporary(&place) {
                    return Err(unsupported("a function in the schema of temporary relations").into());
                }
                if place == known.name { Ok(()) } else { self.move_routine(&known, &place) }
            }
            RoutineChange::SetPath(path) => {
                let changed = Arc::new(known.with_path(path.clone()));
                self.context.transaction.changes.procedures.insert(known.key.clone(), Some(changed));
                Ok(())
            }
            RoutineChange::Rename(new) => self.move_routine(&known, &full(known.schema_name(), new)),
        }
    }

    /// Drops the functions that return rows of a relation which is being dropped.
    ///
    /// # Errors
    /// 2BP01 if there are any and `cascade` is not set.
    pub(super) fn drop_functions_of(&mut self, relation: &str, kind: &str, cascade: bool) -> Result<(), Fail> {
        for function in self.locked_functions_of(relation)? {
            if !cascade {
                let name = self.view().written(relation);
                let message = format!("cannot drop {kind} {name} because other objects depend on it");
                return Err(SqlError::new(state::DEPENDENT_OBJECTS_STILL_EXIST, message)
                    .detail(format!("function {} depends on type {name}", function.identity()))
                    .hint("Use DROP ... CASCADE to drop the dependent objects too.")
                    .into());
            }
            self.context.transaction.changes.procedures.insert(function.key.clone(), None);
            let message = format!("drop cascades to function {}", function.identity());
            self.notice(state::SUCCESSFUL_COMPLETION, message);
        }
        Ok(())
    }

    /// Puts the new name of a relation into the functions that return rows of it.
    pub(super) fn rename_in_functions(&mut self, relation: &str, new: &str) -> Result<(), Fail> {
        for function in self.locked_functions_of(relation)? {
            let renamed = Arc::new(function.with_row_of(new));
            self.context.transaction.changes.procedures.insert(function.key.clone(), Some(renamed));
        }
        Ok(())
    }

    /// Locks the functions that return rows of a relation. Returns them as they are under the locks, ordered by their
    /// keys.
    fn locked_functions_of(&mut self, relation: &str) -> Result<Vec<Arc<Procedure>>, Fail> {
        let names = |functions: &[Arc<Procedure>]| functions.iter().map(|known| known.name.clone()).collect::<Vec<_>>();
        let mut functions = self.functions_of(relation);
        loop {
            let locked = names(&functions);
            for name in &locked {
                self.lock(&lock_of(name), Mode::Exclusive)?;
            }
            // They may have changed while we waited.
            functions = self.functions_of(relation);
            if names(&functions) == locked {
                return Ok(functions);
            }
        }
    }

    /// Returns the functions that return rows of a relation, ordered by their keys.
    fn functions_of(&self, relation: &str) -> Vec<Arc<Procedure>> {
        let returns = |function: &FunctionTraits| matches!(&function.returns, Returns::RowOf(of) if **of == *relation);
        let mut functions = self.view().procedures();
        functions.retain(|known| known.function.as_ref().is_some_and(returns));
        functions.sort_by(|one, other| one.key.cmp(&other.key));
        functions
    }

    /// Changes the full name of a procedure or function. Triggers, views and defaults that use it follow. Bodies do
    /// not: the old name in them no longer means this routine.
    pub(super) fn move_routine(&mut self, known: &Procedure, new: &str) -> Result<(), Fail> {
        self.lock(&lock_of(&known.name), Mode::Exclusive)?;
        self.lock(&lock_of(new), Mode::Exclusive)?;
        let moved = Arc::new(known.renamed(new));
        if self.view().procedure(&moved.key).is_some() {
            let schema = moved.schema_name();
            let (name, types) = (moved.plain_name(), moved.input_types(", "));
            let message = format!("{} {name}({types}) already exists in schema \"{schema}\"", known.word());
            return Err(SqlError::new(state::DUPLICATE_FUNCTION, message).into());
        }
        self.move_in_triggers(known, new)?;
        for view in self.views_that_call(&known.key) {
            let Some(view) = self.owned_query(&view.name)? else { continue };
            let mut changed = (*view).clone();
            let keys = changed.names.functions.iter_mut().flat_map(|(_, keys)| keys);
            keys.filter(|key| **key == known.key).for_each(|key| key.clone_from(&moved.key));
            self.replace_query(changed);
        }
        for (table, at) in self.columns_that_call(&known.key) {
            let table = self.owned_table(&table)?;
            let mut rules = table.rules.clone();
            if let Some(DefaultValue { source: DefaultSource::Written(written, _), .. }) = &mut rules.defaults[at] {
                let keys = written.functions.iter_mut().flat_map(|(_, keys)| keys);
                keys.filter(|key| **key == known.key).for_each(|key| key.clone_from(&moved.key));
            }
            self.publish(table.with(table.schema.clone(), rules));
        }
        let procedures = &mut self.context.transaction.changes.procedures;
        procedures.insert(known.key.clone(), None);
        procedures.insert(moved.key.clone(), Some(moved));
        Ok(())
    }
}

/// Whether an error says that the object to be dropped does not exist.
fn is_missing(error: &SqlError) -> bool {
    [state::UNDEFINED_FUNCTION, state::INVALID_SCHEMA_NAME].contains(&error.state)
}

/// Returns the error 42883 for a procedure or function that does not exist.
fn undefined(kind: RoutineKind, name: &RelationName, types: Option<&[Type]>) -> SqlError {
    let word = kind.word();
    let message = match types {
        Some(types) => {
            let shown: Vec<_> = types.iter().map(|ty| type_name(Some(*ty))).collect();
            format!("{word} {name}({}) does not exist", shown.join(", "))
        }
        None => format!("could not find a {word} named \"{name}\""),
    };
    SqlError::new(state::UNDEFINED_FUNCTION, message)
}

/// Checks that `new` may replace `known`, which has the same name and the same types of arguments.
///
/// # Errors
/// 42723 if the statement does not say OR REPLACE, 42809 if one is a procedure and the other a function, 42P13 if the
/// arguments or the result differ in a way that callers would notice.
fn check_replaced(known: &Procedure, new: &Procedure, replace: bool) -> Result<(), SqlError> {
    let outputs = |procedure: &Procedure| {
        let output = |(_, output): (usize, &Argument)| (output.name.clone(), output.ty, output.domain);
        // The name of a single one is no part of the result.
        Some(procedure.outputs().map(output).collect::<Vec<_>>()).filter(|outputs| outputs.len() > 1)
    };
    let returns = |procedure: &Procedure| {
        procedure.function.as_ref().map(|function| (function.returns.clone(), function.domain, function.is_set))
    };
    if !replace {
        let message = format!("function \"{}\" already exists with same argument types", new.plain_name());
        return Err(SqlError::new(state::DUPLICATE_FUNCTION, message));
    }
    if known.word() != new.word() {
        let message = "cannot change routine kind";
        let detail = format!("\"{}\" is a {}.", known.plain_name(), known.word());
        return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message).detail(detail));
    }
    let hint = format!("Use DROP {} {} first.", new.word().to_uppercase(), known.identity());
    if known.inputs().zip(new.inputs()).any(|(known, new)| known.default.is_some() && new.default.is_none()) {
        let message = "cannot remove parameter defaults from existing function";
        return Err(SqlError::new(state::INVALID_FUNCTION_DEFINITION, message).hint(hint));
    }
    let named = known.inputs().zip(new.inputs()).filter_map(|(known, new)| Some((known.name.as_ref()?, new)));
    if let Some((name, _)) = named.into_iter().find(|(name, new)| new.name.as_ref() != Some(*name)) {
        let message = format!("cannot change name of input parameter \"{name}\"");
        return Err(SqlError::new(state::INVALID_FUNCTION_DEFINITION, message).hint(hint));
    }
    if returns(known) != returns(new) || outputs(known) != outputs(new) {
        let message = "cannot change return type of existing function";
        return Err(SqlError::new(state::INVALID_FUNCTION_DEFINITION, message).hint(hint));
    }
    Ok(())
}
