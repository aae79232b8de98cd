//! CREATE PROCEDURE and DROP PROCEDURE.

use super::Fail;
use super::ddl::Ddl;
use crate::bind::{argument_types, check_recursion, compile_new, define_arguments};
use crate::catalog::procedure::Procedure;
use crate::parse::procedure::{CreateProcedure, DropProcedures};
use crate::table_lock::Mode;
use crate::types::type_name;
use crate::{SqlError, state};
use hotrow_sync::Arc;

impl Ddl<'_> {
    /// Runs CREATE [OR REPLACE] PROCEDURE. Everything that the body names must exist.
    pub(crate) fn create_procedure(&mut self, create: &CreateProcedure) -> Result<&'static str, Fail> {
        self.check_memory()?;
        let lock = procedure_lock(&create.name);
        self.lock(&lock, Mode::Exclusive)?;
        for argument in &create.arguments {
            let ty = self.view().data_type(&argument.ty)?;
            self.keep_type(ty)?;
            argument.default.iter().try_for_each(|default| self.keep_mentioned(&**default))?;
        }
        let arguments = define_arguments(&create.arguments, self.view())?;
        if let Some(known) = self.view().procedure(&create.name) {
            let types = |procedure: &Procedure| procedure.arguments.iter().map(|a| (a.mode, a.ty)).collect::<Vec<_>>();
            let given: Vec<_> = arguments.iter().map(|argument| (argument.mode, argument.ty)).collect();
            let same = types(&known) == given;
            if !create.replace || !same {
                let message = format!("procedure \"{}\" already exists", create.name);
                let error = SqlError::new(state::DUPLICATE_FUNCTION, message);
                return Err(match create.replace {
                    true => error
                        .detail(format!("It is {}.", known.signature()))
                        .hint("A procedure is replaced by one with the same arguments; use DROP PROCEDURE first."),
                    false => error.detail(format!("It is {}. There are no two of one name.", known.signature())),
                }
                .into());
            }
        }
        // Locks the procedures that the new one calls: otherwise two that call each other could be created at once.
        for name in check_recursion(&create.name, &create.body, self.view())? {
            self.lock(&procedure_lock(&name), Mode::Shared)?;
        }
        check_recursion(&create.name, &create.body, self.view())?;
        let procedure = Procedure::new(create, arguments, self.view().styles);
        compile_new(&procedure, self.view())?;
        self.context.transaction.changes.procedures.insert(create.name.clone(), Some(Arc::new(procedure)));
        Ok("CREATE PROCEDURE")
    }

    /// Runs DROP PROCEDURE. A procedure that calls a dropped one fails when it is called.
    pub(crate) fn drop_procedures(&mut self, drop: &DropProcedures) -> Result<&'static str, Fail> {
        for (name, types) in &drop.procedures {
            let types = types.as_ref().map(|types| argument_types(types, self.view())).transpose()?;
            self.lock(&procedure_lock(name), Mode::Exclusive)?;
            let matching = |known: &Arc<Procedure>| match &types {
                Some(types) => known.inputs().map(|argument| argument.ty).eq(types.iter().copied()),
                None => true,
            };
            if self.view().procedure(name).filter(matching).is_some() {
                self.context.transaction.changes.procedures.insert(name.clone(), None);
                continue;
            }
            let shown = match &types {
                Some(types) => types.iter().map(|ty| type_name(Some(*ty))).collect::<Vec<_>>().join(", "),
                None => String::new(),
            };
            if drop.if_exists {
                let message = format!("procedure {name}({shown}) does not exist, skipping");
                self.notice(state::SUCCESSFUL_COMPLETION, message);
                continue;
            }
            let message = match types {
                Some(_) => format!("procedure {name}({shown}) does not exist"),
                None => format!("could not find a procedure named \"{name}\""),
            };
            return Err(SqlError::new(state::UNDEFINED_FUNCTION, message).into());
        }
        Ok("DROP PROCEDURE")
    }
}

/// Returns the name of the lock on a procedure. No table has this name.
fn procedure_lock(name: &str) -> String {
    format!("{name}\0procedure")
}
