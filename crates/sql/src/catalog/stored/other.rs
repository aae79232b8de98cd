//! Views, sequences, procedures, triggers, schemas, enumerated types and databases as stored definitions.

use super::domain::DomainIdForm;
use super::value::{
    CommentForm, DefaultForm, MadeTypes, StylesForm, TypeForm, comment_forms, comments, text_of, value_of, word_of,
};
use crate::catalog::DefaultValue;
use crate::catalog::enumeration::{self, EnumType};
use crate::catalog::place_log::At;
use crate::catalog::procedure::{Argument, FunctionTraits, Procedure, Returns};
use crate::catalog::sequence::{Place, Sequence};
use crate::catalog::trigger::Trigger;
use crate::catalog::view::{Meanings, StoredView};
use crate::depth::with_room;
use crate::parse::definition::Definition;
use crate::parse::lex::tokenize;
use crate::parse::procedure::{ArgumentMode, ReturnsSyntax};
use crate::parse::trigger::TriggerStatement;
use crate::parse::utility::Utility;
use crate::parse::view_options::ViewOption;
use crate::parse::{Parsed, parse, parse_query};
use crate::schema::{RelationName, Schema, quoted};
use crate::{OutputColumn, SqlError};
use hotrow_storage::{EnumDefinition, Enumeration};
use hotrow_sync::Arc;
use serde::{Deserialize, Serialize};

/// The definition of a view, apart from its name.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ViewForm {
    columns: Vec<(String, TypeForm)>,
    /// The domain of each column, if any column has one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    domains: Vec<Option<DomainIdForm>>,
    styles: StylesForm,
    query: String,
    relations: Vec<String>,
    /// Each name of a relation in the query: the schema that is written, the name, and the full name that they mean.
    names: Vec<(Option<String>, String, String)>,
    /// Each name of functions in the query: the schema that is written, the name, and the keys of the functions.
    #[serde(default)]
    functions: Vec<(Option<String>, String, Vec<String>)>,
    comments: Vec<CommentForm>,
    /// The names of the options, with their values.
    #[serde(default)]
    options: Vec<(String, String)>,
    #[serde(default)]
    defaults: Vec<Option<DefaultForm>>,
    #[serde(default)]
    triggers: Vec<TriggerForm>,
}

impl ViewForm {
    /// Makes the stored form of a view.
    ///
    /// # Errors
    /// 0A000 if the query or a DEFAULT cannot be stored.
    pub(super) fn of(view: &StoredView) -> Result<Self, SqlError> {
        let default = |default: &Option<DefaultValue>| default.as_ref().map(DefaultForm::of).transpose();
        let (relations, functions) = (view.names.relations.iter(), view.names.functions.iter());
        Ok(Self {
            columns: view.columns.iter().map(|column| (column.name.clone(), TypeForm::of(column.ty))).collect(),
            domains: match view.columns.iter().any(|column| column.domain.is_some()) {
                true => view.columns.iter().map(|column| DomainIdForm::of(column.domain)).collect(),
                false => Vec::new(),
            },
            styles: StylesForm::of(view.styles),
            query: text_of(&view.query, parse_query)?,
            relations: view.relations.clone(),
            names: relations.map(|(name, full)| (name.schema.clone(), name.name.clone(), full.clone())).collect(),
            functions: functions.map(|(name, keys)| (name.schema.clone(), name.name.clone(), keys.clone())).collect(),
            comments: comment_forms(&view.comments),
            options: view.options.iter().map(|option| (option.name.clone(), option.value.clone())).collect(),
            defaults: view.defaults.iter().map(default).collect::<Result<_, _>>()?,
            triggers: view.triggers.iter().map(|trigger| TriggerForm::of(trigger)).collect(),
        })
    }

    pub(super) fn view(self, name: &str, made: &MadeTypes) -> Result<StoredView, String> {
        let domain = |at: usize| DomainIdForm::domain(self.domains.get(at).copied().flatten());
        let column = |(at, (name, ty)): (usize, (String, TypeForm))| {
            Ok::<_, String>(OutputColumn::new(name, ty.ty(made)?).of_domain(domain(at)))
        };
        let default = |form: &Option<DefaultForm>| form.as_ref().map(|form| form.default(made)).transpose();
        let written = |schema, name| RelationName { database: None, schema, name };
        let relations = self.names.into_iter().map(|(schema, name, full)| (written(schema, name), full)).collect();
        let functions = self.functions.into_iter().map(|(schema, name, keys)| (written(schema, name), keys)).collect();
        Ok(StoredView {
            name: name.to_owned(),
            columns: self.columns.into_iter().enumerate().map(column).collect::<Result<_, _>>()?,
            styles: self.styles.styles()?,
            query: parse_query(&self.query).map_err(|error| format!("its query cannot be read: {}", error.message))?,
            relations: self.relations,
            names: Meanings { relations, functions },
            comments: comments(self.comments),
            options: self.options.into_iter().map(|(name, value)| ViewOption { name, value }).collect(),
            defaults: self.defaults.iter().map(default).collect::<Result<_, _>>()?,
            triggers: self.triggers.into_iter().map(TriggerForm::trigger).collect::<Result<_, _>>()?,
            obstacle: None,
        })
    }
}

