//! Domains and their constraints as the catalogs name and show them.

use super::{describe, objects};
use crate::catalog::Declared;
use crate::catalog::domain::{Domain, DomainCheck};
use crate::context::SessionContext;
use crate::expr::shown_of_value;
use hotrow_sync::Arc;

/// Returns the OID of a domain's constraint.
pub(super) fn number_of_constraint(context: &SessionContext, domain: &Domain, check: &str) -> u32 {
    context.shared().catalog().number(&domain.numbered(check))
}

/// Returns the OID of the type that a domain is directly over.
pub(super) fn number_of_base(domain: &Domain) -> u32 {
    objects::number_of(Declared { ty: domain.ty, domain: domain.over })
}

/// Returns the condition of a constraint as SQL.
pub(super) fn condition(domain: &Domain, check: &DomainCheck) -> String {
    shown_of_value(check.bound(), domain.ty)
}

/// Returns a domain's default as SQL, or `None` if it has none.
pub(super) fn default(context: &SessionContext, domain: &Domain) -> Option<String> {
    describe::of_default(context, domain.default.as_ref()?, domain.ty)
}

/// Returns the definition as SQL of the constraint with this OID, of a table or a domain, or `None` if there is none.
pub(crate) fn constraint_definition(context: &SessionContext, number: u32) -> Option<String> {
    let of_domain = |domain: &Arc<Domain>| {
        let is_it = |check: &&DomainCheck| number_of_constraint(context, domain, &check.name) == number;
        let check = domain.checks.iter().find(is_it)?;
        let validity = if check.validated { "" } else { " NOT VALID" };
        Some(format!("CHECK ({}){validity}", condition(domain, check)))
    };
    let of_table = describe::constraint_definition(context, number);
    of_table.or_else(|| context.view().domains().iter().find_map(of_domain))
}
