//! CREATE and DROP of procedures and functions.

use super::Fail;
use super::ddl::Ddl;
use super::temporary::needs_temporary;
use crate::bind::{argument_types, check_returns, compile_new, define_arguments, define_function};
use crate::catalog::is_temporary;
use crate::catalog::procedure::{Argument, FunctionTraits, Procedure, Returns, numbered};
use crate::error::unsupported;
use crate::parse::procedure::{AlterProcedure, CreateProcedure, DropProcedures, Language, RoutineChange, RoutineKind};
use crate::table_lock::Mode;
use crate::types::type_name;
use crate::{SqlError, state};
use hotrow_storage::Type;
use hotrow_sync::Arc;
use sqlparser::ast;

impl Ddl<'_> {
    /// Runs CREATE [OR REPLACE] PROCEDURE or FUNCTION. Everything that the body names must exist, unless it is that of
    /// a function in PL/pgSQL, or `check_function_bodies` is off: then the body is bound when it is called.
    pub(crate) fn create_procedure(&mut self, create: &CreateProcedure) -> Result<&'static str, Fail> {
        self.check_memory()?;
        let lock = numbered(&create.name);
        self.lock(&lock, Mode::Exclusive)?;
        for argument in &create.arguments {
            let ty = self.view().data_type(&argument.ty)?;
            self.keep_type(ty)?;
            argument.default.iter().try_for_each(|default| self.keep_mentioned(&**default))?;
        }
        let arguments = define_arguments(&create.arguments, self.view())?;
        let function = match &create.function {
            Some(written) => {
                let draft = define_function(written, &arguments, self.view())?;
                match &draft.returns {
                    Returns::Value(ty) => self.keep_type(*ty)?,
                    // Nobody else changes the relation before the function is there.
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
        let procedure = Arc::new(Procedure::new(create, arguments, function, self.view().styles));
        let known = self.view().procedure(&create.name);
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
        self.context.transaction.changes.procedures.insert(create.name.clone(), Some(procedure.clone()));
        if is_checked && (procedure.function.is_none() || procedure.language == Language::Sql) {
            compile_new(&procedure, self.view())?;
        }
        Ok(create.tag())
    }

    /// Runs DROP PROCEDURE, DROP FUNCTION or DROP ROUTINE. A body that calls a dropped one fails when it does so.
    pub(crate) fn drop_procedures(&mut self, drop: &DropProcedures) -> Result<&'static str, Fail> {
        for (name, types) in &drop.procedures {
            let types = types.as_ref().map(|types| argument_types(types, self.view())).transpose()?;
            self.lock(&numbered(name), Mode::Exclusive)?;
            if let Some(known) = self.named_procedure(drop.kind, name, types.as_deref())? {
                self.drop_triggers_of(&known, drop.cascade)?;
                self.context.transaction.changes.procedures.insert(name.clone(), None);
                continue;
            }
            if drop.if_exists {
                let error = undefined(drop.kind, name, Some(types.as_deref().unwrap_or_default()));
                self.notice(state::SUCCESSFUL_COMPLETION, format!("{}, skipping", error.message));
                continue;
            }
            return Err(undefined(drop.kind, name, types.as_deref()).into());
        }
        Ok(drop.tag())
    }
}

