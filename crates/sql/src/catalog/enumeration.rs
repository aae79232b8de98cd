//! Enumerated types that users have made.

use crate::schema::{self, PUBLIC, quoted};
use crate::{SqlError, state};
use hotrow_storage::{Element, EnumDefinition, Enumeration, Type};
use hotrow_sync::Arc;

/// An enumerated type. All definitions of one type share its [`Enumeration`], so that the type exists as long as the
/// catalog or a transaction has one of them.
#[derive(Clone, Debug)]
pub struct EnumType {
    /// The [full name](crate::schema) of the type.
    pub name: String,
    /// The type in storage. Its definition is the one that was committed last.
    pub kept: Arc<Enumeration>,
    /// The labels and OIDs, as this definition has them.
    pub definition: Arc<EnumDefinition>,
    /// The comment that COMMENT ON TYPE has set.
    pub comment: Option<String>,
}

impl EnumType {
    /// Returns the type of the values, as storage knows it.
    pub fn ty(&self) -> Type {
        Type::Enum(self.kept.id())
    }

    /// Returns the type of arrays of this type.
    pub fn array_type(&self) -> Type {
        Type::Array(Element::Enum(self.kept.id()))
    }

    /// Returns the type under another full name.
    pub fn renamed(&self, name: &str) -> Self {
        let definition = EnumDefinition { name: shown(name), ..(*self.definition).clone() };
        Self { name: name.to_owned(), definition: Arc::new(definition), ..self.clone() }
    }

    /// Returns the type with other labels.
    pub fn relabelled(&self, labels: Vec<(i32, String)>) -> Self {
        let definition = EnumDefinition { labels, ..(*self.definition).clone() };
        Self { definition: Arc::new(definition), ..self.clone() }
    }
}

/// Returns the name of a type as messages and catalogs show it: with its schema unless that is `public`.
pub fn shown(full: &str) -> String {
    match schema::split(full) {
        (PUBLIC, name) => quoted(name),
        (schema, name) => format!("{}.{}", quoted(schema), quoted(name)),
    }
}

/// Returns the name of a type with its schema, as SQL writes it.
pub fn qualified(full: &str) -> String {
    let (within, name) = schema::split(full);
    format!("{}.{}", quoted(within), quoted(name))
}

/// Returns error 42704, which says that there is no such type.
pub fn undefined_type(name: &str) -> SqlError {
    SqlError::new(state::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist"))
}
