//! The search path: the schemas in which a relation is looked up if its name is written without a schema, and in which
//! a new relation is created.

use super::definitions::View;
use super::table::Table;
use super::temporary;
use crate::catalog::procedure::Procedure;
use crate::catalog::sequence::Sequence;
use crate::parse::written_name;
use crate::schema::{
    PUBLIC, RelationName, SearchPath, full, parse_path, quoted, split, undefined_schema, undefined_table,
};
use crate::{SqlError, state};
use hotrow_sync::Arc;

/// The schemas of the system relations, in which users cannot create relations.
const OF_SYSTEM: [&str; 2] = ["pg_catalog", "information_schema"];

impl View<'_> {
    /// Whether there is a schema of this name: `public`, one that a user has created, or that of the session's
    /// temporary relations. Schemas of the system do not count.
    pub fn has_schema(&self, name: &str) -> bool {
        match self.schema(name) {
            Some(schema) => !schema.is_dropped,
            None => name == PUBLIC || name == temporary::ALIAS || self.temporary.schema() == Some(name),
        }
    }

    /// Whether there is a schema of this name, of users or of the system.
    pub fn knows_schema(&self, name: &str) -> bool {
        self.has_schema(name) || OF_SYSTEM.contains(&name)
    }

    /// Checks that a written name does not refer to another database.
    ///
    /// # Errors
    /// 0A000 if it does.
    pub fn check_database(&self, name: &RelationName) -> Result<(), SqlError> {
        match &name.database {
            Some(database) if database != self.database => {
                let message = format!("cross-database references are not implemented: \"{name}\"");
                Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message))
            }
            _ => Ok(()),
        }
    }

    /// Resolves the name of a schema as a statement writes it. `pg_temp` means the schema of the session's temporary
    /// relations, if there is one; any other name means itself.
    pub fn schema_of<'n>(&'n self, written: &'n str) -> &'n str {
        self.temporary.schema().filter(|_| written == temporary::ALIAS).unwrap_or(written)
    }

    /// Whether a temporary relation hides the system relation of this name.
    pub fn hides_system(&self, name: &RelationName) -> bool {
        let own = self.implicit_schema().filter(|_| name.schema.is_none());
        own.is_some_and(|schema| self.has_relation(&full(schema, &name.name)))
    }

    /// Whether a relation that is created under this name is temporary, even if the statement does not say so.
    pub fn is_for_temporary(&self, name: &RelationName) -> bool {
        let first = || self.path.filter(|path| !path.starts_implicitly).and_then(|path| path.schemas.first());
        let schema = name.schema.as_ref().or_else(first);
        schema.is_some_and(|schema| schema == temporary::ALIAS || self.temporary.schema() == Some(schema))
    }

    /// Resolves a written name to the full name of its relation. If the search path has no such relation, the result is
    /// a full name that no relation has.
    pub fn find(&self, name: &RelationName) -> String {
        match (&name.schema, self.path) {
            _ if self.check_database(name).is_err() => full("", &name.name),
            (Some(schema), _) => full(self.schema_of(schema), &name.name),
            (None, None) => name.name.clone(),
            (None, Some(path)) => {
                let mut places = path.schemas.iter().map(|schema| full(schema, &name.name));
                places.find(|place| self.has_relation(place)).unwrap_or_else(|| full("", &name.name))
            }
        }
    }

    /// Resolves a written name of a constraint to its full name: that in its schema, or else in the first schema of the
    /// search path that has it. Tables of one schema may each have a constraint of the name. The second value tells
    /// whether all of these are deferrable.
    ///
    /// # Errors
    /// 42704 if there is no such constraint, 3F000 if the written schema does not exist, 0A000 if the name refers to
    /// another database.
    pub fn named_constraint(&self, name: &RelationName) -> Result<(String, bool), SqlError> {
        self.check_database(name)?;
        let schemas: Vec<&str> = match (&name.schema, self.path) {
            (Some(schema), _) if !self.knows_schema(schema) => return Err(undefined_schema(schema)),
            (Some(schema), _) => vec![self.schema_of(schema)],
            (None, Some(path)) => path.schemas.iter().map(String::as_str).collect(),
            (None, None) => vec![PUBLIC],
        };
        let tables = self.tables();
        for schema in schemas {
            let in_schema = tables.iter().filter(|table| table.schema_name() == schema && table.has_name(&name.name));
            let is_deferrable = |table: &Arc<Table>| table.foreign_key(&name.name).is_some_and(|key| key.deferrable);
            let mut deferrable = in_schema.map(is_deferrable).peekable();
            if deferrable.peek().is_some() {
                return Ok((full(schema, &name.name), deferrable.all(|is_deferrable| is_deferrable)));
            }
        }
        Err(SqlError::new(state::UNDEFINED_OBJECT, format!("constraint \"{}\" does not exist", name.name)))
    }

    /// Returns the procedures and functions that a written name may mean: those of its schema, or else those of the
    /// schemas of the search path, in its order.
    pub fn routines(&self, name: &RelationName) -> Vec<Arc<Procedure>> {
        match (&name.schema, self.path) {
            _ if self.check_database(name).is_err() => Vec::new(),
            (Some(schema), _) => self.procedures_named(&full(self.schema_of(schema), &name.name)),
            (None, None) => self.procedures_named(&name.name),
            (None, Some(path)) => {
                let named = |schema: &String| self.procedures_named(&full(schema, &name.name));
                path.schemas.iter().flat_map(named).collect()
            }
        }
    }

    /// Returns the procedures and functions that a written name may mean, without those that have the same types of
    /// arguments as one before them.
    pub fn visible_routines(&self, name: &RelationName) -> Vec<Arc<Procedure>> {
        let mut visible: Vec<Arc<Procedure>> = Vec::new();
        for found in self.routines(name) {
            if !visible.iter().any(|known| known.has_inputs_of(&found)) {
                visible.push(found);
            }
        }
        visible
    }

    /// Whether the search path finds a procedure or function by its name without the schema.
    pub fn is_visible_routine(&self, procedure: &Procedure) -> bool {
        let found = self.visible_routines(&RelationName::alone(procedure.plain_name()));
        found.iter().any(|known| known.key == procedure.key)
    }

    /// Formats the name of a procedure or function for this search path: with the schema only if it is not found
    /// without it. Names are quoted where necessary.
    pub fn written_routine(&self, procedure: &Procedure) -> String {
        let name = quoted(procedure.plain_name());
        match self.is_visible_routine(procedure) {
            true => name,
            false => format!("{}.{name}", quoted(procedure.schema_name())),
        }
    }

    /// Returns the sequence that a text names, such as the argument of `nextval`: `s`, `"S"`, `public.s`.
    ///
    /// # Errors
    ///
    /// 42P01 if there is no relation of this name, 42809 if the relation is no sequence.
    pub fn named_sequence(&self, name: &str) -> Result<Arc<Sequence>, SqlError> {
        let name = self.find(&written_name(name)?);
        self.sequence(&name).ok_or_else(|| match self.has_relation(&name) {
            true => SqlError::new(state::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a sequence")),
            false => undefined_table(&name),
        })
    }

    /// Returns the full name of a relation that is about to be created under this name.
    ///
    /// # Errors
    ///
    /// 3F000 if the written schema does not exist, or if no schema of the search path exists; 42501 if the schema
    /// belongs to the system; 0A000 if the name refers to another database.
    pub fn place(&self, name: &RelationName) -> Result<String, SqlError> {
        self.check_database(name)?;
        let schema = match &name.schema {
            Some(schema) if !self.knows_schema(schema) => {
                return Err(undefined_schema(schema));
            }
            Some(schema) => self.schema_of(schema),
            None => self
                .current_schema()
                .ok_or_else(|| SqlError::new(state::INVALID_SCHEMA_NAME, "no schema has been selected to create in"))?,
        };
        if OF_SYSTEM.contains(&schema) {
            let message = format!("permission denied to create \"{schema}.{}\"", name.name);
            return Err(SqlError::new(state::INSUFFICIENT_PRIVILEGE, message)
                .detail("System catalog modifications are currently disallowed."));
        }
        Ok(full(schema, &name.name))
    }

    /// Returns the first schema of the search path that exists, in which new relations are created, or `None` if none
    /// of them exists. The schema of the temporary relations counts only if the setting mentions it.
    pub fn current_schema(&self) -> Option<&str> {
        self.path_schemas().next()
    }

    /// Returns the schemas of the search path that exist, in the order of the path, without that of the temporary
    /// relations if the setting does not mention it.
    pub fn path_schemas(&self) -> impl Iterator<Item = &str> {
        let path = self.path.map(|path| &path.schemas[usize::from(path.starts_implicitly)..]);
        let public = path.is_none().then_some(PUBLIC).filter(|name| self.has_schema(name));
        let there = |name: &&str| (self.has_schema(name) && *name != temporary::ALIAS) || OF_SYSTEM.contains(name);
        path.unwrap_or_default().iter().map(String::as_str).filter(there).chain(public)
    }

    /// Returns the schema of the session's temporary relations if the search path begins with it although the setting
    /// does not mention it.
    pub fn implicit_schema(&self) -> Option<&str> {
        self.path.filter(|path| path.starts_implicitly).and_then(|path| path.schemas.first()).map(String::as_str)
    }

    /// Whether the name of a relation, written without its schema, refers to this relation.
    pub fn is_visible(&self, full_name: &str) -> bool {
        let (schema, name) = split(full_name);
        match self.path {
            None => schema == PUBLIC,
            Some(_) => self.find(&RelationName::alone(name)) == full_name,
        }
    }

    /// Formats a full name for this search path: with the schema only if the relation is not found without it. Names
    /// are quoted where necessary.
    pub fn written(&self, full_name: &str) -> String {
        let (schema, name) = split(full_name);
        if self.is_visible(full_name) { quoted(name) } else { format!("{}.{}", quoted(schema), quoted(name)) }
    }
}

