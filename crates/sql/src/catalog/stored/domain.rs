//! Domains as stored definitions.

use super::value::{DefaultForm, ExpressionForm, MadeTypes, TypeForm};
use crate::SqlError;
use crate::catalog::domain::{Domain, DomainCheck};
use crate::types::DomainId;
use serde::{Deserialize, Serialize};

/// The stored form of a domain's identity: its OID.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct DomainIdForm(u32);

impl DomainIdForm {
    pub(super) fn of(domain: Option<DomainId>) -> Option<Self> {
        domain.map(|id| Self(id.0))
    }

    pub(super) fn domain(form: Option<Self>) -> Option<DomainId> {
        form.map(|form| DomainId(form.0))
    }
}

/// The definition of a domain, apart from its name.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DomainForm {
    oids: [u32; 2],
    ty: TypeForm,
    over: Option<DomainIdForm>,
    not_null: bool,
    default: Option<DefaultForm>,
    checks: Vec<DomainCheckForm>,
    comment: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct DomainCheckForm {
    name: String,
    condition: ExpressionForm,
    validated: bool,
    comment: Option<String>,
}

impl DomainForm {
    /// Makes the stored form of a domain.
    ///
    /// # Errors
    /// 0A000 if an expression of the definition cannot be stored.
    pub(super) fn of(domain: &Domain) -> Result<Self, SqlError> {
        let check = |check: &DomainCheck| {
            Ok::<_, SqlError>(DomainCheckForm {
                name: check.name.clone(),
                condition: ExpressionForm::of(&check.condition)?,
                validated: check.validated,
                comment: check.comment.clone(),
            })
        };
        Ok(Self {
            oids: domain.oids,
            ty: TypeForm::of(domain.ty),
            over: DomainIdForm::of(domain.over),
            not_null: domain.not_null,
            default: domain.default.as_ref().map(DefaultForm::of).transpose()?,
            checks: domain.checks.iter().map(check).collect::<Result<_, _>>()?,
            comment: domain.comment.clone(),
        })
    }

    /// Returns the domain of this full name, whose expressions the binder has yet to bind.
    ///
    /// # Errors
    /// If a part of the definition cannot be read.
    pub(super) fn made(self, name: &str, made: &MadeTypes) -> Result<Domain, String> {
        let check = |form: DomainCheckForm| {
            let DomainCheckForm { name, condition, validated, comment } = form;
            Ok::<_, String>(DomainCheck { name, condition: condition.written()?, validated, comment })
        };
        Ok(Domain {
            name: name.to_owned(),
            oids: self.oids,
            ty: self.ty.ty(made)?,
            over: DomainIdForm::domain(self.over),
            not_null: self.not_null,
            default: self.default.as_ref().map(|default| default.default(made)).transpose()?,
            checks: self.checks.into_iter().map(check).collect::<Result<_, _>>()?,
            comment: self.comment,
        })
    }
}
