//! The binder: what it knows of the statement that it binds, and how it looks names up in the catalog.

use super::errors::only_queried;
use super::query::{Locking, Matching, Stars, WithQuery};
use super::scope::{Level, Scope};
use super::sets::SetFunctions;
use super::variables::Variables;
use super::windows::Windows;
use crate::catalog::expected::Expected;
use crate::catalog::{Table, Used, View};
use crate::parse::names::{name_parts, object_name};
use crate::plan::AggregateCall;
use crate::schema::{RelationName, undefined_table};
use crate::{SqlError, parse, state, system};
use hotrow_storage::Type;
use hotrow_sync::Arc;
use sqlparser::ast;
use sqlparser::tokenizer::{Location, Span};

/// Whether aggregates may stand where an expression is bound, and those found.
#[derive(Debug)]
pub(super) enum Aggregates {
    /// No aggregate may stand here; the text names the place for the error message.
    Refused(&'static str),
    /// Aggregates may stand here; the list has the calls found so far.
    Found(Vec<AggregateCall>),
}

/// Binds one statement.
pub(crate) struct Binder<'a> {
    /// The text of the statement, for positions.
    pub(super) text: &'a str,
    /// The number of characters that precede the statement in the client's message.
    pub(super) offset: u32,
    pub(super) view: View<'a>,
    pub(super) params: Vec<Option<Type>>,
    /// The relations, names and other objects that the binder has looked up.
    pub(super) used: Used,
    /// The estimated row counts of tables, and whether they decide the order of a join.
    pub(super) expected: Vec<Expected>,
    pub(super) has_order: bool,
    pub(super) aggregates: Aggregates,
    pub(super) windows: Windows,
    pub(super) sets: SetFunctions,
    pub(super) depth: usize,
    /// The variables of the procedure that the statement is part of.
    pub(super) variables: Option<&'a Variables<'a>>,
    /// The number of calls that led to the statement.
    pub(super) call_depth: usize,
    /// The queries around the one that is bound, and the FROM items beside it, which it cannot see.
    pub(super) outer: Vec<Level>,
    /// The levels of these queries whose columns were found so far, in the order of their mentions.
    pub(super) looked: Vec<usize>,
    pub(super) beside: Vec<Scope>,
    /// The queries of WITH.
    pub(super) named: Vec<WithQuery>,
    /// The columns that each `*` of the statement stands for, by its place in the text. `None` if the caller does not
    /// need them.
    pub(super) stars: Option<Stars>,
    /// The relations that names mean in the view whose query is bound.
    pub(super) fixed: Vec<(RelationName, String)>,
    /// The tables that FOR UPDATE locks in the query that is bound.
    pub(super) locking: Locking,
    /// The number of columns that the FROM items of the query have so far.
    pub(super) columns: usize,
    /// The numbers of FROM items, of frames, and of set operations with two sides that the statement has so far.
    pub(super) items: usize,
    pub(super) frames: usize,
    pub(super) nested_operations: usize,
    /// Whether the statement changes rows. If so, it may lock any rows that it looks at.
    pub(super) changes_rows: bool,
    /// PostgreSQL's name of the place that is bound, if no subquery may stand there.
    pub(super) without_subqueries: Option<&'static str>,
    /// Whether the next SELECT is EXISTS's and a hash table may serve its comparisons with the row around it; and if
    /// one does, how.
    pub(super) may_match: bool,
    pub(super) matching: Option<Matching>,
    /// Whether the FROM clause of the SELECT that is bound has the previous rows of a WITH RECURSIVE query.
    pub(super) recurs: bool,
}

/// The greatest depth to which expressions may nest once chains of AND and OR are flat.
pub(super) const MAX_DEPTH: usize = 300;

impl<'a> Binder<'a> {
    /// A binder over a catalog. `offset` characters stand before `text` in what the client sent.
    pub(crate) fn new(text: &'a str, offset: u32, view: View<'a>, params: Vec<Option<Type>>) -> Self {
        let aggregates = Aggregates::Refused("this context");
        Self {
            text,
            offset,
            view,
            params,
            used: Used::default(),
            expected: Vec::new(),
            has_order: false,
            aggregates,
            windows: Windows::default(),
            sets: SetFunctions::default(),
            depth: 0,
            variables: None,
            call_depth: 0,
            outer: Vec::new(),
            looked: Vec::new(),
            beside: Vec::new(),
            named: Vec::new(),
            stars: None,
            fixed: Vec::new(),
            locking: Locking::None,
            columns: 0,
            items: 0,
            frames: 0,
            nested_operations: 0,
            changes_rows: false,
            without_subqueries: None,
            may_match: false,
            matching: None,
            recurs: false,
        }
    }

    /// Returns the binder for a statement of a procedure; `call_depth` calls led to the procedure.
    pub(crate) fn within(self, variables: &'a Variables<'a>, call_depth: usize) -> Self {
        Self { variables: Some(variables), call_depth: call_depth + 1, ..self }
    }

    /// Returns the objects that the binder has looked up.
    pub(crate) fn used(self) -> Used {
        self.used
    }

    /// Gives an error the position of a place in the syntax.
    pub(super) fn locate(&self, error: SqlError, span: Span) -> SqlError {
        self.locate_at(error, span.start)
    }

    /// Gives an error a position if it has none. The expressions of stored definitions have no text to point into.
    pub(super) fn locate_at(&self, error: SqlError, at: Location) -> SqlError {
        if error.position.is_some() || self.text.is_empty() {
            return error;
        }
        match parse::position(self.text, at) {
            Some(position) => error.at(position + self.offset),
            None => error,
        }
    }

    /// The full name of the relation that a name means; in a view, what it meant when the view was made.
    pub(super) fn found(&mut self, written: &RelationName) -> String {
        if let Some((_, name)) = self.fixed.iter().find(|(known, _)| known == written) {
            return name.clone();
        }
        let name = self.view.find(written);
        self.used.add_name(written, &name);
        name
    }

    /// The table of this name, noted as used.
    pub(super) fn table(&mut self, name: &ast::ObjectName) -> Result<Arc<Table>, SqlError> {
        let written = object_name(name)?;
        let name_text = self.found(&written);
        let Some(table) = self.view.table(&name_text) else {
            let error = match system::relation(&name_parts(name)?) {
                Some(_) => {
                    let message = format!("\"{name_text}\" is made up by the server: it can only be queried");
                    SqlError::new(state::WRONG_OBJECT_TYPE, message)
                }
                None if self.view.view(&name_text).is_some() => only_queried(&name_text),
                None if [Some("pg_catalog"), Some("information_schema")].contains(&written.schema.as_deref()) => {
                    undefined_table(&name_text).hint("There is no system relation of this name.")
                }
                None => undefined_table(&name_text),
            };
            return Err(self.locate(error, span_of(name)));
        };
        self.used.add_table(&table);
        Ok(table)
    }
}

pub(super) fn span_of(name: &ast::ObjectName) -> Span {
    match name.0.first() {
        Some(ast::ObjectNamePart::Identifier(ident)) => ident.span,
        _ => Span::empty(),
    }
}
