//! CREATE, ALTER and DROP DOMAIN.
//!
//! A statement that adds a constraint locks all tables with columns of the domain, and checks their rows. Statements
//! that are planned with the former constraints wait for these locks, and are then planned again.

use super::ddl::Ddl;
use super::{Fail, scan};
use crate::bind::{define_default, define_domain_check};
use crate::catalog::domain::{Domain, DomainCheck};
use crate::catalog::{Declared, NamedType, Table, Written};
use crate::error::unsupported;
use crate::expr::{BoundDomain, Env};
use crate::parse::domain::{CheckSyntax, CreateDomain, DomainChange, DomainStatement};
use crate::schema::{self, RelationName};
use crate::table_lock::Mode;
use crate::types::DomainId;
use crate::{SqlError, state};
use hotrow_storage::Value;
use hotrow_sync::Arc;
use hotrow_txn::Ownership;
use sqlparser::ast;
use std::cmp::Reverse;
use std::ops::ControlFlow;

impl Ddl<'_> {
    /// Runs CREATE, ALTER or DROP DOMAIN.
    pub(super) fn run_domain(&mut self, statement: &DomainStatement) -> Result<(), Fail> {
        match statement {
            DomainStatement::Create(create) => self.create_domain(create),
            DomainStatement::Alter(name, change) => self.alter_domain(name, change),
            DomainStatement::Drop { names, if_exists, cascade } => self.drop_domains(names, *if_exists, *cascade),
        }
    }

    /// Drops domains. One that is over another one of them is dropped before that, since that one may not go alone.
    fn drop_domains(&mut self, names: &[RelationName], if_exists: bool, cascade: bool) -> Result<(), Fail> {
        let check = |name: &RelationName, made: &NamedType| match made {
            NamedType::Domain(_) => Ok(()),
            NamedType::Enumeration(_) => Err(no_domain(&format!("\"{name}\""))),
        };
        // The number of domains over which one is defined; names of no domain come first, with their errors.
        let depth = |name: &&RelationName| match self.view().named_type(&name.parts()) {
            Some(NamedType::Domain(domain)) => self.view().domain_and_bases(domain.id()).len(),
            _ => usize::MAX,
        };
        let mut names: Vec<_> = names.iter().collect();
        names.sort_by_cached_key(|name| Reverse(depth(name)));
        names.into_iter().try_for_each(|name| self.drop_named_type(name, if_exists, cascade, |made| check(name, made)))
    }

    /// Adds the definition of a domain to the transaction's changes.
    pub(super) fn publish_domain(&mut self, domain: Domain) {
        self.context.transaction.changes.domains.insert(domain.name.clone(), Some(Arc::new(domain)));
    }

    /// Locks the domain of this name in exclusive mode, and returns it.
    ///
    /// # Errors
    /// 42704 if no user has made such a type, 42809 if it is no domain.
    pub(super) fn owned_domain(&mut self, written: &RelationName) -> Result<Arc<Domain>, Fail> {
        match self.owned_type(written)? {
            NamedType::Domain(domain) => Ok(domain),
            NamedType::Enumeration(made) => Err(no_domain(&made.definition.name).into()),
        }
    }

    fn create_domain(&mut self, create: &CreateDomain) -> Result<(), Fail> {
        let CreateDomain { name: written, ty, default, not_null, checks } = create;
        if self.view().is_for_temporary(written) {
            return Err(unsupported("a temporary type").into());
        }
        let name = self.lasting_place(written)?;
        self.claim_type(&name)?;
        let of = self.view().declared_type(ty)?;
        self.keep_type(of.ty)?;
        self.keep_domain(of.domain)?;
        let inherited = of.domain.and_then(|id| self.view().domain_of(id)?.default.clone());
        let mut domain = Domain {
            oids: [self.catalog.new_number(), self.catalog.new_number()],
            name,
            ty: of.ty,
            over: of.domain,
            not_null: *not_null,
            default: inherited,
            checks: Vec::new(),
            comment: None,
        };
        if let Some(default) = default {
            self.set_domain_default(&mut domain, Some(default))?;
        }
        for check in checks {
            self.add_domain_check(&mut domain, check, true)?;
        }
        self.publish_domain(domain);
        Ok(())
    }

    fn alter_domain(&mut self, written: &RelationName, change: &DomainChange) -> Result<(), Fail> {
        let made = self.owned_domain(written)?;
        let mut domain = (*made).clone();
        match change {
            DomainChange::Owner(role) => return Ok(self.check_owner(role)?),
            DomainChange::Rename(new) => return self.rename_type(&NamedType::Domain(made), new),
            DomainChange::SetSchema(within) => return self.move_type_to(&NamedType::Domain(made), within),
            DomainChange::Default(default) => {
                self.set_domain_default(&mut domain, default.as_deref())?;
                self.publish_domain(domain);
                return Ok(());
            }
            DomainChange::RenameCheck(old, new) => {
                if domain.check(old).is_none() {
                    return Err(undefined_constraint(&domain, old).into());
                }
                if domain.check(new).is_some() {
                    let message = format!("constraint \"{new}\" for domain {} already exists", domain.shown());
                    return Err(SqlError::new(state::DUPLICATE_OBJECT, message).into());
                }
                constraint_of(&mut domain, old)?.name.clone_from(new);
                sort(&mut domain);
            }
            DomainChange::NotNull(not_null) => {
                if *not_null && !domain.not_null {
                    self.check_values(&made, |value, _| Ok(!value.is_null()), "contains null values")?;
                }
                domain.not_null = *not_null;
            }
            DomainChange::AddCheck(check, validated) => {
                let added = self.add_domain_check(&mut domain, check, *validated)?;
                if *validated {
                    self.validate(&made, &added)?;
                }
            }
            DomainChange::Validate(name) => {
                let Ok(check) = constraint_of(&mut domain, name) else {
                    let message = format!("constraint \"{name}\" of domain \"{}\" does not exist", plain(&made));
                    return Err(SqlError::new(state::UNDEFINED_OBJECT, message).into());
                };
                if !check.validated {
                    check.validated = true;
                    let check = check.clone();
                    self.validate(&made, &check)?;
                }
            }
            DomainChange::DropCheck(name, if_exists) => {
                if domain.check(name).is_none() {
                    let message = format!("constraint \"{name}\" of domain \"{}\" does not exist", plain(&made));
                    if !if_exists {
                        return Err(SqlError::new(state::UNDEFINED_OBJECT, message).into());
                    }
                    self.notice(state::SUCCESSFUL_COMPLETION, format!("{message}, skipping"));
                    return Ok(());
                }
                domain.checks.retain(|check| check.name != *name);
            }
        }
        self.publish_domain(domain);
        let made = self.view().domain(&made.name).unwrap_or(made);
        self.bind_again(&made)
    }

    fn set_domain_default(&mut self, domain: &mut Domain, default: Option<&ast::Expr>) -> Result<(), Fail> {
        let Some(default) = default else {
            domain.default = None;
            return Ok(());
        };
        self.refuse_domains(default)?;
        let made = define_default(default, plain(domain), domain.ty, self.view())?;
        if !made.sequences().is_empty() || made.calling().is_some() {
            return Err(unsupported("a sequence or a user's function in the default of a domain").into());
        }
        // The word NULL takes a default away that the domain would have of the one that it is over.
        domain.default = Some(made).filter(|_| !is_null(default));
        Ok(())
    }

    /// Adds a CHECK constraint to a domain, and returns it.
    ///
    /// # Errors
    /// 42710 if the domain has a constraint of the name, and the errors of the condition.
    fn add_domain_check(
        &mut self,
        domain: &mut Domain,
        check: &CheckSyntax,
        validated: bool,
    ) -> Result<DomainCheck, Fail> {
        let CheckSyntax { name, condition } = check;
        let name = match name {
            Some(name) if domain.check(name).is_some() => {
                let message = format!("constraint \"{name}\" for domain \"{}\" already exists", plain(domain));
                return Err(SqlError::new(state::DUPLICATE_OBJECT, message).into());
            }
            Some(name) => name.clone(),
            None => {
                let mut names = schema::made_names(plain(domain), &[], "check");
                names.find(|name| domain.check(name).is_none()).unwrap_or_default()
            }
        };
        self.refuse_domains(condition)?;
        let of = Declared { ty: domain.ty, domain: domain.over };
        let condition: Written = define_domain_check(condition, of, self.view())?;
        let added = DomainCheck { name, condition, validated, comment: None };
        domain.checks.push(added.clone());
        sort(domain);
        Ok(added)
    }

    /// Locks the types that an expression of a domain mentions.
    ///
    /// # Errors
    /// 0A000 if one of them is a domain.
    fn refuse_domains(&mut self, expr: &ast::Expr) -> Result<(), Fail> {
        self.keep_mentioned(expr)?;
        match self.mentioned_types(expr)?.iter().any(|made| matches!(made, NamedType::Domain(_))) {
            true => Err(unsupported("a cast to a domain in the definition of a domain").into()),
            false => Ok(()),
        }
    }

    /// Checks that the values of a domain in all tables satisfy a constraint.
    fn validate(&mut self, domain: &Arc<Domain>, check: &DomainCheck) -> Result<(), Fail> {
        let alone = Domain { over: None, not_null: false, checks: vec![check.clone()], ..(**domain).clone() };
        let alone = BoundDomain::alone(&alone);
        let what = "contains values that violate the new constraint";
        self.check_values(domain, |value, env| alone.is_satisfied(value, env), what)
    }

    /// Checks the values of the columns of a domain, and of the domains over it.
    ///
    /// # Errors
    /// 23502 or 23514 if a column has a value for which `holds` is false. `what` says so.
    fn check_values(
        &mut self,
        domain: &Arc<Domain>,
        holds: impl Fn(&Value<'_>, &Env<'_>) -> Result<bool, SqlError>,
        what: &str,
    ) -> Result<(), Fail> {
        let ids: Vec<_> = self.with_domains_over(domain).iter().map(|over| over.id()).collect();
        let is_of = |table: &Table, at: usize| table.domain(at).is_some_and(|id: DomainId| ids.contains(&id));
        let mut tables = self.view().tables();
        tables.retain(|table| (0..table.visible()).any(|at| is_of(table, at)));
        tables.sort_by_key(|table| self.catalog.number(table.name()));
        for table in tables {
            self.lock(table.name(), Mode::Exclusive)?;
            // It may have changed, or gone, while we waited.
            let Some(table) = self.view().table(table.name()) else { continue };
            self.txn.own_table(table.id, Ownership::Locked);
            self.txn.check_owned_table(table.id)?;
            let columns: Vec<_> = (0..table.visible()).filter(|at| is_of(&table, *at)).collect();
            let (mut failed, env) = (None, self.env);
            self.txn.scan(&scan::everything(&table), &mut |row| {
                if let Err(error) = env.check_cancelled() {
                    failed = Some(error);
                    return ControlFlow::Break(());
                }
                for &at in &columns {
                    match holds(&row.value(at), &env) {
                        Ok(true) => continue,
                        Ok(false) => failed = Some(violated(&table, at, what)),
                        Err(error) => failed = Some(error),
                    }
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            })?;
            if let Some(error) = failed {
                return Err(error.into());
            }
        }
        Ok(())
    }
}

