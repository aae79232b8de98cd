//! The types that users have made, enumerated types and domains: their names, and the definitions that depend on them.
//!
//! Tables, views and other definitions depend on a type: they have values of the type, or their expressions mention the
//! type by its name. While there are such definitions the type cannot be dropped. Its name stands in the stored
//! expressions, so that a new name has to be put into them.

use super::Fail;
use super::ddl::Ddl;
use super::temporary::check_move;
use crate::bind::{bind_stored_check, bind_stored_computed, bind_stored_default, bind_stored_domain};
use crate::catalog::domain::Domain;
use crate::catalog::enumeration::{qualified, shown, undefined_type};
use crate::catalog::procedure::Procedure;
use crate::catalog::view::StoredView;
use crate::catalog::{Declared, DefaultSource, NamedType, RowExpression, Rules, Table, Written};
use crate::depth::with_room;
use crate::error::unsupported;
use crate::parse::enumeration::{type_names, with_type_names};
use crate::parse::window::restored;
use crate::parse::{parse_expr, parse_query};
use crate::schema::{self, RelationName};
use crate::table_lock::Mode;
use crate::types::{DomainId, enumeration};
use crate::{SqlError, state};
use hotrow_storage::Type;
use hotrow_sync::Arc;
use sqlparser::ast;
use std::fmt::Display;

/// The definitions that depend on a type.
#[derive(Default)]
pub(super) struct Users {
    /// The domains over the type, each with the definitions that depend on it.
    domains: Vec<(Arc<Domain>, Users)>,
    /// The columns of the type or of its array type: the full name of the table, and the column's name.
    columns: Vec<(String, String)>,
    /// The columns whose defaults depend on the type: the full name of the table, and the column's name.
    defaults: Vec<(String, String)>,
    /// The views that have columns of the type or mention it, each with the word for its kind.
    views: Vec<(Arc<StoredView>, &'static str)>,
    /// The procedures and functions that mention the type.
    routines: Vec<Arc<Procedure>>,
    /// The descriptions of all other definitions that depend on the type.
    others: Vec<String>,
}

impl Ddl<'_> {
    /// Locks an enumerated type, or the element type of an array, in shared mode: until this transaction ends, no other
    /// transaction changes or drops it. Does nothing for any other type. A definition that gets a value of the type, a
    /// label or the type's name locks the type first. Otherwise another transaction that changes the type could
    /// overlook the definition.
    ///
    /// # Errors
    /// 42704 if the type no longer exists.
    pub(super) fn keep_type(&mut self, ty: Type) -> Result<(), Fail> {
        let Some(id) = enumeration(ty) else { return Ok(()) };
        let gone = || undefined_type(&ty.to_string());
        let name = self.view().enumeration_of(id).ok_or_else(gone)?.name.clone();
        self.lock(&type_lock(&name), Mode::Shared)?;
        match self.view().enumeration_of(id) {
            Some(made) if made.name == name => Ok(()),
            _ => Err(undefined_type(&schema::shown(&name)).into()),
        }
    }

    /// Locks a domain, if there is one, and the domains over which it is defined, as [`keep_type`](Self::keep_type)
    /// does.
    ///
    /// # Errors
    /// 42704 if the domain no longer exists.
    pub(super) fn keep_domain(&mut self, domain: Option<DomainId>) -> Result<(), Fail> {
        let Some(id) = domain else { return Ok(()) };
        let known = self.view().domain_and_bases(id);
        for domain in &known {
            self.lock(&type_lock(&domain.name), Mode::Shared)?;
        }
        let now = self.view().domain_and_bases(id);
        match known.first() {
            Some(own) if known.iter().map(|known| &known.name).eq(now.iter().map(|now| &now.name)) => {
                self.keep_type(own.ty)
            }
            known => Err(undefined_type(&known.map(|own| own.shown()).unwrap_or_default()).into()),
        }
    }

    /// Locks a type of a user as [`keep_type`](Self::keep_type) does.
    fn keep_named(&mut self, made: &NamedType) -> Result<(), Fail> {
        match made {
            NamedType::Enumeration(made) => self.keep_type(made.ty()),
            NamedType::Domain(made) => self.keep_domain(Some(made.id())),
        }
    }

