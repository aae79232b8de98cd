//! The types that names and OIDs mean: built-in ones, and those that users have made.

use super::definitions::View;
use super::enumeration::{EnumType, qualified};
use crate::SqlError;
use crate::parse::data_type_among;
use crate::parse::enumeration::with_type_names;
use crate::schema;
use crate::types::from_oid;
use hotrow_storage::{EnumId, Type};
use hotrow_sync::Arc;
use sqlparser::ast;

impl View<'_> {
    /// Returns the enumerated type that a name means, or `None` if there is none. `parts` are the schema, if it is
    /// written, and the name within it.
    pub fn named_enumeration(&self, parts: &[String]) -> Option<Arc<EnumType>> {
        match parts {
            [name] => self.path_schemas().find_map(|within| self.enumeration(&schema::full(within, name))),
            [within, name] => self.enumeration(&schema::full(within, name)),
            _ => None,
        }
    }

    /// Returns the enumerated type with this id, as the transaction sees it.
    pub fn enumeration_of(&self, id: EnumId) -> Option<Arc<EnumType>> {
        self.enumerations().into_iter().find(|known| known.kept.id() == id)
    }

    /// Whether this is still the current definition of the type.
    pub fn is_enumeration(&self, known: &Arc<EnumType>) -> bool {
        self.enumeration(&known.name).is_some_and(|now| Arc::ptr_eq(&now, known))
    }

    /// Returns the type that a type's name means: a built-in one, or one that a user has made.
    ///
    /// # Errors
    /// 42704 if there is no such type, 0A000 if Hotrow does not have it.
    pub fn data_type(&self, ty: &ast::DataType) -> Result<Type, SqlError> {
        data_type_among(ty, &|name| self.named_enumeration(name).map(|found| found.ty()))
    }

    /// Returns a text in which the names of enumerated types have their schemas, so that the text means the same types
    /// under each search path. Returns `None` if the text mentions no such type.
    ///
    /// # Errors
    /// 42601 if the text cannot be split into tokens.
    pub fn with_qualified_types(&self, text: &str) -> Result<Option<String>, SqlError> {
        with_type_names(text, |name| self.named_enumeration(name).map(|made| qualified(&made.name)))
    }

    /// Returns the type with this OID and modifier, built in or made by a user.
    pub fn type_of_oid(&self, oid: u32, typmod: i32) -> Option<Type> {
        let made = |known: &Arc<EnumType>| match known.definition.oids {
            [own, _] if own == oid => Some(known.ty()),
            [_, array] if array == oid => Some(known.array_type()),
            _ => None,
        };
        from_oid(oid, typmod).or_else(|| self.enumerations().iter().find_map(made))
    }
}