/// Returns the search path of a procedure's body, which is that of `view` unless the procedure sets another one.
pub fn path_of_body(procedure: &Procedure, view: View<'_>) -> Option<Arc<SearchPath>> {
    match &procedure.path {
        Some(setting) => effective(setting, "", view),
        None => view.path.cloned(),
    }
}

/// Converts the value of the setting `search_path` to a search path, or to `None` if it is `public` alone. `$user`
/// stands for the schema with the user's name, and is left out if there is none.
pub fn effective(setting: &str, user: &str, view: View<'_>) -> Option<Arc<SearchPath>> {
    let mut schemas = parse_path(setting).unwrap_or_default();
    schemas.retain(|name| name != "$user" || view.has_schema(user));
    for name in schemas.iter_mut().filter(|name| *name == "$user") {
        user.clone_into(name);
    }
    let mut starts_implicitly = false;
    if let Some(own) = view.temporary.schema() {
        for name in schemas.iter_mut().filter(|name| *name == temporary::ALIAS) {
            own.clone_into(name);
        }
        starts_implicitly = !schemas.iter().any(|name| name == own);
        if starts_implicitly {
            schemas.insert(0, own.to_owned());
        }
    }
    let path = SearchPath { schemas, starts_implicitly, version: view.temporary.version() };
    if path.schemas == [PUBLIC] { None } else { Some(path.into()) }
}