/// Returns the constraint of this name, to change it.
///
/// # Errors
/// 42704 if the domain has none of the name.
pub(super) fn constraint_of<'d>(domain: &'d mut Domain, name: &str) -> Result<&'d mut DomainCheck, SqlError> {
    let missing = undefined_constraint(domain, name);
    domain.checks.iter_mut().find(|check| check.name == name).ok_or(missing)
}

fn undefined_constraint(domain: &Domain, name: &str) -> SqlError {
    let message = format!("constraint \"{name}\" for domain {} does not exist", domain.shown());
    SqlError::new(state::UNDEFINED_OBJECT, message)
}

fn violated(table: &Table, at: usize, what: &str) -> SqlError {
    let column = &table.schema.columns[at].name;
    let state = if what.contains("null") { state::NOT_NULL_VIOLATION } else { state::CHECK_VIOLATION };
    let message = format!("column \"{column}\" of table \"{}\" {what}", table.plain_name());
    SqlError::new(state, message).about_column(table.name(), column)
}

/// Returns the error 42809 for a type that is no domain.
pub(super) fn no_domain(name: &str) -> SqlError {
    SqlError::new(state::WRONG_OBJECT_TYPE, format!("{name} is not a domain"))
}

fn plain(domain: &Domain) -> &str {
    schema::plain(&domain.name)
}

fn sort(domain: &mut Domain) {
    domain.checks.sort_by(|one, other| one.name.cmp(&other.name));
}

fn is_null(expr: &ast::Expr) -> bool {
    matches!(expr, ast::Expr::Value(ast::ValueWithSpan { value: ast::Value::Null, .. }))
}