/// The definition of a sequence, apart from its name.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SequenceForm {
    id: u32,
    ty: TypeForm,
    increment: i64,
    min: i64,
    max: i64,
    start: i64,
    cycle: bool,
    owner: Option<(String, String)>,
    comment: Option<String>,
    /// The number of the place. `last` and `is_taken` are its position when the definition was stored; if the log has a
    /// record of the place, that position is the valid one.
    place: u32,
    last: i64,
    is_taken: bool,
}

impl SequenceForm {
    pub(super) fn of(sequence: &Sequence) -> Self {
        let At { last, is_taken } = sequence.place.at();
        Self {
            id: sequence.id,
            ty: TypeForm::of(sequence.ty),
            increment: sequence.increment,
            min: sequence.min,
            max: sequence.max,
            start: sequence.start,
            cycle: sequence.cycle,
            owner: sequence.owner.clone(),
            comment: sequence.comment.clone(),
            place: sequence.place.number,
            last,
            is_taken,
        }
    }

    pub(super) fn sequence(self, name: &str) -> Result<Sequence, String> {
        let ty = self.ty.ty(&MadeTypes::default())?;
        if !ty.is_integer() || self.increment == 0 {
            return Err(format!("it cannot have numbers of type {ty} by steps of {}", self.increment));
        }
        Ok(Sequence {
            id: self.id,
            name: name.to_owned(),
            ty,
            increment: self.increment,
            min: self.min,
            max: self.max,
            start: self.start,
            cycle: self.cycle,
            owner: self.owner,
            comment: self.comment,
            place: Place::new(self.place, At { last: self.last, is_taken: self.is_taken }),
        })
    }
}

const MODES: [(ArgumentMode, &str); 4] = [
    (ArgumentMode::In, "in"),
    (ArgumentMode::Out, "out"),
    (ArgumentMode::InOut, "inout"),
    (ArgumentMode::Table, "table"),
];

/// The definition of a procedure or function, apart from its name.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProcedureForm {
    arguments: Vec<ArgumentForm>,
    /// The type of the value that a function returns.
    #[serde(default)]
    returns: Option<TypeForm>,
    /// The domain of that value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    domain: Option<DomainIdForm>,
    /// The full name of the table or view whose rows a function returns.
    #[serde(default)]
    row_of: Option<String>,
    /// The search path of the body.
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    comment: Option<String>,
    /// The CREATE statement, from which all other properties are read.
    text: String,
    styles: StylesForm,
}

#[derive(Serialize, Deserialize)]
struct ArgumentForm {
    name: Option<String>,
    mode: String,
    ty: TypeForm,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    domain: Option<DomainIdForm>,
    default: Option<DefaultForm>,
}

impl ProcedureForm {
    /// Makes the stored form of a procedure or function.
    ///
    /// # Errors
    /// 0A000 if a DEFAULT cannot be stored.
    pub(super) fn of(procedure: &Procedure) -> Result<Self, SqlError> {
        let argument = |argument: &Argument| {
            Ok::<_, SqlError>(ArgumentForm {
                name: argument.name.clone(),
                mode: word_of(&MODES, &argument.mode),
                ty: TypeForm::of(argument.ty),
                domain: DomainIdForm::of(argument.domain),
                default: argument.default.as_ref().map(DefaultForm::of).transpose()?,
            })
        };
        let (returns, row_of) = match procedure.function.as_ref().map(|function| &function.returns) {
            Some(Returns::Value(ty)) => (Some(TypeForm::of(*ty)), None),
            Some(Returns::RowOf(name)) => (None, Some(name.to_string())),
            Some(Returns::Nothing | Returns::Trigger | Returns::Outputs) | None => (None, None),
        };
        Ok(Self {
            arguments: procedure.arguments.iter().map(argument).collect::<Result<_, _>>()?,
            returns,
            domain: DomainIdForm::of(procedure.function.as_ref().and_then(|function| function.domain)),
            row_of,
            path: procedure.path.clone(),
            comment: procedure.comment.clone(),
            text: procedure.text.clone(),
            styles: StylesForm::of(procedure.styles),
        })
    }

