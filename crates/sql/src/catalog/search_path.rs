//! The search path: which relation a name means that is written without a schema, and in which schema a new one is
//! made.

use crate::catalog::View;
use crate::catalog::sequence::Sequence;
use crate::parse::written_name;
use crate::schema::{PUBLIC, RelationName, full, parse_path, quoted, split, undefined_schema, undefined_table};
use crate::{SqlError, state};
use hotrow_sync::Arc;

/// The schemas of the system relations.
const OF_SYSTEM: [&str; 2] = ["pg_catalog", "information_schema"];

impl View<'_> {
    /// Whether there is a schema of the user, or `public`.
    pub fn has_schema(&self, name: &str) -> bool {
        name == PUBLIC || self.schema(name).is_some()
    }

    /// The full name of the relation that a written name means. If there is none, it is a name that no relation has.
    pub fn find(&self, name: &RelationName) -> String {
        match (&name.schema, self.path) {
            (Some(schema), _) => full(schema, &name.name),
            (None, None) => name.name.clone(),
            (None, Some(path)) => {
                let mut places = path.iter().map(|schema| full(schema, &name.name));
                places.find(|place| self.has_relation(place)).unwrap_or_else(|| full("", &name.name))
            }
        }
    }

    /// The sequence of a name as functions are given it: `s`, `"S"`, `public.s`.
    ///
    /// # Errors
    /// There is no relation of this name, or it is no sequence.
    pub fn named_sequence(&self, name: &str) -> Result<Arc<Sequence>, SqlError> {
        let name = self.find(&written_name(name)?);
        self.sequence(&name).ok_or_else(|| match self.has_relation(&name) {
            true => SqlError::new(state::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a sequence")),
            false => undefined_table(&name),
        })
    }

    /// The full name of a relation that is to be made.
    ///
    /// # Errors
    /// There is no such schema, or none on the path, or nobody may make anything there.
    pub fn place(&self, name: &RelationName) -> Result<String, SqlError> {
        let schema = match &name.schema {
            Some(schema) if !self.has_schema(schema) && !OF_SYSTEM.contains(&schema.as_str()) => {
                return Err(undefined_schema(schema));
            }
            Some(schema) => schema.as_str(),
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

    /// The first schema of the path that there is.
    pub fn current_schema(&self) -> Option<&str> {
        self.path_schemas().next()
    }

    /// The schemas of the path that there are.
    pub fn path_schemas(&self) -> impl Iterator<Item = &str> {
        let path = self.path.map(|path| &path[..]);
        let public = path.is_none().then_some(PUBLIC);
        let there = |name: &&str| self.has_schema(name) || OF_SYSTEM.contains(name);
        path.unwrap_or_default().iter().map(String::as_str).filter(there).chain(public)
    }

    /// Whether a relation is found by its name without its schema.
    pub fn is_visible(&self, full_name: &str) -> bool {
        let (schema, name) = split(full_name);
        match self.path {
            None => schema == PUBLIC,
            Some(_) => self.find(&RelationName { schema: None, name: name.to_owned() }) == full_name,
        }
    }

    /// A full name as it has to be written here: with its schema if it is not found without.
    pub fn written(&self, full_name: &str) -> String {
        let (schema, name) = split(full_name);
        if self.is_visible(full_name) { quoted(name) } else { format!("{}.{}", quoted(schema), quoted(name)) }
    }
}

/// The path on which relations are looked for; none if that is `public` only.
pub fn effective(setting: &str, user: &str, view: View<'_>) -> Option<Arc<[String]>> {
    let mut path = parse_path(setting).unwrap_or_default();
    path.retain(|name| name != "$user" || view.has_schema(user));
    for name in path.iter_mut().filter(|name| *name == "$user") {
        user.clone_into(name);
    }
    if path == [PUBLIC] { None } else { Some(path.into()) }
}
