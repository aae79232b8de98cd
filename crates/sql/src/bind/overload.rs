//! Overload resolution for calls of names that users' procedures and functions have.
//!
//! The candidates are the procedures and functions of users that the name may mean, and the built-in functions of the
//! name unless the call writes a schema. Of two whose arguments have the same types, one hides the other if its schema
//! comes first in the search path. `pg_catalog`, the schema of the built-in functions, comes before all others unless
//! the search path lists it.

use super::binder::Binder;
use super::errors::ambiguous_function;
use super::typed::Typed;
use crate::catalog::procedure::{Argument, Procedure};
use crate::expr::{Candidate, Choice, Overload, choose_among, overloads};
use crate::parse::procedure::ArgumentMode;
use crate::types::type_name;
use crate::{SqlError, state};
use hotrow_storage::Type;
use hotrow_sync::Arc;

/// The schema of the built-in functions.
const BUILT_IN: &str = "pg_catalog";

/// The procedure or function that overload resolution has chosen for a call.
pub(super) enum Chosen {
    /// A procedure or function of a user.
    User(UserChoice),
    /// A built-in function, and the types to which the arguments are cast.
    BuiltIn(Overload, Vec<Type>),
}

/// A user's procedure or function that fits a call, with the arguments to which the call's values go.
pub(super) struct UserChoice {
    pub(super) procedure: Arc<Procedure>,
    /// For each value that the call gives, the position of its argument.
    pub(super) places: Vec<usize>,
    /// For each value that the call gives, the type of its argument.
    types: Vec<Type>,
}

/// A candidate of overload resolution.
enum Callable {
    User(UserChoice),
    BuiltIn(Overload),
}

impl Callable {
    fn schema(&self) -> &str {
        match self {
            Callable::User(choice) => choice.procedure.schema_name(),
            Callable::BuiltIn(_) => BUILT_IN,
        }
    }
}

impl Candidate for Callable {
    fn arguments(&self) -> &[Type] {
        match self {
            Callable::User(choice) => &choice.types,
            Callable::BuiltIn(overload) => overload.arguments(),
        }
    }
}

impl Binder<'_> {
    /// Chooses the procedure or function for a call. `users` are those of users that the name may mean, in the order of
    /// the search path. `word` is `procedure` or `function`, for messages.
    ///
    /// # Errors
    /// 42883 if none fits, 42725 if several fit equally well.
    pub(super) fn chosen(
        &self,
        word: &str,
        users: Vec<Arc<Procedure>>,
        parts: &[String],
        given: &[(Option<String>, Typed)],
    ) -> Result<Chosen, SqlError> {
        let types: Vec<_> = given.iter().map(|(_, typed)| typed.ty).collect();
        let only = match &users[..] {
            [only] => Some(only.clone()),
            _ => None,
        };
        let mut candidates: Vec<_> =
            users.into_iter().filter_map(|known| fit(known, given)).map(Callable::User).collect();
        if let [name] = parts
            && given.iter().all(|(label, _)| label.is_none())
        {
            let built_in: Vec<_> = overloads(name).into_iter().map(Callable::BuiltIn).collect();
            let at = self.place_of_built_in(&candidates);
            candidates.splice(at..at, built_in);
        }
        let mut visible: Vec<Callable> = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            let hides =
                |known: &Callable| known.schema() != candidate.schema() && known.arguments() == candidate.arguments();
            if !visible.iter().any(hides) {
                visible.push(candidate);
            }
        }
        match choose_among(visible, &types) {
            Choice::One(Callable::User(choice), _) => Ok(Chosen::User(choice)),
            Choice::One(Callable::BuiltIn(overload), wanted) => Ok(Chosen::BuiltIn(overload, wanted)),
            Choice::None => Err(no_procedure(word, &parts.join("."), &types, only.as_deref())),
            Choice::Ambiguous => Err(ambiguous_function(&parts.join("."), &types)),
        }
    }

    /// Returns the place at which the built-in functions belong among the candidates, which are in the order of the
    /// search path.
    fn place_of_built_in(&self, candidates: &[Callable]) -> usize {
        let Some(path) = self.view.path else { return 0 };
        let place = |schema: &str| path.schemas.iter().position(|known| known == schema);
        let Some(own) = place(BUILT_IN) else { return 0 };
        candidates.iter().take_while(|known| place(known.schema()).is_some_and(|before| before < own)).count()
    }
}

/// Assigns the values of a call to the arguments of a procedure or function. Returns `None` if they do not fit: no
/// argument has the name that the call writes, an argument is given twice, a value without a name follows a named one,
/// there are too many values, or an argument has neither a value nor a default. The types are compared later.
fn fit(procedure: Arc<Procedure>, given: &[(Option<String>, Typed)]) -> Option<UserChoice> {
    let all = procedure.arguments.iter().enumerate();
    let taken: Vec<usize> = all.filter(|(_, argument)| procedure.is_given(argument)).map(|(at, _)| at).collect();
    let (mut places, mut types, mut named) = (Vec::with_capacity(given.len()), Vec::with_capacity(given.len()), false);
    for (at, (label, typed)) in given.iter().enumerate() {
        let place = match label {
            Some(label) => {
                named = true;
                taken.iter().copied().find(|&at| procedure.arguments[at].name.as_ref() == Some(label))?
            }
            None if named => return None,
            None => *taken.get(at)?,
        };
        if places.contains(&place) {
            return None;
        }
        let argument = &procedure.arguments[place];
        places.push(place);
        // What is given for an argument that only comes out may be of any type.
        types.push(match argument.mode.goes_in() {
            true => argument.ty,
            false => typed.ty.unwrap_or(argument.ty),
        });
    }
    let is_missing = |&at: &usize| !places.contains(&at) && procedure.arguments[at].default.is_none();
    if taken.iter().any(is_missing) {
        return None;
    }
    Some(UserChoice { procedure, places, types })
}

/// Makes the error 42883 for a call that no procedure or function fits. `known` is the only one of the name, if there
/// is just one; the detail shows its arguments.
fn no_procedure(word: &str, name: &str, types: &[Option<Type>], known: Option<&Procedure>) -> SqlError {
    let message = format!("{word} {} does not exist", with_types(name, types));
    let hint =
        format!("No {word} matches the given name and argument types. You might need to add explicit type casts.");
    let error = SqlError::new(state::UNDEFINED_FUNCTION, message).hint(hint);
    match known {
        Some(procedure) => error.detail(format!("There is {}.", described(procedure))),
        None => error,
    }
}

/// Formats a name with the types of arguments: `pay(integer, numeric)`.
pub(super) fn with_types(name: &str, types: &[Option<Type>]) -> String {
    let types: Vec<_> = types.iter().map(|ty| type_name(*ty)).collect();
    format!("{name}({})", types.join(", "))
}

/// Formats a procedure for messages: `pay(customer integer, amount numeric, OUT balance numeric)`.
fn described(procedure: &Procedure) -> String {
    let show = |argument: &Argument| {
        let mode = match argument.mode {
            ArgumentMode::In => None,
            ArgumentMode::Out => Some("OUT"),
            ArgumentMode::InOut => Some("INOUT"),
            ArgumentMode::Table => Some("TABLE"),
        };
        let ty = type_name(Some(argument.ty));
        [mode, argument.name.as_deref(), Some(&ty)].into_iter().flatten().collect::<Vec<_>>().join(" ")
    };
    let arguments: Vec<_> = procedure.arguments.iter().map(show).collect();
    format!("{}({})", crate::schema::shown(&procedure.name), arguments.join(", "))
}
