//! The constraints of domains.

use super::definition::bound;
use super::{Env, Expr, Input};
use crate::catalog::View;
use crate::catalog::domain::{Domain, DomainCheck};
use crate::catalog::enumeration::shown;
use crate::types::DomainId;
use crate::{SqlError, state};
use hotrow_storage::Value;
use hotrow_sync::Arc;

/// The constraints that a value of a domain has to satisfy: those of the domain itself, and those of the domains over
/// which it is defined. A plan that has them is valid as long as the definitions of these domains are current.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundDomain {
    /// The domain.
    pub id: DomainId,
    /// The [full name](crate::schema) of the domain.
    pub name: String,
    /// Whether NULL is refused.
    pub not_null: bool,
    /// The names and conditions of the CHECK constraints in the order in which they are checked: those of the innermost
    /// domain come first. The only column of a condition is the value.
    pub checks: Vec<(String, Expr)>,
}

impl BoundDomain {
    /// Returns the constraints of a domain, together with the definitions from which they come.
    ///
    /// # Errors
    /// 42704 if there is no such domain.
    pub fn of(id: DomainId, view: View<'_>) -> Result<(Arc<Self>, Vec<Arc<Domain>>), SqlError> {
        let domains = view.domain_and_bases(id);
        let Some(own) = domains.first() else {
            let message = format!("cache lookup failed for type {}", id.0);
            return Err(SqlError::new(state::UNDEFINED_OBJECT, message));
        };
        let all: Vec<_> = domains.iter().map(|domain| Self::alone(domain)).collect();
        let not_null = all.iter().any(|domain| domain.not_null);
        let checks = all.into_iter().rev().flat_map(|domain| domain.checks).collect();
        let constraints = Self { id, name: own.name.clone(), not_null, checks };
        Ok((Arc::new(constraints), domains))
    }

    /// Returns the constraints of a domain itself, without those of the domains over which it is defined.
    pub fn alone(domain: &Domain) -> Self {
        let checks = domain.checks.iter();
        let checks = checks.map(|check| (check.name.clone(), check.bound().clone())).collect();
        Self { id: domain.id(), name: domain.name.clone(), not_null: domain.not_null, checks }
    }

    /// Whether a value satisfies the constraints.
    ///
    /// # Errors
    /// Those of evaluating the conditions.
    pub fn is_satisfied(&self, value: &Value<'_>, env: &Env<'_>) -> Result<bool, SqlError> {
        Ok(self.violated(value, env)?.is_none())
    }

    /// Whether the domain takes every value of its base type.
    pub fn takes_all(&self) -> bool {
        !self.not_null && self.checks.is_empty()
    }

    /// Checks that a value satisfies the constraints.
    ///
    /// # Errors
    /// 23502 if NULL is refused, 23514 if a CHECK constraint is violated.
    pub fn check(&self, value: &Value<'_>, env: &Env<'_>) -> Result<(), SqlError> {
        match self.violated(value, env)? {
            None => Ok(()),
            Some(None) => {
                let message = format!("domain {} does not allow null values", shown(&self.name));
                Err(SqlError::new(state::NOT_NULL_VIOLATION, message).about_domain(&self.name, None))
            }
            Some(Some(name)) => {
                let message = format!("value for domain {} violates check constraint \"{name}\"", shown(&self.name));
                Err(SqlError::new(state::CHECK_VIOLATION, message).about_domain(&self.name, Some(name)))
            }
        }
    }

    /// Returns the first constraint that a value violates: the name of a CHECK constraint, or `Some(None)` for NOT
    /// NULL.
    fn violated(&self, value: &Value<'_>, env: &Env<'_>) -> Result<Option<Option<&str>>, SqlError> {
        if self.not_null && value.is_null() {
            return Ok(Some(None));
        }
        let row = [value.borrowed()];
        for (name, condition) in &self.checks {
            // NULL is no violation.
            if condition.eval(env, &Input::Values(&row))? == Value::Bool(false) {
                return Ok(Some(Some(name)));
            }
        }
        Ok(None)
    }
}

impl DomainCheck {
    /// Returns the bound condition. Its only column is the value.
    pub fn bound(&self) -> &Expr {
        bound(&self.condition)
    }
}