    /// Locks the types of a table's columns as [`keep_type`](Self::keep_type) does. An expression over the columns may
    /// mention labels of these types.
    pub(super) fn keep_types_of(&mut self, table: &Table) -> Result<(), Fail> {
        table.rules.domains.iter().try_for_each(|domain| self.keep_domain(*domain))?;
        table.schema.columns.iter().try_for_each(|column| self.keep_type(column.ty))
    }

    /// Locks the types that an expression or a query mentions by name, as [`keep_type`](Self::keep_type) does.
    pub(super) fn keep_mentioned(&mut self, syntax: &impl Display) -> Result<(), Fail> {
        self.mentioned_types(syntax)?.iter().try_for_each(|made| self.keep_named(made))
    }

    /// Returns the types of users that an expression or a query mentions by name.
    pub(super) fn mentioned_types(&self, syntax: &impl Display) -> Result<Vec<NamedType>, Fail> {
        if self.view().named_types().is_empty() {
            return Ok(Vec::new());
        }
        let names = type_names(&text_of(syntax)?)?;
        Ok(names.iter().filter_map(|name| self.view().named_type(&name.parts)).collect())
    }

    /// Locks the types that the expressions of a table's definition mention by name, as [`keep_type`](Self::keep_type)
    /// does.
    pub(super) fn keep_types_in_rules(&mut self, rules: &Rules) -> Result<(), Fail> {
        for default in rules.defaults.iter().flatten() {
            if let DefaultSource::Written(written, _) = &default.source {
                self.keep_mentioned(&*written.syntax)?;
            }
        }
        rules.row_expressions().try_for_each(|value| self.keep_mentioned(&*value.expression.syntax))
    }

    /// Locks the types on which a view may depend, as [`keep_type`](Self::keep_type) does: those of its columns, those
    /// of the columns of its tables, and those that it mentions by name.
    pub(super) fn keep_types_of_view(&mut self, view: &StoredView) -> Result<(), Fail> {
        for column in &view.columns {
            self.keep_type(column.ty)?;
            self.keep_domain(column.domain)?;
        }
        for relation in &view.relations {
            if let Some(table) = self.view().table(relation) {
                self.keep_types_of(&table)?;
            }
        }
        self.keep_mentioned(&*view.query)
    }

    /// Locks the type of this name in exclusive mode, and returns it.
    ///
    /// # Errors
    /// 42704 if no user has made such a type.
    pub(super) fn owned_type(&mut self, written: &RelationName) -> Result<NamedType, Fail> {
        let parts = written.parts();
        let missing = || undefined_type(&parts.join("."));
        let name = self.view().named_type(&parts).ok_or_else(missing)?.name().to_owned();
        self.lock(&type_lock(&name), Mode::Exclusive)?;
        let (within, plain) = schema::split(&name);
        Ok(self.view().named_type(&[within.to_owned(), plain.to_owned()]).ok_or_else(missing)?)
    }

    /// Locks the full name of a type that is to be created.
    ///
    /// # Errors
    /// 42710 if a type or a relation has the name.
    pub(super) fn claim_type(&mut self, name: &str) -> Result<(), Fail> {
        self.lock(&type_lock(name), Mode::Exclusive)?;
        let is_type = self.view().enumeration(name).is_some() || self.view().domain(name).is_some();
        if is_type || self.view().has_relation(name) {
            let message = format!("type \"{}\" already exists", schema::plain(name));
            return Err(SqlError::new(state::DUPLICATE_OBJECT, message).into());
        }
        Ok(())
    }

    /// Runs RENAME TO of ALTER TYPE and ALTER DOMAIN.
    pub(super) fn rename_type(&mut self, made: &NamedType, new: &str) -> Result<(), Fail> {
        self.move_type(made, &schema::full(schema::split(made.name()).0, new))
    }

    /// Runs SET SCHEMA of ALTER TYPE and ALTER DOMAIN.
    pub(super) fn move_type_to(&mut self, made: &NamedType, within: &str) -> Result<(), Fail> {
        check_move(made.name(), within)?;
        let place = self.lasting_place(&RelationName::within(within, schema::plain(made.name())))?;
        if place == made.name() { Ok(()) } else { self.move_type(made, &place) }
    }

