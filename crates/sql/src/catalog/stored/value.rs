//! The parts of definitions that several kinds of definitions have: types, styles, expressions, comments.

use crate::catalog::enumeration::EnumType;
use crate::catalog::{Comments, DefaultSource, DefaultValue, Part, Written};
use crate::depth::{Syntax, with_room};
use crate::parse::parse_expr;
use crate::schema::RelationName;
use crate::types::{DateOrder, DateStyle, IntervalStyle, SessionZone, Styles, from_oid, oid, typmod};
use crate::{SqlError, state};
use hotrow_storage::{Element, Registry, Type};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Display;

/// The stored form of a type: PostgreSQL's OID and type modifier.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct TypeForm(u32, i32);

impl TypeForm {
    pub(super) fn of(ty: Type) -> Self {
        Self(oid(ty), typmod(ty))
    }

    /// Returns the type, which is built in or one of `made`.
    ///
    /// # Errors
    /// If there is no such type.
    pub(super) fn ty(self, made: &MadeTypes) -> Result<Type, String> {
        match self.0 {
            22 => Ok(Type::Array(Element::Int2Vector)),
            30 => Ok(Type::Array(Element::OidVector)),
            2205 => Ok(Type::Reg(Registry::Class)),
            2206 => Ok(Type::Reg(Registry::Type)),
            4089 => Ok(Type::Reg(Registry::Namespace)),
            number => match from_oid(number, self.1).or_else(|| made.0.get(&number).copied()) {
                Some(ty) => Ok(ty),
                None => Err(format!("there is no type of the number {number}")),
            },
        }
    }
}

/// The enumerated types of the database and their array types, by their OIDs.
#[derive(Debug, Default)]
pub(super) struct MadeTypes(BTreeMap<u32, Type>);

impl MadeTypes {
    pub(super) fn add(&mut self, made: &EnumType) {
        let [own, array] = made.definition.oids;
        self.0.extend([(own, made.ty()), (array, made.array_type())]);
    }
}

