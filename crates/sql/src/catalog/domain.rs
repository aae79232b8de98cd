//! Domains: types that restrict the values of another type.
//!
//! A value of a domain is stored, computed and compared as a value of the base type. So a column, an argument or an
//! expression has the base type, and beside it the [`DomainId`] of its domain. The binder puts the checks of a domain
//! into each expression whose value becomes one of the domain (`bind/domain.rs`).

use super::enumeration::shown;
use super::expression::{DefaultValue, Written};
use crate::types::DomainId;
use hotrow_storage::Type;

/// The definition of a domain, which never changes.
#[derive(Clone, Debug)]
pub struct Domain {
    /// The [full name](crate::schema) of the domain.
    pub name: String,
    /// The OIDs of the domain and of its array type.
    pub oids: [u32; 2],
    /// The base type, which is no domain.
    pub ty: Type,
    /// The domain over which this one is defined, if there is one. Values have to satisfy its constraints too.
    pub over: Option<DomainId>,
    /// Whether the domain itself refuses NULL.
    pub not_null: bool,
    /// The default of columns that have none of their own.
    pub default: Option<DefaultValue>,
    /// The CHECK constraints of the domain itself, in the order of their names as PostgreSQL checks them.
    pub checks: Vec<DomainCheck>,
    /// The comment that COMMENT ON DOMAIN has set.
    pub comment: Option<String>,
}

/// A CHECK constraint of a domain.
#[derive(Clone, Debug)]
pub struct DomainCheck {
    /// The name of the constraint.
    pub name: String,
    /// The condition. In its bound form, the only column stands for VALUE.
    pub condition: Written,
    /// Whether the columns of the domain have been checked. NOT VALID leaves that out.
    pub validated: bool,
    /// The comment that COMMENT ON CONSTRAINT has set.
    pub comment: Option<String>,
}

impl Domain {
    /// Returns the identity of the domain.
    pub fn id(&self) -> DomainId {
        DomainId(self.oids[0])
    }

    /// Returns the name of the domain as messages and catalogs show it: with its schema unless that is `public`.
    pub fn shown(&self) -> String {
        shown(&self.name)
    }

    /// Returns the constraint of this name.
    pub fn check(&self, name: &str) -> Option<&DomainCheck> {
        self.checks.iter().find(|check| check.name == name)
    }

    /// Returns the name under which a constraint of the domain has its OID in the system relations. No relation has
    /// this name.
    pub fn numbered(&self, check: &str) -> String {
        format!("{}\0{check}\0domain", self.name)
    }

    /// Returns the names under which the constraints have their OIDs.
    pub fn numbered_checks(&self) -> Vec<String> {
        self.checks.iter().map(|check| self.numbered(&check.name)).collect()
    }

    /// Returns the expressions of the domain, to change them.
    pub fn expressions_mut(&mut self) -> impl Iterator<Item = &mut Written> {
        let default = self.default.iter_mut().filter_map(DefaultValue::written_mut);
        default.chain(self.checks.iter_mut().map(|check| &mut check.condition))
    }

    /// Returns the expressions of the domain: its default, if it has an expression, and its conditions.
    pub fn expressions(&self) -> impl Iterator<Item = &Written> {
        let default = self.default.iter().filter_map(DefaultValue::written);
        default.chain(self.checks.iter().map(|check| &check.condition))
    }
}