impl Ddl<'_> {
    /// Returns the procedure or function of this name whose arguments that go in have these types, or `None` if there
    /// is none.
    ///
    /// # Errors
    /// If it is of another kind: 42809, or 42883 if no types are given.
    fn named_procedure(
        &self,
        kind: RoutineKind,
        name: &str,
        types: Option<&[Type]>,
    ) -> Result<Option<Arc<Procedure>>, SqlError> {
        let fits = |known: &Arc<Procedure>| {
            types.is_none_or(|types| known.inputs().map(|argument| argument.ty).eq(types.iter().copied()))
        };
        let Some(known) = self.view().procedure(name).filter(fits) else { return Ok(None) };
        if kind == RoutineKind::Routine || known.word() == kind.word() {
            return Ok(Some(known));
        }
        if types.is_none() {
            return Err(undefined(kind, name, None));
        }
        let message = format!("{} is not a {}", known.signature(), kind.word());
        Err(SqlError::new(state::WRONG_OBJECT_TYPE, message))
    }

    /// Locks the procedure or function that a statement names, and returns it.
    fn locked_procedure(
        &mut self,
        kind: RoutineKind,
        name: &str,
        types: Option<&[ast::DataType]>,
    ) -> Result<Arc<Procedure>, Fail> {
        self.lock(&numbered(name), Mode::Exclusive)?;
        let types = types.map(|types| argument_types(types, self.view())).transpose()?;
        let known = self.named_procedure(kind, name, types.as_deref())?;
        Ok(known.ok_or_else(|| undefined(kind, name, types.as_deref()))?)
    }

    /// Runs COMMENT ON FUNCTION, PROCEDURE or ROUTINE. Calls that are planned are planned anew.
    pub(super) fn comment_routine(
        &mut self,
        kind: RoutineKind,
        name: &str,
        types: Option<&[ast::DataType]>,
        text: Option<&str>,
    ) -> Result<(), Fail> {
        let known = self.locked_procedure(kind, name, types)?;
        let commented = Arc::new(known.commented(text.map(str::to_owned)));
        self.context.transaction.changes.procedures.insert(known.name.clone(), Some(commented));
        Ok(())
    }

    /// Runs ALTER FUNCTION, ALTER PROCEDURE or ALTER ROUTINE.
    pub(super) fn alter_procedure(&mut self, alter: &AlterProcedure) -> Result<(), Fail> {
        let AlterProcedure { kind, name, types, change } = alter;
        let known = self.locked_procedure(*kind, name, types.as_deref())?;
        match change {
            RoutineChange::Owner(role) => Ok(self.check_owner(role)?),
            RoutineChange::SetSchema(schema) if schema == "public" => Ok(()),
            RoutineChange::SetSchema(_) => Err(unsupported("a procedure outside schema public").into()),
            RoutineChange::Rename(new) => self.rename_procedure(&known, new),
        }
    }

    /// Drops the functions whose result is rows of a relation that is dropped. Fails if there are any and `cascade` is
    /// not set.
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
            self.context.transaction.changes.procedures.insert(function.name.clone(), None);
            let message = format!("drop cascades to function {}", function.identity());
            self.notice(state::SUCCESSFUL_COMPLETION, message);
        }
        Ok(())
    }

    /// Gives the functions whose result is rows of a relation the relation's new name.
    pub(super) fn rename_in_functions(&mut self, relation: &str, new: &str) -> Result<(), Fail> {
        for function in self.locked_functions_of(relation)? {
            let renamed = Arc::new(function.with_row_of(new));
            self.context.transaction.changes.procedures.insert(function.name.clone(), Some(renamed));
        }
        Ok(())
    }

    /// Locks the functions whose result is rows of a relation. Returns them as they are then, ordered by name.
    fn locked_functions_of(&mut self, relation: &str) -> Result<Vec<Arc<Procedure>>, Fail> {
        let names = |functions: &[Arc<Procedure>]| functions.iter().map(|known| known.name.clone()).collect::<Vec<_>>();
        let mut functions = self.functions_of(relation);
        loop {
            let locked = names(&functions);
            for name in &locked {
                self.lock(&numbered(name), Mode::Exclusive)?;
            }
            // They may have changed while we waited.
            functions = self.functions_of(relation);
            if names(&functions) == locked {
                return Ok(functions);
            }
        }
    }

    /// Returns the functions whose result is rows of a relation, ordered by name.
    fn functions_of(&self, relation: &str) -> Vec<Arc<Procedure>> {
        let returns = |function: &FunctionTraits| matches!(&function.returns, Returns::RowOf(of) if **of == *relation);
        let mut functions = self.view().procedures();
        functions.retain(|known| known.function.as_ref().is_some_and(returns));
        functions.sort_by(|one, other| one.name.cmp(&other.name));
        functions
    }

    /// Gives a procedure or function another name. Bodies that call it mean the old name.
    fn rename_procedure(&mut self, known: &Procedure, new: &str) -> Result<(), Fail> {
        self.lock(&numbered(new), Mode::Exclusive)?;
        if self.view().procedure(new).is_some() {
            let message = format!("function \"{new}\" already exists");
            return Err(SqlError::new(state::DUPLICATE_FUNCTION, message).into());
        }
        if known.function.as_ref().is_some_and(|function| function.returns == Returns::Trigger) {
            return Err(unsupported("another name of a trigger's function").into());
        }
        let procedures = &mut self.context.transaction.changes.procedures;
        procedures.insert(known.name.clone(), None);
        procedures.insert(new.to_owned(), Some(Arc::new(known.renamed(new))));
        Ok(())
    }
}

/// Returns the error for a procedure or function that does not exist.
fn undefined(kind: RoutineKind, name: &str, types: Option<&[Type]>) -> SqlError {
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

/// Checks that a procedure or function may take the place of one of its name.
fn check_replaced(known: &Procedure, new: &Procedure, replace: bool) -> Result<(), SqlError> {
    let types = |procedure: &Procedure| procedure.inputs().map(|a| a.ty).collect::<Vec<_>>();
    let outputs = |procedure: &Procedure| {
        let output = |(_, output): (usize, &Argument)| (output.name.clone(), output.ty);
        // The name of a single one is no part of the result.
        Some(procedure.outputs().map(output).collect::<Vec<_>>()).filter(|outputs| outputs.len() > 1)
    };
    let returns =
        |procedure: &Procedure| procedure.function.as_ref().map(|function| (function.returns.clone(), function.is_set));
    let word = new.word();
    let taken = || SqlError::new(state::DUPLICATE_FUNCTION, format!("{word} \"{}\" already exists", new.name));
    if !replace {
        if types(known) == types(new) {
            let message = format!("function \"{}\" already exists with same argument types", new.name);
            return Err(SqlError::new(state::DUPLICATE_FUNCTION, message));
        }
        let kind = if known.word() == word { String::new() } else { format!(" {}", known.word()) };
        return Err(taken().detail(format!("It is{kind} {}. There are no two of one name.", known.signature())));
    }
    let drops = format!("use DROP {} first.", known.word().to_uppercase());
    if known.word() != word {
        let message = "cannot change routine kind";
        let detail = format!("\"{}\" is a {}.", known.name, known.word());
        return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message).detail(detail));
    }
    if types(known) != types(new) {
        let hint = format!("A {word} is replaced by one with the same arguments; {drops}");
        return Err(taken().detail(format!("It is {}.", known.signature())).hint(hint));
    }
    let hint = format!("Use DROP {} {} first.", word.to_uppercase(), known.identity());
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
