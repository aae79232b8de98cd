//! The types that names and OIDs mean: built-in ones, and those that users have made.

use super::definitions::View;
use super::domain::Domain;
use super::enumeration::{EnumType, qualified, shown};
use crate::SqlError;
use crate::error::unsupported;
use crate::parse::data_type_among;
use crate::parse::enumeration::with_type_names;
use crate::schema;
use crate::types::{DomainId, enumeration, from_oid, type_name};
use hotrow_storage::{EnumId, Type};
use hotrow_sync::Arc;
use sqlparser::ast;
use std::cell::Cell;

/// A type that a user has made.
#[derive(Clone, Debug)]
pub enum NamedType {
    /// An enumerated type.
    Enumeration(Arc<EnumType>),
    /// A domain.
    Domain(Arc<Domain>),
}

impl NamedType {
    /// Returns the [full name](crate::schema) of the type.
    pub fn name(&self) -> &str {
        match self {
            NamedType::Enumeration(made) => &made.name,
            NamedType::Domain(made) => &made.name,
        }
    }

    /// Returns the OIDs of the type and of its array type.
    pub fn oids(&self) -> [u32; 2] {
        match self {
            NamedType::Enumeration(made) => made.definition.oids,
            NamedType::Domain(made) => made.oids,
        }
    }

    /// Returns the name of the type as messages show it.
    pub fn shown(&self) -> String {
        shown(self.name())
    }

    /// Whether a declared type is this one or an array of it, or a built-in type.
    pub fn is_in(&self, declared: Declared) -> bool {
        match self {
            NamedType::Enumeration(made) => enumeration(declared.ty) == Some(made.kept.id()),
            NamedType::Domain(made) => declared.domain == Some(made.id()),
        }
    }
}

/// A type as a statement declares it: the type of the values, and the domain that restricts them, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declared {
    /// The type of the values, which is the base type of the domain.
    pub ty: Type,
    /// The domain.
    pub domain: Option<DomainId>,
}

impl From<Type> for Declared {
    fn from(ty: Type) -> Self {
        Self { ty, domain: None }
    }
}

impl View<'_> {
    /// Returns the type of a user that a name means, or `None` if there is none. `parts` are the schema, if it is
    /// written, and the name within it.
    pub fn named_type(&self, parts: &[String]) -> Option<NamedType> {
        let of_name = |full: String| {
            let made = self.enumeration(&full).map(NamedType::Enumeration);
            made.or_else(|| self.domain(&full).map(NamedType::Domain))
        };
        match parts {
            [name] => self.path_schemas().find_map(|within| of_name(schema::full(within, name))),
            [within, name] => of_name(schema::full(within, name)),
            _ => None,
        }
    }

    /// Returns the types of users that the transaction sees.
    pub fn named_types(&self) -> Vec<NamedType> {
        let enumerations = self.enumerations().into_iter().map(NamedType::Enumeration);
        enumerations.chain(self.domains().into_iter().map(NamedType::Domain)).collect()
    }

    /// Returns the enumerated type with this id, as the transaction sees it.
    pub fn enumeration_of(&self, id: EnumId) -> Option<Arc<EnumType>> {
        self.enumerations().into_iter().find(|known| known.kept.id() == id)
    }

    /// Whether this is still the current definition of the type.
    pub fn is_enumeration(&self, known: &Arc<EnumType>) -> bool {
        self.enumeration(&known.name).is_some_and(|now| Arc::ptr_eq(&now, known))
    }

    /// Returns the domain with this identity, as the transaction sees it.
    pub fn domain_of(&self, id: DomainId) -> Option<Arc<Domain>> {
        self.domains().into_iter().find(|known| known.id() == id)
    }

    /// Returns a domain, the domain over which it is defined, and so on.
    pub fn domain_and_bases(&self, id: DomainId) -> Vec<Arc<Domain>> {
        let all = self.domains();
        let mut next = Some(id);
        let mut found: Vec<Arc<Domain>> = Vec::new();
        while let Some(domain) = all.iter().find(|known| Some(known.id()) == next) {
            next = domain.over;
            found.push(domain.clone());
        }
        found
    }

    /// Whether this is still the current definition of the domain.
    pub fn is_domain(&self, known: &Arc<Domain>) -> bool {
        self.domain(&known.name).is_some_and(|now| Arc::ptr_eq(&now, known))
    }

    /// Returns the type that a type's name means where no domain can stand: a built-in one, or an enumerated type.
    ///
    /// # Errors
    /// 42704 if there is no such type, 0A000 if Hotrow does not have it, or if it is a domain.
    pub fn data_type(&self, ty: &ast::DataType) -> Result<Type, SqlError> {
        match self.declared_type(ty)? {
            Declared { ty, domain: None } => Ok(ty),
            Declared { .. } => Err(unsupported("a domain in this place")),
        }
    }

    /// Returns the type that a type's name means: a built-in one, or one that a user has made.
    ///
    /// # Errors
    /// 42704 if there is no such type, 0A000 if Hotrow does not have it, or if it is an array of a domain.
    pub fn declared_type(&self, ty: &ast::DataType) -> Result<Declared, SqlError> {
        let domain = Cell::new(None);
        let base = data_type_among(ty, &|name| match self.named_type(name)? {
            NamedType::Enumeration(made) => Some(made.ty()),
            NamedType::Domain(made) => {
                domain.set(Some(made.id()));
                Some(made.ty)
            }
        })?;
        match (ty, domain.get()) {
            (ast::DataType::Array(_), Some(_)) => Err(unsupported("an array of a domain")),
            (_, domain) => Ok(Declared { ty: base, domain }),
        }
    }

    /// Returns the type of values of a domain, or of a type without one. A signature has the base type without its
    /// length or precision, but a value of the domain has to fit the whole type.
    pub fn declared(&self, ty: Type, domain: Option<DomainId>) -> Declared {
        let made = domain.and_then(|id| self.domain_of(id));
        Declared { ty: made.map_or(ty, |made| made.ty), domain }
    }

    /// Returns the name of a type for messages: that of its domain, if it has one. Without a type, it is `unknown`.
    pub fn shown_type(&self, ty: Option<Type>, domain: Option<DomainId>) -> String {
        domain.and_then(|id| self.domain_of(id)).map_or_else(|| type_name(ty), |made| made.shown())
    }

    /// Returns a text in which the names of users' types have their schemas, so that the text means the same types
    /// under each search path. Returns `None` if the text mentions no such type.
    ///
    /// # Errors
    /// 42601 if the text cannot be split into tokens.
    pub fn with_qualified_types(&self, text: &str) -> Result<Option<String>, SqlError> {
        with_type_names(text, |name| self.named_type(name).map(|made| qualified(made.name())))
    }

    /// Returns the type with this OID and modifier, built in or made by a user.
    pub fn type_of_oid(&self, oid: u32, typmod: i32) -> Option<Declared> {
        let made = |known: &Arc<EnumType>| match known.definition.oids {
            [own, _] if own == oid => Some(known.ty()),
            [_, array] if array == oid => Some(known.array_type()),
            _ => None,
        };
        let of_domain = || self.domain_of(DomainId(oid)).map(|made| Declared { ty: made.ty, domain: Some(made.id()) });
        let plain = from_oid(oid, typmod).or_else(|| self.enumerations().iter().find_map(made));
        plain.map(Declared::from).or_else(of_domain)
    }
}
