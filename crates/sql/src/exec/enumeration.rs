//! CREATE, ALTER and DROP TYPE.
//!
//! Tables, views and other definitions depend on a type: they have values of the type, or their expressions mention the
//! type by its name. While there are such definitions the type cannot be dropped. Its name stands in the stored
//! expressions, so that a new name has to be put into them.

use super::Fail;
use super::ddl::Ddl;
use super::temporary::check_move;
use crate::bind::{bind_stored_check, bind_stored_computed, bind_stored_default};
use crate::catalog::enumeration::{EnumType, qualified, shown, undefined_type};
use crate::catalog::procedure::Procedure;
use crate::catalog::view::StoredView;
use crate::catalog::{DefaultSource, RowExpression, Rules, Table, Written};
use crate::depth::with_room;
use crate::error::unsupported;
use crate::parse::enumeration::{LabelPlace, TypeChange, TypeStatement, check_label, type_names, with_type_names};
use crate::parse::window::restored;
use crate::parse::{parse_expr, parse_query};
use crate::schema::{self, RelationName};
use crate::table_lock::Mode;
use crate::types::enumeration;
use crate::{SqlError, state};
use hotrow_storage::{EnumDefinition, Enumeration, Type};
use hotrow_sync::Arc;
use sqlparser::ast;
use std::fmt::Display;

/// The definitions that depend on an enumerated type.
#[derive(Default)]
struct Users {
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
    /// Runs CREATE, ALTER or DROP TYPE.
    pub(super) fn run_type(&mut self, statement: &TypeStatement) -> Result<(), Fail> {
        match statement {
            TypeStatement::Create(name, labels) => self.create_enumeration(name, labels),
            TypeStatement::Alter(name, change) => self.alter_enumeration(name, change),
            TypeStatement::Drop { names, if_exists, cascade } => {
                names.iter().try_for_each(|name| self.drop_enumeration(name, *if_exists, *cascade))
            }
        }
    }

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

    /// Locks the types of a table's columns as [`keep_type`](Self::keep_type) does. An expression over the columns may
    /// mention labels of these types.
    pub(super) fn keep_types_of(&mut self, table: &Table) -> Result<(), Fail> {
        table.schema.columns.iter().try_for_each(|column| self.keep_type(column.ty))
    }

    /// Locks the types that an expression or a query mentions by name, as [`keep_type`](Self::keep_type) does.
    pub(super) fn keep_mentioned(&mut self, syntax: &impl Display) -> Result<(), Fail> {
        if self.view().enumerations().is_empty() {
            return Ok(());
        }
        for name in type_names(&text_of(syntax)?)? {
            if let Some(made) = self.view().named_enumeration(&name.parts) {
                self.keep_type(made.ty())?;
            }
        }
        Ok(())
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
        view.columns.iter().try_for_each(|column| self.keep_type(column.ty))?;
        for relation in &view.relations {
            if let Some(table) = self.view().table(relation) {
                self.keep_types_of(&table)?;
            }
        }
        self.keep_mentioned(&*view.query)
    }

    /// Locks the enumerated type of this name in exclusive mode, and returns it.
    ///
    /// # Errors
    /// 42704 if there is no such type.
    pub(super) fn owned_enumeration(&mut self, written: &RelationName) -> Result<Arc<EnumType>, Fail> {
        let parts = written.parts();
        let missing = || undefined_type(&parts.join("."));
        let name = self.view().named_enumeration(&parts).ok_or_else(missing)?.name.clone();
        self.lock(&type_lock(&name), Mode::Exclusive)?;
        Ok(self.view().enumeration(&name).ok_or_else(missing)?)
    }

    /// Adds the definition of a type to the transaction's changes. If the type is committed already, its labels stay as
    /// they are until the transaction commits, even for this transaction.
    pub(super) fn publish_enumeration(&mut self, made: EnumType) {
        if !self.catalog.has_enumeration(made.kept.id()) {
            // Only this transaction knows the type.
            made.kept.define(made.definition.clone());
        }
        self.context.transaction.changes.enumerations.insert(made.name.clone(), Some(Arc::new(made)));
    }

