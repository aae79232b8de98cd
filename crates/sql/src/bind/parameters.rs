//! The values from outside the statement that expressions may name: parameters, and the variables of a procedure.

use super::enclosing::Enclosing;
use super::typed::Typed;
use super::variables::Variables;
use crate::expr::Expr;
use crate::types::DomainId;
use crate::{SqlError, state};
use hotrow_storage::Type;

/// The greatest number of a parameter.
const MAX_NUMBER: usize = 65_535;

/// The parameters of the statement that is bound, and the variables of the procedure to which it belongs.
#[derive(Debug)]
pub(super) struct Parameters<'a> {
    /// The types of the parameters. `None` for a parameter whose type is not declared and follows from no place yet.
    pub(super) types: Vec<Option<Type>>,
    /// The parameters whose types follow from places of a domain, each with the domain.
    pub(super) domains: Vec<(usize, DomainId)>,
    /// The variables of the procedure to which the statement belongs; `None` outside procedures.
    pub(super) variables: Option<&'a Variables>,
    /// The body to which the statement belongs, with the bodies around it; `None` in DO and outside bodies.
    pub(super) enclosing: Option<&'a Enclosing<'a>>,
    /// The distance to the farthest enclosing body to which the statement refers: 0 if it refers to none but its own
    /// body, 1 for the body around that, and so on.
    pub(super) outward: usize,
    /// The maximum [depth](crate::plan::Body::depth) of the bodies that the statement calls, without those around it.
    pub(super) inner_depth: usize,
}

impl Parameters<'_> {
    /// Makes the parameters of a statement outside procedures. `types` are the declared types.
    pub(super) fn declared(types: Vec<Option<Type>>) -> Self {
        Self { types, domains: Vec::new(), variables: None, enclosing: None, outward: 0, inner_depth: 0 }
    }

    /// Returns the position of the parameter `$name`, and its type if that is known.
    ///
    /// # Errors
    ///
    /// 42P02 if there can be no such parameter.
    pub(super) fn find(&mut self, name: &str) -> Result<(usize, Option<Type>), SqlError> {
        let number = name.strip_prefix('$').and_then(|digits| digits.parse::<usize>().ok());
        let known = |number: &usize| self.variables.is_none_or(|variables| variables.has_argument(*number));
        let Some(number) = number.filter(|number| (1..=MAX_NUMBER).contains(number)).filter(known) else {
            return Err(SqlError::new(state::UNDEFINED_PARAMETER, format!("there is no parameter {name}")));
        };
        if self.types.len() < number {
            self.types.resize(number, None);
        }
        Ok((number - 1, self.types[number - 1]))
    }

    /// Returns the variable of this name, or `None` if there is none. `relation` is the name before the point, if there
    /// is one. The errors are those of [`Variables::find`].
    pub(super) fn variable(&self, relation: Option<&str>, name: &str) -> Result<Option<Typed>, SqlError> {
        self.variables.map_or(Ok(None), |variables| variables.find(relation, name))
    }

    /// Returns the type of a parameter, which becomes `wanted` if it is still open.
    pub(super) fn settle(&mut self, position: usize, wanted: Type) -> Type {
        *self.types[position].get_or_insert(wanted)
    }

    /// Notes that an expression, if it is a parameter whose type is still open, becomes a value of a domain.
    pub(super) fn note_domain(&mut self, expr: &Expr, domain: Option<DomainId>) {
        if let (Expr::Param(position), Some(domain)) = (expr, domain)
            && self.types.get(*position) == Some(&None)
        {
            self.domains.push((*position, domain));
        }
    }

    /// Returns the types of all parameters.
    ///
    /// # Errors
    ///
    /// 42P18 if a type is still open.
    pub(super) fn settled(&self) -> Result<Vec<Type>, SqlError> {
        let settled = |(index, ty): (usize, &Option<Type>)| {
            ty.ok_or_else(|| {
                let message = format!("could not determine data type of parameter ${}", index + 1);
                SqlError::new(state::INDETERMINATE_DATATYPE, message)
            })
        };
        self.types.iter().enumerate().map(settled).collect()
    }
}
