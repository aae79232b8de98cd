//! Domains: the checks that a value passes when it becomes one of a domain, and the expressions of their definitions.

use super::binder::Binder;
use super::ddl::{bind_stored_default, binder_of, written};
use super::scope::Scope;
use super::target::Target;
use super::typed::Typed;
use crate::catalog::domain::{Domain, DomainCheck};
use crate::catalog::{Declared, View, Written};
use crate::depth::with_room;
use crate::expr::{BoundDomain, Expr, Strictness};
use crate::opaque::Opaque;
use crate::types::DomainId;
use crate::{OutputColumn, SqlError};
use hotrow_sync::Arc;
use sqlparser::ast;

/// The name that the condition of a domain gives to the value.
const VALUE: &str = "value";

impl Binder<'_> {
    /// Returns the constraints of a domain. The plan depends on their present definitions.
    pub(crate) fn domain(&mut self, id: DomainId) -> Result<Arc<BoundDomain>, SqlError> {
        let (domain, definitions) = BoundDomain::of(id, self.view)?;
        definitions.iter().for_each(|made| self.depends.used.add_domain(made));
        Ok(domain)
    }

    /// Returns a value of a domain's base type as a value of the domain `to`, if that is one. `from` is the domain of
    /// which the value is one already, whose constraints it does not have to satisfy again.
    pub(crate) fn constrained(
        &mut self,
        value: Expr,
        from: Option<DomainId>,
        to: Option<DomainId>,
    ) -> Result<Expr, SqlError> {
        let Some(to) = to else { return Ok(value) };
        let domain = self.domain(to)?;
        Ok(checked(value, from, Some(&domain)))
    }

    /// Casts an expression to a declared type, and makes it a value of the type's domain.
    pub(crate) fn coerce_to(&mut self, typed: Typed, to: Declared, strictness: Strictness) -> Result<Expr, SqlError> {
        let from = typed.domain;
        self.parameters.note_domain(&typed.expr, to.domain);
        let value = self.coerce(typed, to.ty, strictness)?;
        self.constrained(value, from, to.domain)
    }

    /// Casts an expression to the type of the column at a position of a target, as INSERT and UPDATE do, and makes it a
    /// value of the column's domain.
    pub(super) fn assign_to(&mut self, typed: Typed, target: &Target, at: usize) -> Result<Expr, SqlError> {
        let (name, declared) = target.column(at);
        self.assign(typed, name, declared)
    }
}

/// Returns a value as one of the domain `to`, if there is one. `from` is the domain of which the value is one already.
pub(super) fn checked(value: Expr, from: Option<DomainId>, to: Option<&Arc<BoundDomain>>) -> Expr {
    match to {
        Some(to) if from != Some(to.id) && !to.takes_all() => Expr::Domain(Box::new(value), to.clone()),
        _ => value,
    }
}

/// Returns a value of a domain's base type as a value of the domain, if there is one.
///
/// # Errors
/// 42704 if there is no such domain.
pub fn constrained(value: Expr, domain: Option<DomainId>, view: View<'_>) -> Result<Expr, SqlError> {
    let domain = domain.map(|id| BoundDomain::of(id, view)).transpose()?;
    Ok(checked(value, None, domain.as_ref().map(|(domain, _)| domain)))
}

/// Returns the domain that expressions have in common: that of all of them, if their types are known and they are of
/// one domain.
pub(super) fn common_domain(list: &[Typed]) -> Option<DomainId> {
    let domain = list.first()?.domain?;
    list.iter().all(|typed| typed.domain == Some(domain)).then_some(domain)
}

/// Binds the condition of a domain's CHECK constraint. `of` is the base of the domain.
///
/// # Errors
/// 42804 if the condition is not Boolean, and the errors of the expression.
pub fn define_domain_check(expr: &ast::Expr, of: Declared, view: View<'_>) -> Result<Written, SqlError> {
    with_room(|| {
        let condition = written(expr, view)?;
        bind_condition(&condition, of, view)?;
        Ok(condition)
    })
}

/// Binds the expressions of a stored domain again: when the database is opened, or when a type that they mention
/// changes.
///
/// # Errors
/// If an expression cannot be bound any more.
pub fn bind_stored_domain(domain: &Domain, view: View<'_>) -> Result<(), SqlError> {
    let of = Declared { ty: domain.ty, domain: domain.over };
    if let Some(default) = &domain.default {
        bind_stored_default(default, view)?;
    }
    domain.checks.iter().try_for_each(|DomainCheck { condition, .. }| with_room(|| bind_condition(condition, of, view)))
}

fn bind_condition(condition: &Written, of: Declared, view: View<'_>) -> Result<(), SqlError> {
    let mut binder = binder_of(condition, view);
    let scope = Scope::output(&[OutputColumn::new(VALUE, of.ty).of_domain(of.domain)]);
    let typed = binder.plain(&condition.syntax, &scope, "check constraints")?;
    condition.keep(Opaque::new(binder.condition(typed, "CHECK")?));
    Ok(())
}
