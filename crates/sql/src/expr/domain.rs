//! The constraints of domains, from their definitions.

use super::definition::bound;
use super::{BoundDomain, Expr};
use crate::catalog::View;
use crate::catalog::domain::{Domain, DomainCheck};
use crate::types::DomainId;
use crate::{SqlError, state};
use hotrow_sync::Arc;

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
}

impl DomainCheck {
    /// Returns the bound condition. Its only column is the value.
    pub fn bound(&self) -> &Expr {
        bound(&self.condition)
    }
}