    /// Changes the full name of a type, also in the stored expressions and queries that mention the type.
    ///
    /// # Errors
    /// 0A000 if a procedure or function mentions the type.
    pub(super) fn move_type(&mut self, made: &NamedType, new: &str) -> Result<(), Fail> {
        self.claim_type(new)?;
        let users = self.users_of(made)?;
        if let Some(routine) = users.routines.first() {
            let error = unsupported("another name of a type that a function mentions");
            let detail = format!("function {} depends on type {}.", routine.identity(), made.shown());
            return Err(error.detail(detail).into());
        }
        let tables = self.tables_that_mention(made)?;
        let mut changed = Vec::new();
        for table in tables {
            let table = self.owned_table(&table)?;
            let rules = self.renamed_rules(made, new, &table.rules)?;
            changed.push(table.with(table.schema.clone(), rules));
        }
        for view in self.view().stored_queries() {
            if self.renamed(made, new, &restored(text_of(&*view.query)?))?.is_none() {
                continue;
            }
            let Some(view) = self.owned_query(&view.name)? else { continue };
            if let Some(text) = self.renamed(made, new, &restored(text_of(&*view.query)?))? {
                self.replace_query(StoredView { query: parse_query(&text)?, ..(*view).clone() });
            }
        }
        let mut domains = Vec::new();
        for domain in self.view().domains() {
            let texts = domain.expressions().map(|written| text_of(&*written.syntax)).collect::<Result<Vec<_>, _>>()?;
            if !self.mentions(made, &texts.join(", "))? {
                continue;
            }
            let (within, plain) = schema::split(&domain.name);
            let mut changed = (*self.owned_domain(&RelationName::within(within, plain))?).clone();
            for written in changed.expressions_mut() {
                *written = self.renamed_expression(made, new, written)?;
            }
            domains.push(changed);
        }
        match made {
            NamedType::Enumeration(made) => {
                self.context.transaction.changes.enumerations.insert(made.name.clone(), None);
                self.publish_enumeration(made.renamed(new));
                for domain in domains {
                    bind_stored_domain(&domain, self.view())?;
                    self.publish_domain(domain);
                }
            }
            NamedType::Domain(made) => {
                self.context.transaction.changes.domains.insert(made.name.clone(), None);
                self.publish_domain(Domain { name: new.to_owned(), ..(**made).clone() });
            }
        }
        changed.into_iter().try_for_each(|table| self.publish_bound(table))
    }

    /// Binds the expressions of a table's new definition, which have not been bound yet, and publishes it.
    fn publish_bound(&mut self, table: Arc<Table>) -> Result<(), Fail> {
        for default in table.rules.defaults.iter().flatten() {
            bind_stored_default(default, self.view())?;
        }
        for check in &table.rules.checks {
            bind_stored_check(&check.condition, self.view())?;
        }
        for computed in &table.rules.computed {
            bind_stored_computed(&computed.value, table.schema.columns[computed.column].ty, self.view())?;
        }
        self.publish(table);
        Ok(())
    }

    /// Binds the expressions of tables again that mention a domain, or a domain over it, whose constraints have
    /// changed.
    pub(super) fn bind_again(&mut self, domain: &Arc<Domain>) -> Result<(), Fail> {
        for domain in self.with_domains_over(domain) {
            let made = NamedType::Domain(domain.clone());
            for table in self.tables_that_mention(&made)? {
                let table = self.owned_table(&table)?;
                let rules = self.renamed_rules(&made, &domain.name, &table.rules)?;
                self.publish_bound(table.with(table.schema.clone(), rules))?;
            }
        }
        Ok(())
    }

    /// Returns a domain, the domains over it, and so on.
    pub(super) fn with_domains_over(&self, domain: &Arc<Domain>) -> Vec<Arc<Domain>> {
        let all = self.view().domains();
        let (mut found, mut at) = (vec![domain.clone()], 0);
        while let Some(base) = found.get(at).map(|base| base.id()) {
            found.extend(all.iter().filter(|over| over.over == Some(base)).cloned());
            at += 1;
        }
        found
    }

    /// Returns the full names of the tables whose definitions mention a type by its name in an expression.
    fn tables_that_mention(&self, made: &NamedType) -> Result<Vec<String>, Fail> {
        let mut tables = Vec::new();
        for table in self.view().tables() {
            if self.is_named_in(made, &table)? {
                tables.push(table.name().to_owned());
            }
        }
        Ok(tables)
    }