    fn create_enumeration(&mut self, written: &RelationName, labels: &[String]) -> Result<(), Fail> {
        if self.view().is_for_temporary(written) {
            return Err(unsupported("a temporary type").into());
        }
        let name = self.lasting_place(written)?;
        self.claim_type(&name)?;
        for (at, label) in labels.iter().enumerate() {
            check_label(label)?;
            if labels[..at].contains(label) {
                let message = format!("enum label \"{label}\" used more than once");
                return Err(SqlError::new(state::DUPLICATE_OBJECT, message).into());
            }
        }
        let definition = Arc::new(EnumDefinition {
            name: shown(&name),
            oids: [self.catalog.new_number(), self.catalog.new_number()],
            labels: EnumDefinition::numbered(labels.to_vec()),
        });
        let kept = Arc::new(Enumeration::new(definition.clone()));
        self.publish_enumeration(EnumType { name, kept, definition, comment: None });
        Ok(())
    }

    /// Locks the full name of a type that is to be created.
    ///
    /// # Errors
    /// 42710 if a type or a relation has the name.
    fn claim_type(&mut self, name: &str) -> Result<(), Fail> {
        self.lock(&type_lock(name), Mode::Exclusive)?;
        if self.view().enumeration(name).is_some() || self.view().has_relation(name) {
            let message = format!("type \"{}\" already exists", schema::plain(name));
            return Err(SqlError::new(state::DUPLICATE_OBJECT, message).into());
        }
        Ok(())
    }

    fn alter_enumeration(&mut self, written: &RelationName, change: &TypeChange) -> Result<(), Fail> {
        let made = self.owned_enumeration(written)?;
        match change {
            TypeChange::Owner(role) => self.check_owner(role)?,
            TypeChange::AddLabel { label, if_not_exists, place } => {
                check_label(label)?;
                if made.definition.number(label).is_some() {
                    let message = format!("enum label \"{label}\" already exists");
                    if !if_not_exists {
                        return Err(SqlError::new(state::DUPLICATE_OBJECT, message).into());
                    }
                    self.notice(state::DUPLICATE_OBJECT, format!("{message}, skipping"));
                    return Ok(());
                }
                self.publish_enumeration(made.relabelled(with_label(&made.definition, label, place)?));
            }
            TypeChange::RenameLabel(old, new) => {
                check_label(new)?;
                let mut labels = made.definition.labels.clone();
                if made.definition.number(new).is_some() {
                    let message = format!("enum label \"{new}\" already exists");
                    return Err(SqlError::new(state::DUPLICATE_OBJECT, message).into());
                }
                let found = labels.iter_mut().find(|(_, label)| label == old);
                found.ok_or_else(|| no_label(old))?.1.clone_from(new);
                self.relabel(&made, old, made.relabelled(labels))?;
            }
            TypeChange::Rename(new) => self.move_enumeration(&made, &schema::full(schema::split(&made.name).0, new))?,
            TypeChange::SetSchema(within) => {
                let name = schema::plain(&made.name).to_owned();
                check_move(&made.name, within)?;
                let place = self.lasting_place(&RelationName::within(within, &name))?;
                if place != made.name {
                    self.move_enumeration(&made, &place)?;
                }
            }
        }
        Ok(())
    }