    /// Returns the procedure of this full name, whose defaults and body the binder has yet to bind.
    pub(super) fn procedure(self, name: &str, made: &MadeTypes) -> Result<Procedure, String> {
        let argument = |form: ArgumentForm| {
            Ok::<_, String>(Argument {
                mode: value_of(&MODES, &form.mode)?,
                ty: form.ty.ty(made)?,
                domain: DomainIdForm::domain(form.domain),
                default: form.default.as_ref().map(|default| default.default(made)).transpose()?,
                name: form.name,
            })
        };
        let arguments = self.arguments.into_iter().map(argument).collect::<Result<Vec<_>, _>>()?;
        let mut tokens = Vec::new();
        let parsed = tokenize(&self.text, &mut tokens).and_then(|()| with_room(|| parse(&self.text, &tokens)));
        match parsed.map_err(|error| format!("its statement cannot be read: {}", error.message))? {
            Parsed::Utility(Utility::CreateProcedure(create)) => {
                let value = self.returns.as_ref().map(|ty| ty.ty(made)).transpose()?;
                let function = create.function.as_ref().map(|function| FunctionTraits {
                    returns: match (&function.returns, value, &self.row_of) {
                        (_, Some(ty), _) => Returns::Value(ty),
                        (_, None, Some(name)) => Returns::RowOf(name.as_str().into()),
                        (Some(ReturnsSyntax::Trigger), ..) => Returns::Trigger,
                        (Some(ReturnsSyntax::Nothing), ..) => Returns::Nothing,
                        _ => Returns::Outputs,
                    },
                    is_set: function.is_set,
                    volatility: function.volatility,
                    strict: function.strict,
                    domain: DomainIdForm::domain(self.domain),
                });
                let (name, styles) = (name.to_owned(), self.styles.styles()?);
                let made = Procedure::new(name, &create, arguments, function, styles);
                Ok(made.commented(self.comment).with_path(self.path))
            }
            _ => Err("its statement is no CREATE PROCEDURE or CREATE FUNCTION".to_owned()),
        }
    }
}

/// The stored form of a trigger.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TriggerForm {
    name: String,
    is_enabled: bool,
    /// The CREATE TRIGGER statement, from which all other properties are read.
    text: String,
}

impl TriggerForm {
    pub(super) fn of(trigger: &Trigger) -> Self {
        let Trigger { name, definition, is_enabled, .. } = trigger;
        Self {
            name: name.clone(),
            is_enabled: *is_enabled,
            text: definition.written(name, &quoted(&definition.table.name), &definition.function.quoted()),
        }
    }

    pub(super) fn trigger(self) -> Result<Arc<Trigger>, String> {
        let mut tokens = Vec::new();
        let parsed = tokenize(&self.text, &mut tokens).and_then(|()| with_room(|| parse(&self.text, &tokens)));
        match parsed.map_err(|error| format!("trigger {} cannot be read: {}", self.name, error.message))? {
            Parsed::Utility(Utility::Define(Definition::Trigger(TriggerStatement::Create(create)))) => {
                Ok(Arc::new(Trigger::new(self.name, Arc::new(*create), self.is_enabled)))
            }
            _ => Err(format!("the statement of trigger {} is no CREATE TRIGGER", self.name)),
        }
    }
}

/// The definition of a database, apart from its name.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DatabaseForm {
    /// The OID of the database.
    pub(super) number: u32,
    /// The engine's numbers of the tables of the definitions and of the sequences' places.
    pub(super) tables: [u32; 2],
}

/// The definition of a schema, apart from its name.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SchemaForm {
    #[serde(default)]
    is_dropped: bool,
    comment: Option<String>,
}

impl SchemaForm {
    pub(super) fn of(schema: &Schema) -> Self {
        Self { comment: schema.comment.clone(), is_dropped: schema.is_dropped }
    }

    pub(super) fn schema(self) -> Schema {
        Schema { comment: self.comment, is_dropped: self.is_dropped }
    }
}

/// The definition of an enumerated type, apart from its name.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EnumForm {
    oids: [u32; 2],
    labels: Vec<(i32, String)>,
    comment: Option<String>,
}

impl EnumForm {
    pub(super) fn of(made: &EnumType) -> Self {
        let EnumDefinition { oids, labels, .. } = &*made.definition;
        Self { oids: *oids, labels: labels.clone(), comment: made.comment.clone() }
    }

    pub(super) fn made(self, name: &str) -> EnumType {
        let Self { oids, labels, comment } = self;
        let definition = Arc::new(EnumDefinition { name: enumeration::shown(name), oids, labels });
        EnumType { name: name.to_owned(), kept: Arc::new(Enumeration::new(definition.clone())), definition, comment }
    }
}