    /// Whether an expression of a table's definition mentions a type by its name.
    fn is_named_in(&self, made: &NamedType, table: &Table) -> Result<bool, Fail> {
        for default in table.rules.defaults.iter().flatten() {
            if let DefaultSource::Written(written, _) = &default.source
                && self.mentions(made, &text_of(&*written.syntax)?)?
            {
                return Ok(true);
            }
        }
        for value in table.rules.row_expressions() {
            if self.mentions(made, &text_of(&*value.expression.syntax)?)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns a table's rules in which the expressions mention a type by its new name, and have not been bound yet.
    fn renamed_rules(&self, made: &NamedType, new: &str, rules: &Rules) -> Result<Rules, Fail> {
        let mut rules = rules.clone();
        for default in rules.defaults.iter_mut().flatten() {
            if let DefaultSource::Written(written, _) = &mut default.source {
                *written = self.renamed_expression(made, new, written)?;
            }
        }
        for value in rules.row_expressions_mut() {
            value.expression = self.renamed_expression(made, new, &value.expression)?;
        }
        Ok(rules)
    }

    /// Returns an expression that mentions a type by its new name, and has not been bound yet.
    fn renamed_expression(&self, made: &NamedType, new: &str, written: &Written) -> Result<Written, Fail> {
        let text = self.renamed(made, new, &text_of(&*written.syntax)?)?;
        let syntax = text.map_or_else(|| Ok(written.syntax.clone()), |text| parse_expr(&text))?;
        Ok(Written::new(syntax, written.styles).calling(written.functions.clone()))
    }

    /// Returns a text in which a type has its new name, or `None` if the text does not mention the type.
    fn renamed(&self, made: &NamedType, new: &str, text: &str) -> Result<Option<String>, Fail> {
        Ok(with_type_names(text, |name| self.means(name, made).then(|| qualified(new)))?)
    }

    /// Runs DROP TYPE or DROP DOMAIN for one name. `check` refuses a type that the statement does not drop.
    ///
    /// # Errors
    /// 2BP01 if definitions depend on the type and the statement does not say CASCADE.
    pub(super) fn drop_named_type(
        &mut self,
        written: &RelationName,
        if_exists: bool,
        cascade: bool,
        check: impl FnOnce(&NamedType) -> Result<(), SqlError>,
    ) -> Result<(), Fail> {
        let made = match self.owned_type(written) {
            Err(Fail::Sql(error)) if if_exists && error.state == state::UNDEFINED_OBJECT => {
                self.notice(state::SUCCESSFUL_COMPLETION, format!("{}, skipping", error.message));
                return Ok(());
            }
            made => made?,
        };
        check(&made)?;
        let (users, name) = (self.users_of(&made)?, made.shown());
        if !users.is_empty() && (!cascade || users.has_others()) {
            let message = format!("cannot drop type {name} because other objects depend on it");
            let error = SqlError::new(state::DEPENDENT_OBJECTS_STILL_EXIST, message)
                .detail(users.lines(&name, &|what, on| format!("{what} depends on type {on}")).join("\n"));
            return Err(match cascade {
                true => error.hint(
                    "DROP TYPE ... CASCADE drops columns, defaults, views and functions. Drop the other objects first.",
                ),
                false => error.hint("Use DROP ... CASCADE to drop the dependent objects too."),
            }
            .into());
        }
        match &users.lines(&name, &|what, _| format!("drop cascades to {what}"))[..] {
            [] => {}
            [line] => self.notice(state::SUCCESSFUL_COMPLETION, line.clone()),
            lines => {
                let message = format!("drop cascades to {} other objects", lines.len());
                self.notice_with(SqlError::new(state::SUCCESSFUL_COMPLETION, message).detail(lines.join("\n")));
            }
        }
        self.drop_users(&users)?;
        let changes = &mut self.context.transaction.changes;
        match made {
            NamedType::Enumeration(made) => drop(changes.enumerations.insert(made.name.clone(), None)),
            NamedType::Domain(made) => drop(changes.domains.insert(made.name.clone(), None)),
        }
        Ok(())
    }

    /// Drops the definitions that depend on a type.
    fn drop_users(&mut self, users: &Users) -> Result<(), Fail> {
        for (domain, users) in &users.domains {
            self.lock(&type_lock(&domain.name), Mode::Exclusive)?;
            self.drop_users(users)?;
            self.context.transaction.changes.domains.insert(domain.name.clone(), None);
        }
        let views: Vec<_> = users.views.iter().map(|(view, _)| view.name.clone()).collect();
        for view in &views {
            self.lock(view, Mode::Exclusive)?;
            self.drop_views_of(view, "view", &views, true)?;
            self.drop_functions_of(view, "view", true)?;
            self.remove_query(view);
        }
        for routine in &users.routines {
            self.drop_routine(routine, true)?;
        }
        for (table, column) in &users.defaults {
            let table = self.owned_table(table)?;
            let mut rules = table.rules.clone();
            let at = table.schema.column(column);
            if let Some(default) = at.and_then(|at| rules.defaults.get_mut(at)) {
                *default = None;
            }
            self.publish(table.with(table.schema.clone(), rules));
        }
        for (table, column) in &users.columns {
            let table = self.owned_table(table)?;
            self.drop_column(&table, column, true, true)?;
            let broken = self.broken_views(table.name());
            self.drop_broken(&broken)?;
        }
        Ok(())
    }

    /// Returns the definitions that depend on a type.
    pub(super) fn users_of(&self, made: &NamedType) -> Result<Users, Fail> {
        let mut users = Users::default();
        for domain in self.view().domains() {
            let is_over = match made {
                NamedType::Enumeration(_) => domain.over.is_none() && made.is_in(domain.ty.into()),
                NamedType::Domain(base) => domain.over == Some(base.id()),
            };
            if is_over {
                let over = self.users_of(&NamedType::Domain(domain.clone()))?;
                users.domains.push((domain, over));
                continue;
            }
            for check in &domain.checks {
                if self.mentions(made, &text_of(&*check.condition.syntax)?)? {
                    users.others.push(format!("constraint {} on domain {}", check.name, domain.shown()));
                }
            }
            if let Some(default) = domain.default.as_ref().and_then(|default| default.written())
                && self.mentions(made, &text_of(&*default.syntax)?)?
            {
                users.others.push(format!("default value for domain {}", domain.shown()));
            }
        }
        users.domains.sort_by_key(|(domain, _)| domain.id());
        for table in self.view().tables().iter().filter(|table| table.rules.materialized.is_none()) {
            self.users_in_table(made, table, &mut users)?;
        }
        for view in self.view().stored_queries() {
            let is_named = self.mentions(made, &text_of(&*view.query)?)?;
            let has = |column: &crate::OutputColumn| made.is_in(Declared { ty: column.ty, domain: column.domain });
            if is_named || view.columns.iter().any(has) {
                let kind = self.view().table(&view.name).map_or("view", |table| table.kind());
                users.views.push((view, kind));
            }
        }
        for procedure in self.context.view().procedures() {
            let is_declared = |ty: &ast::DataType| self.view().declared_type(ty).is_ok_and(|ty| made.is_in(ty));
            let is_named =
                self.mentions(made, &procedure.text)? || procedure.syntax.declared_types().into_iter().any(is_declared);
            let mut declared = procedure.arguments.iter().map(|argument| (argument.ty, argument.domain));
            let returns = procedure
                .function
                .as_ref()
                .is_some_and(|function| function.domain.is_some_and(|id| made.oids()[0] == id.0));
            if is_named || returns || declared.any(|(ty, domain)| made.is_in(Declared { ty, domain })) {
                users.routines.push(procedure);
            }
        }
        // What a domain over the type uses depends on that domain.
        let Users { domains, columns, views, routines, .. } = &mut users;
        columns.retain(|column| !domains.iter().any(|(_, over)| over.any(&|users| users.columns.contains(column))));
        let has_view = |users: &Users, name: &str| users.views.iter().any(|(view, _)| view.name == name);
        views.retain(|(view, _)| !domains.iter().any(|(_, over)| over.any(&|users| has_view(users, &view.name))));
        let has_routine = |users: &Users, key: &str| users.routines.iter().any(|known| known.key == key);
        routines.retain(|known| !domains.iter().any(|(_, over)| over.any(&|users| has_routine(users, &known.key))));
        Ok(users)
    }

    fn users_in_table(&self, made: &NamedType, table: &Table, users: &mut Users) -> Result<(), Fail> {
        let is_it = |ty: &Type| made.is_in((*ty).into());
        for (at, column) in table.schema.columns.iter().enumerate().rev() {
            let of_column = || (table.name().to_owned(), column.name.clone());
            let has_type = made.is_in(Declared { ty: column.ty, domain: table.domain(at) });
            if has_type {
                users.columns.push(of_column());
            }
            let Some(default) = table.rules.defaults.get(at).and_then(Option::as_ref) else { continue };
            let is_named = match &default.source {
                DefaultSource::Written(written, _) => self.mentions(made, &text_of(&*written.syntax)?)?,
                DefaultSource::NextValue(_) => false,
            };
            if !has_type && (is_named || default.types.iter().any(is_it)) {
                users.defaults.push(of_column());
            }
        }
        let concerns = |value: &RowExpression| {
            let is_named = self.mentions(made, &text_of(&*value.expression.syntax)?)?;
            let reads = value
                .positions()
                .into_iter()
                .any(|at| made.is_in(Declared { ty: table.schema.columns[at].ty, domain: table.domain(at) }));
            Ok::<_, Fail>(!reads && (is_named || value.mentioned.columns.iter().any(|(_, ty)| is_it(ty))))
        };
        for check in &table.rules.checks {
            if concerns(&check.condition)? {
                users.others.push(format!("constraint {} on table {}", check.name, table.plain_name()));
            }
        }
        for computed in &table.rules.computed {
            if concerns(&computed.value)? {
                users.others.push(of_computed(table, computed.column));
            }
        }
        Ok(())
    }

    /// Whether a text mentions a type by its name.
    fn mentions(&self, made: &NamedType, text: &str) -> Result<bool, Fail> {
        Ok(type_names(text)?.iter().any(|name| self.means(&name.parts, made)))
    }

    fn means(&self, name: &[String], made: &NamedType) -> bool {
        self.view().named_type(name).is_some_and(|found| found.oids() == made.oids())
    }
}

/// Returns the name that messages give to the object with a computed column: the index, or the generated column itself.
fn of_computed(table: &Table, column: usize) -> String {
    if let Some(index) =
        table.indexes().find(|&index| table.is_hidden(column) && table.index_columns(index).contains(&column))
    {
        return format!("index {}", table.index_name(index));
    }
    format!("column {} of table {}", table.schema.columns[column].name, table.plain_name())
}

/// Returns an expression or a query as SQL.
pub(super) fn text_of(syntax: &impl Display) -> Result<String, Fail> {
    Ok(with_room(|| Ok::<_, SqlError>(syntax.to_string()))?)
}

impl Users {
    fn is_empty(&self) -> bool {
        self.lines("", &|what, _| what.to_owned()).is_empty()
    }

    /// Whether CASCADE leaves some of the definitions.
    fn has_others(&self) -> bool {
        self.any(&|users| !users.others.is_empty())
    }

    /// Whether `test` is true for the definitions that depend on the type, or for those of a domain over it.
    fn any(&self, test: &dyn Fn(&Users) -> bool) -> bool {
        test(self) || self.domains.iter().any(|(_, users)| users.any(test))
    }

    /// Returns a line for each definition. `line` makes it of the name of the definition and the name of the type on
    /// which it depends. The name of this type is `on`.
    fn lines(&self, on: &str, line: &dyn Fn(&str, &str) -> String) -> Vec<String> {
        let mut lines = Vec::new();
        for (domain, users) in &self.domains {
            let name = domain.shown();
            lines.push(line(&format!("type {name}"), on));
            lines.extend(users.lines(&name, line));
        }
        let of = |(table, column): &(String, String)| format!("column {column} of table {}", shown(table));
        let columns = self.columns.iter().map(of);
        let defaults = self.defaults.iter().map(|column| format!("default value for {}", of(column)));
        let views = self.views.iter().map(|(view, kind)| format!("{kind} {}", shown(&view.name)));
        let routines = self.routines.iter().map(|routine| format!("function {}", routine.identity()));
        let all = columns.chain(defaults).chain(views).chain(routines).chain(self.others.iter().cloned());
        lines.extend(all.map(|what| line(&what, on)));
        lines
    }
}

/// Returns the name of the lock on a type. No relation has this name.
fn type_lock(name: &str) -> String {
    format!("\0type\0{name}")
}