    /// Changes the full name of a type, also in the stored expressions and queries that mention the type.
    ///
    /// # Errors
    /// 0A000 if a procedure or function mentions the type.
    pub(super) fn move_enumeration(&mut self, made: &EnumType, new: &str) -> Result<(), Fail> {
        self.claim_type(new)?;
        let users = self.users_of(made)?;
        if let Some(routine) = users.routines.first() {
            let error = unsupported("another name of a type that a function mentions");
            let detail = format!("function {} depends on type {}.", routine.identity(), made.definition.name);
            return Err(error.detail(detail).into());
        }
        let mut tables = Vec::new();
        for table in self.view().tables() {
            if self.is_named_in(made, &table)? {
                tables.push(table.name().to_owned());
            }
        }
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
        self.context.transaction.changes.enumerations.insert(made.name.clone(), None);
        self.publish_enumeration(made.renamed(new));
        for table in changed {
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
        }
        Ok(())
    }

    /// Whether an expression of a table's definition mentions a type by its name.
    fn is_named_in(&self, made: &EnumType, table: &Table) -> Result<bool, Fail> {
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

    /// Returns a table's rules in which the expressions mention a type by its new name.
    fn renamed_rules(&self, made: &EnumType, new: &str, rules: &Rules) -> Result<Rules, Fail> {
        let mut rules = rules.clone();
        let again = |written: &Written| {
            let text = self.renamed(made, new, &text_of(&*written.syntax)?)?;
            let syntax = text.map_or_else(|| Ok(written.syntax.clone()), |text| parse_expr(&text))?;
            Ok::<_, Fail>(Written::new(syntax, written.styles).calling(written.functions.clone()))
        };
        for default in rules.defaults.iter_mut().flatten() {
            if let DefaultSource::Written(written, _) = &mut default.source {
                *written = again(written)?;
            }
        }
        for value in rules.row_expressions_mut() {
            value.expression = again(&value.expression)?;
        }
        Ok(rules)
    }

    /// Returns a text in which a type has its new name, or `None` if the text does not mention the type.
    fn renamed(&self, made: &EnumType, new: &str, text: &str) -> Result<Option<String>, Fail> {
        Ok(with_type_names(text, |name| self.means(name, made).then(|| qualified(new)))?)
    }

    pub(super) fn drop_enumeration(
        &mut self,
        written: &RelationName,
        if_exists: bool,
        cascade: bool,
    ) -> Result<(), Fail> {
        let made = match self.owned_enumeration(written) {
            Err(Fail::Sql(error)) if if_exists && error.state == state::UNDEFINED_OBJECT => {
                self.notice(state::SUCCESSFUL_COMPLETION, format!("{}, skipping", error.message));
                return Ok(());
            }
            made => made?,
        };
        let users = self.users_of(&made)?;
        if !users.is_empty() && (!cascade || !users.others.is_empty()) {
            let message = format!("cannot drop type {} because other objects depend on it", made.definition.name);
            let error = SqlError::new(state::DEPENDENT_OBJECTS_STILL_EXIST, message)
                .detail(users.lines(|what| format!("{what} depends on type {}", made.definition.name)).join("\n"));
            return Err(match cascade {
                true => error.hint(
                    "DROP TYPE ... CASCADE drops columns, defaults, views and functions. Drop the other objects first.",
                ),
                false => error.hint("Use DROP ... CASCADE to drop the dependent objects too."),
            }
            .into());
        }
        match &users.lines(|what| format!("drop cascades to {what}"))[..] {
            [] => {}
            [line] => self.notice(state::SUCCESSFUL_COMPLETION, line.clone()),
            lines => {
                let message = format!("drop cascades to {} other objects", lines.len());
                self.notice_with(SqlError::new(state::SUCCESSFUL_COMPLETION, message).detail(lines.join("\n")));
            }
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
        }
        self.context.transaction.changes.enumerations.insert(made.name.clone(), None);
        Ok(())
    }

    /// Returns the definitions that depend on a type.
    fn users_of(&self, made: &EnumType) -> Result<Users, Fail> {
        let is_it = |ty: &Type| enumeration(*ty) == Some(made.kept.id());
        let mut users = Users::default();
        for table in self.view().tables().iter().filter(|table| table.rules.materialized.is_none()) {
            self.users_in_table(made, table, &mut users)?;
        }
        for view in self.view().stored_queries() {
            let is_named = self.mentions(made, &text_of(&*view.query)?)?;
            if is_named || view.columns.iter().any(|column| is_it(&column.ty)) {
                let kind = self.view().table(&view.name).map_or("view", |table| table.kind());
                users.views.push((view, kind));
            }
        }
        for procedure in self.context.view().procedures() {
            let is_declared = |ty: &ast::DataType| self.view().data_type(ty).is_ok_and(|ty| is_it(&ty));
            let is_named =
                self.mentions(made, &procedure.text)? || procedure.syntax.declared_types().into_iter().any(is_declared);
            if is_named || procedure.arguments.iter().any(|argument| is_it(&argument.ty)) {
                users.routines.push(procedure);
            }
        }
        Ok(users)
    }

    fn users_in_table(&self, made: &EnumType, table: &Table, users: &mut Users) -> Result<(), Fail> {
        let is_it = |ty: &Type| enumeration(*ty) == Some(made.kept.id());
        for (at, column) in table.schema.columns.iter().enumerate() {
            let of_column = || (table.name().to_owned(), column.name.clone());
            let has_type = is_it(&column.ty);
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
            let reads = value.positions().into_iter().any(|at| is_it(&table.schema.columns[at].ty));
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
    fn mentions(&self, made: &EnumType, text: &str) -> Result<bool, Fail> {
        Ok(type_names(text)?.iter().any(|name| self.means(&name.parts, made)))
    }

    fn means(&self, name: &[String], made: &EnumType) -> bool {
        self.view().named_enumeration(name).is_some_and(|found| Arc::ptr_eq(&found.kept, &made.kept))
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
fn text_of(syntax: &impl Display) -> Result<String, Fail> {
    Ok(with_room(|| Ok::<_, SqlError>(syntax.to_string()))?)
}

impl Users {
    fn is_empty(&self) -> bool {
        self.lines(|line| line).is_empty()
    }

    /// Returns a line for each definition, which `line` makes of the definition's name in messages.
    fn lines(&self, line: impl Fn(String) -> String) -> Vec<String> {
        let of = |(table, column): &(String, String)| format!("column {column} of table {}", shown(table));
        let columns = self.columns.iter().map(of);
        let defaults = self.defaults.iter().map(|column| format!("default value for {}", of(column)));
        let views = self.views.iter().map(|(view, kind)| format!("{kind} {}", shown(&view.name)));
        let routines = self.routines.iter().map(|routine| format!("function {}", routine.identity()));
        columns.chain(defaults).chain(views).chain(routines).chain(self.others.iter().cloned()).map(line).collect()
    }
}

/// Returns the labels of a type together with a new label in the given place.
///
/// # Errors
/// 22023 if the place is beside a label that the type does not have, 54000 if no number is left in the place.
fn with_label(known: &EnumDefinition, label: &str, place: &LabelPlace) -> Result<Vec<(i32, String)>, SqlError> {
    let position = |label: &str| {
        let found = known.labels.iter().position(|(_, known)| known == label);
        found.ok_or_else(|| no_label(label))
    };
    let at = match place {
        LabelPlace::Last => known.labels.len(),
        LabelPlace::Before(next) => position(next)?,
        LabelPlace::After(previous) => position(previous)? + 1,
    };
    let number = known.number_at(at).ok_or_else(|| {
        let message = format!("there is no room for another label of type {} in this place", known.name);
        SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, message)
            .hint("Make a new type with all labels, and change the columns to it.")
    })?;
    let mut labels = known.labels.clone();
    labels.insert(at, (number, label.to_owned()));
    Ok(labels)
}

fn no_label(label: &str) -> SqlError {
    SqlError::new(state::INVALID_PARAMETER_VALUE, format!("\"{label}\" is not an existing enum label"))
}

/// Returns the name of the lock on a type. No relation has this name.
fn type_lock(name: &str) -> String {
    format!("\0type\0{name}")
}
