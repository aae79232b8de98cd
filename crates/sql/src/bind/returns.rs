//! Checks of what a body returns.

use crate::catalog::procedure::{Procedure, Returns};
use crate::parse::body::StepKind;
use crate::parse::procedure::ArgumentMode;
use crate::types::type_name;
use crate::{SqlError, state};
use hotrow_storage::Type;

/// Checks the RETURN statements of a body that may be bound later.
pub fn check_returns(procedure: &Procedure) -> Result<(), SqlError> {
    let mut checked = Ok(());
    procedure.syntax.block.each_block(&mut |block| {
        block.each_step(&mut |step| {
            if let StepKind::Return(value) = &step.kind
                && checked.is_ok()
            {
                checked = check_return(procedure, value.is_some());
            }
        });
    });
    checked
}

/// Checks that a RETURN has a value if there is something to return, and none otherwise.
pub(super) fn check_return(procedure: &Procedure, has_value: bool) -> Result<(), SqlError> {
    let has_output = procedure.arguments.iter().any(|argument| argument.mode != ArgumentMode::In);
    let refused = |what: &str| {
        let message = format!("RETURN cannot have a parameter in {what}");
        Err(SqlError::new(state::DATATYPE_MISMATCH, message))
    };
    match procedure.function.map(|function| function.returns) {
        None if has_value => refused("a procedure"),
        Some(Returns::Nothing) if has_value => refused("function returning void"),
        Some(_) if has_value && has_output => refused("function with OUT parameters"),
        Some(Returns::Value(_) | Returns::Trigger) if !has_value && !has_output => {
            Err(SqlError::new(state::SYNTAX_ERROR, "missing expression at or near \";\""))
        }
        _ => Ok(()),
    }
}

/// Returns the error for a function in SQL whose last statement does not give its result.
pub(super) fn mismatch(ty: Type, detail: &str) -> SqlError {
    let message = format!("return type mismatch in function declared to return {}", type_name(Some(ty)));
    SqlError::new(state::INVALID_FUNCTION_DEFINITION, message).detail(detail)
}