/// Returns the word by which a value of a Rust enum is stored. `words` must contain the value.
pub(super) fn word_of<T: PartialEq>(words: &[(T, &'static str)], value: &T) -> String {
    let found = words.iter().find(|(known, _)| known == value);
    found.expect("each value has a word").1.to_owned()
}

/// Returns the value of a Rust enum that a word stands for.
///
/// # Errors
/// If `words` does not contain the word.
pub(super) fn value_of<T: Copy>(words: &[(T, &'static str)], word: &str) -> Result<T, String> {
    let found = words.iter().find(|(_, known)| *known == word);
    found.map(|(value, _)| *value).ok_or_else(|| format!("\"{word}\" is not known"))
}

const DATES: [(DateStyle, &str); 4] = [
    (DateStyle::Iso, "iso"),
    (DateStyle::Sql, "sql"),
    (DateStyle::Postgres, "postgres"),
    (DateStyle::German, "german"),
];

const ORDERS: [(DateOrder, &str); 3] = [(DateOrder::Mdy, "mdy"), (DateOrder::Dmy, "dmy"), (DateOrder::Ymd, "ymd")];

const INTERVALS: [(IntervalStyle, &str); 4] = [
    (IntervalStyle::Postgres, "postgres"),
    (IntervalStyle::PostgresVerbose, "postgres_verbose"),
    (IntervalStyle::SqlStandard, "sql_standard"),
    (IntervalStyle::Iso8601, "iso_8601"),
];

/// The stored form of the styles in which literals are read.
#[derive(Serialize, Deserialize)]
pub(super) struct StylesForm {
    dates: String,
    order: String,
    zone: String,
    intervals: String,
    escapes_bytes: bool,
    fewer_digits: Option<u8>,
    moment: Option<i64>,
}

impl StylesForm {
    pub(super) fn of(styles: Styles) -> Self {
        Self {
            dates: word_of(&DATES, &styles.dates),
            order: word_of(&ORDERS, &styles.order),
            zone: styles.zone.to_string(),
            intervals: word_of(&INTERVALS, &styles.intervals),
            escapes_bytes: styles.escapes_bytes,
            fewer_digits: styles.fewer_digits,
            moment: styles.moment,
        }
    }

    pub(super) fn styles(&self) -> Result<Styles, String> {
        Ok(Styles {
            dates: value_of(&DATES, &self.dates)?,
            order: value_of(&ORDERS, &self.order)?,
            zone: SessionZone::parse(&self.zone).map_err(|_| format!("there is no time zone {}", self.zone))?.0,
            intervals: value_of(&INTERVALS, &self.intervals)?,
            escapes_bytes: self.escapes_bytes,
            fewer_digits: self.fewer_digits,
            moment: self.moment,
        })
    }
}

/// The stored form of an expression: SQL, with the styles in which its literals are read.
#[derive(Serialize, Deserialize)]
pub(super) struct ExpressionForm {
    sql: String,
    styles: StylesForm,
    /// Each name of users' functions: the schema that is written, the name, and the keys of the functions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    functions: Vec<(Option<String>, String, Vec<String>)>,
}

impl ExpressionForm {
    /// Makes the stored form of an expression.
    ///
    /// # Errors
    /// 0A000 if the text of the expression would be read as another one.
    pub(super) fn of(written: &Written) -> Result<Self, SqlError> {
        let sql = text_of(&written.syntax, parse_expr)?;
        let functions = written.functions.iter();
        let functions = functions.map(|(name, keys)| (name.schema.clone(), name.name.clone(), keys.clone())).collect();
        Ok(Self { sql, styles: StylesForm::of(written.styles), functions })
    }

    /// Returns the expression, which the binder has yet to bind.
    pub(super) fn written(&self) -> Result<Written, String> {
        let syntax = parse_expr(&self.sql).map_err(|error| format!("{}: {}", error.message, self.sql))?;
        let styles = self.styles.styles()?;
        if styles.moment.is_none() {
            return Err(format!("the moment at which it was written is missing: {}", self.sql));
        }
        let named = |(schema, name, keys): &(Option<String>, String, Vec<String>)| {
            (RelationName { database: None, schema: schema.clone(), name: name.clone() }, keys.clone())
        };
        Ok(Written::new(syntax, styles).calling(self.functions.iter().map(named).collect()))
    }
}

/// Returns the text of a syntax tree.
///
/// # Errors
/// 0A000 if `parse` would read the text as another tree, so that the definition could not be made again.
pub(super) fn text_of<T: Display + PartialEq>(
    syntax: &Syntax<T>,
    parse: impl FnOnce(&str) -> Result<Syntax<T>, SqlError>,
) -> Result<String, SqlError> {
    let text = crate::parse::window::restored(with_room(|| Ok::<_, SqlError>(syntax.to_string()))?);
    match parse(&text) {
        Ok(read) if read == *syntax => Ok(text),
        _ => {
            let message = "this expression or query cannot be part of a definition, because it cannot be stored";
            Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message).detail(format!("It was read as: {text}")))
        }
    }
}

/// The stored form of a DEFAULT.
#[derive(Serialize, Deserialize)]
pub(super) struct DefaultForm {
    source: SourceForm,
    types: Vec<TypeForm>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SourceForm {
    Written { expression: ExpressionForm, sequences: Vec<(String, u32)> },
    NextValue(u32),
}

impl DefaultForm {
    pub(super) fn of(default: &DefaultValue) -> Result<Self, SqlError> {
        let source = match &default.source {
            DefaultSource::Written(written, sequences) => {
                SourceForm::Written { expression: ExpressionForm::of(written)?, sequences: sequences.clone() }
            }
            DefaultSource::NextValue(sequence) => SourceForm::NextValue(*sequence),
        };
        Ok(Self { source, types: default.types.iter().map(|ty| TypeForm::of(*ty)).collect() })
    }

    pub(super) fn default(&self, made: &MadeTypes) -> Result<DefaultValue, String> {
        let source = match &self.source {
            SourceForm::Written { expression, sequences } => {
                DefaultSource::Written(expression.written()?, sequences.clone())
            }
            SourceForm::NextValue(sequence) => DefaultSource::NextValue(*sequence),
        };
        let types = self.types.iter().map(|ty| ty.ty(made)).collect::<Result<Vec<_>, _>>()?;
        if types.is_empty() { Err("it has no type".to_owned()) } else { Ok(DefaultValue { source, types }) }
    }
}

/// The stored form of a comment on a relation or on a part of it.
#[derive(Serialize, Deserialize)]
pub(super) struct CommentForm {
    part: PartForm,
    text: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PartForm {
    Whole,
    Column(String),
    Constraint(String),
    Index(String),
    Trigger(String),
}

pub(super) fn comment_forms(comments: &Comments) -> Vec<CommentForm> {
    let part = |part: &Part| match part {
        Part::Whole => PartForm::Whole,
        Part::Column(name) => PartForm::Column(name.clone()),
        Part::Constraint(name) => PartForm::Constraint(name.clone()),
        Part::Index(name) => PartForm::Index(name.clone()),
        Part::Trigger(name) => PartForm::Trigger(name.clone()),
    };
    comments.iter().map(|(of, text)| CommentForm { part: part(of), text: text.clone() }).collect()
}

pub(super) fn comments(forms: Vec<CommentForm>) -> Comments {
    let part = |part: PartForm| match part {
        PartForm::Whole => Part::Whole,
        PartForm::Column(name) => Part::Column(name),
        PartForm::Constraint(name) => Part::Constraint(name),
        PartForm::Index(name) => Part::Index(name),
        PartForm::Trigger(name) => Part::Trigger(name),
    };
    forms.into_iter().map(|form| (part(form.part), form.text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotrow_storage::{Digits, EnumDefinition, Enumeration, Precision};
    use hotrow_sync::Arc;

    #[test]
    fn types_are_read_as_they_were_written() {
        let precision = Some(Precision { precision: 12, scale: 0 });
        let plain = [
            Type::Bool,
            Type::Int2,
            Type::Int4,
            Type::Int8,
            Type::Float4,
            Type::Float8,
            Type::Numeric(None),
            Type::Numeric(precision),
            Type::Numeric(Some(Precision { precision: 255, scale: 28 })),
            Type::Char(1),
            Type::Char(300),
            Type::Varchar(None),
            Type::Varchar(Some(1)),
            Type::Text,
            Type::Json,
            Type::Jsonb,
            Type::Bytea,
            Type::Date,
            Type::TIMESTAMP,
            Type::TIMESTAMP_TZ,
            Type::TIME,
            Type::INTERVAL,
            Type::Timestamp(Digits::new(0)),
            Type::TimestampTz(Digits::new(3)),
            Type::Time(Digits::new(6)),
            Type::Interval(Digits::new(2)),
            Type::Uuid,
            Type::Name,
            Type::Oid,
            Type::Reg(Registry::Class),
            Type::Reg(Registry::Type),
            Type::Reg(Registry::Namespace),
        ];
        let definition = EnumDefinition { name: "mood".to_owned(), oids: [16_400, 16_401], labels: Vec::new() };
        let definition = Arc::new(definition);
        let kept = Arc::new(Enumeration::new(definition.clone()));
        let mood = EnumType { name: "mood".to_owned(), kept, definition, comment: None };
        let mut made = MadeTypes::default();
        made.add(&mood);
        let plain = [&plain[..], &[mood.ty()]].concat();
        let arrays = plain.iter().filter_map(|ty| Element::of(*ty)).map(Type::Array);
        let vectors = [Element::Int2Vector, Element::OidVector].map(Type::Array);
        for ty in plain.iter().copied().chain(arrays).chain(vectors) {
            assert_eq!(TypeForm::of(ty).ty(&made), Ok(ty), "{ty}");
        }
        assert!(TypeForm(1, -1).ty(&made).is_err());
    }

    #[test]
    fn styles_are_read_as_they_were_written() {
        for (dates, _) in DATES {
            for (order, _) in ORDERS {
                for (intervals, _) in INTERVALS {
                    let styles = Styles {
                        dates,
                        order,
                        zone: SessionZone::parse("America/St_Johns").expect("a zone").0,
                        intervals,
                        escapes_bytes: true,
                        fewer_digits: Some(3),
                        moment: Some(crate::types::now()),
                    };
                    assert_eq!(StylesForm::of(styles).styles(), Ok(styles));
                }
            }
        }
    }
}
