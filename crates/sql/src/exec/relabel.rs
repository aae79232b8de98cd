//! ALTER TYPE … RENAME VALUE.
//!
//! Stored expressions have labels as literals, which are read again after a restart. A default that is a label, or an
//! array of labels, is written anew. In any other expression it cannot be told whether a literal is a label or a text
//! of the same spelling, so the label keeps its name while there is such an expression.

use super::Fail;
use super::ddl::Ddl;
use crate::catalog::enumeration::EnumType;
use crate::catalog::{DefaultSource, DefaultValue, Written};
use crate::depth::with_room;
use crate::error::unsupported;
use crate::expr::Expr;
use crate::parse::enumeration::has_literal;
use crate::parse::parse_expr;
use crate::types::{Styles, encode_text, enumeration};
use crate::{SqlError, schema};
use bytes::BytesMut;
use hotrow_storage::{Array, Element, EnumDefinition, Type, Value};
use std::fmt::Display;

impl Ddl<'_> {
    /// Renames a label: publishes the type `new`, which has another name for the label `old`, and rewrites the defaults
    /// that are this label or an array with it.
    ///
    /// # Errors
    /// 0A000 if any other stored expression may mention the label.
    pub(super) fn relabel(&mut self, made: &EnumType, old: &str, new: EnumType) -> Result<(), Fail> {
        let is_it = |ty: &Type| enumeration(*ty) == Some(made.kept.id());
        let mentioned = |syntax: &dyn Display| {
            let text = with_room(|| Ok::<_, SqlError>(syntax.to_string()))?;
            Ok::<_, Fail>(has_literal(&text, old)?)
        };
        let refuse = |what: String| {
            let error = unsupported("another name of a label that an expression mentions");
            Err(error.detail(format!("{what} mentions '{old}'.")).into())
        };
        let in_default = |default: &DefaultValue| match &default.source {
            DefaultSource::Written(written, _) => mentioned(&*written.syntax),
            DefaultSource::NextValue(_) => Ok(false),
        };
        let mut changed = Vec::new();
        let mut users = Vec::new();
        for table in self.view().tables() {
            let columns = &table.schema.columns;
            for (at, default) in table.rules.defaults.iter().enumerate() {
                let Some(default) = default.as_ref().filter(|default| default.types.iter().any(is_it)) else {
                    continue;
                };
                if in_default(default)? {
                    match relabelled(default, columns[at].ty, &new.definition)? {
                        Some(relabelled) => changed.push((table.name().to_owned(), at, relabelled)),
                        None => return refuse(format!("The default of column {}", columns[at].name)),
                    }
                }
            }
            if !columns.iter().any(|column| is_it(&column.ty)) {
                continue;
            }
            for check in &table.rules.checks {
                if mentioned(&*check.condition.expression.syntax)? {
                    return refuse(format!("Constraint {} of table {}", check.name, table.plain_name()));
                }
            }
            for computed in &table.rules.computed {
                if mentioned(&*computed.value.expression.syntax)? {
                    let label = table.column_label(computed.column);
                    return refuse(format!("Column {label} of table {}", table.plain_name()));
                }
            }
            for trigger in &table.rules.triggers {
                if let Some(when) = &trigger.definition.when
                    && has_literal(&when.text.text, old)?
                {
                    return refuse(format!("Trigger {} on table {}", trigger.name, table.plain_name()));
                }
            }
            users.push(table.name().to_owned());
        }
        for view in self.view().stored_queries() {
            let shows = view.relations.iter().any(|relation| users.contains(relation));
            if (shows || view.columns.iter().any(|column| is_it(&column.ty))) && mentioned(&*view.query)? {
                return refuse(format!("View {}", schema::shown(&view.name)));
            }
        }
        for domain in self.view().domains().iter().filter(|domain| is_it(&domain.ty)) {
            for written in domain.expressions() {
                if mentioned(&*written.syntax)? {
                    return refuse(format!("Type {}", domain.shown()));
                }
            }
        }
        for procedure in self.view().procedures() {
            for argument in &procedure.arguments {
                if let Some(default) = argument.default.as_ref().filter(|default| default.types.iter().any(is_it))
                    && in_default(default)?
                {
                    return refuse(format!("The default of an argument of procedure {}", procedure.identity()));
                }
            }
        }
        for (table, at, default) in changed {
            let table = self.owned_table(&table)?;
            let mut rules = table.rules.clone();
            rules.defaults[at] = Some(default);
            self.publish(table.with(table.schema.clone(), rules));
        }
        self.publish_enumeration(new);
        Ok(())
    }
}

/// Returns a default with the label names of a definition, if the default is a label or an array of labels. Returns
/// `None` for any other default.
fn relabelled(default: &DefaultValue, ty: Type, labels: &EnumDefinition) -> Result<Option<DefaultValue>, Fail> {
    let DefaultSource::Written(written, sequences) = &default.source else { return Ok(None) };
    let label = |value: &Value<'_>| match value {
        Value::Int4(number) => labels.label(*number).map_or(Value::Null, |label| Value::text(label).into_owned()),
        _ => Value::Null,
    };
    let value = match (default.value(), ty) {
        (Expr::Const(value @ Value::Int4(_)), Type::Enum(_)) => label(&value),
        (Expr::Const(Value::Array(array)), Type::Array(Element::Enum(_))) => {
            Value::Array(Array::new(Element::Text, array.iter().map(|value| label(&value))))
        }
        _ => return Ok(None),
    };
    let mut text = BytesMut::new();
    encode_text(&value, Type::Text, Styles::default(), &mut text);
    let literal = String::from_utf8_lossy(&text).replace('\'', "''");
    let anew = Written::new(parse_expr(&format!("'{literal}'"))?, written.styles);
    if let Some(bound) = written.bound() {
        anew.keep(bound.clone());
    }
    let source = DefaultSource::Written(anew, sequences.clone());
    Ok(Some(DefaultValue { source, types: default.types.clone() }))
}
