//! Errors that are used for several kinds of expressions and statements.

use crate::types::type_name;
use crate::{SqlError, state};
use hotrow_storage::Type;

/// Makes the error 42883 for a function that does not exist for arguments of these types.
pub(super) fn no_function(name: &str, types: &[Option<Type>]) -> SqlError {
    let types: Vec<_> = types.iter().map(|ty| type_name(*ty)).collect();
    SqlError::new(state::UNDEFINED_FUNCTION, format!("function {name}({}) does not exist", types.join(", ")))
        .hint("No function matches the given name and argument types. You might need to add explicit type casts.")
}

/// Makes the error 42725 for a call with arguments of these types that several functions fit equally well.
pub(super) fn ambiguous_function(name: &str, types: &[Option<Type>]) -> SqlError {
    let types: Vec<_> = types.iter().map(|ty| type_name(*ty)).collect();
    SqlError::new(state::AMBIGUOUS_FUNCTION, format!("function {name}({}) is not unique", types.join(", ")))
        .hint("Could not choose a best candidate function. You might need to add explicit type casts.")
}

const NO_OPERATOR_HINT: &str =
    "No operator matches the given name and argument types. You might need to add explicit type casts.";

/// Makes the error 42883 for a prefix operator that does not exist for an operand of this type.
pub(super) fn no_prefix_operator(symbol: &str, only: Option<Type>) -> SqlError {
    let message = format!("operator does not exist: {symbol} {}", type_name(only));
    SqlError::new(state::UNDEFINED_FUNCTION, message)
        .hint("No operator matches the given name and argument type. You might need to add an explicit type cast.")
}

/// Makes the error 42725 for an operator with operands of these types that several operators fit equally well.
pub(super) fn ambiguous_operator(symbol: &str, left: Option<Type>, right: Option<Type>) -> SqlError {
    let message = format!("operator is not unique: {} {symbol} {}", type_name(left), type_name(right));
    SqlError::new(state::AMBIGUOUS_FUNCTION, message)
        .hint("Could not choose a best candidate operator. You might need to add explicit type casts.")
}

/// Makes the error 42883 for an operator that does not exist for operands of these types.
pub(super) fn no_operator(symbol: &str, left: Option<Type>, right: Option<Type>) -> SqlError {
    let message = format!("operator does not exist: {} {symbol} {}", type_name(left), type_name(right));
    SqlError::new(state::UNDEFINED_FUNCTION, message).hint(NO_OPERATOR_HINT)
}
