//! The binder's state: its knowledge of the statement that it binds, and its look-ups in the catalog.

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

/// Whether aggregate functions may stand at the place that is bound, and the calls found so far.
#[derive(Debug)]
pub(super) enum Aggregates {
    /// No aggregate may stand here; the text names the place for the error message.
    Refused(&'static str),
    /// Aggregates may stand here; the list has the calls found so far.
    Found(Vec<AggregateCall>),
}

/// The state of binding one statement.
pub(crate) struct Binder<'a> {
    /// The text of the statement, in which errors give positions.
    pub(super) text: &'a str,
    /// The number of characters before the statement in the client's message.
    pub(super) offset: u32,
    pub(super) view: View<'a>,
    pub(super) params: Vec<Option<Type>>,
    /// The definitions that the binder has looked up.
    pub(super) used: Used,
    /// The estimates of tables' rows that the plan depends on. `has_order` says whether they decide the order of a
    /// join.
    pub(super) expected: Vec<Expected>,
    pub(super) has_order: bool,
    pub(super) aggregates: Aggregates,
    pub(super) windows: Windows,
    pub(super) sets: SetFunctions,
    pub(super) depth: usize,
    /// The variables of the procedure to which the statement belongs; `None` outside procedures.
    pub(super) variables: Option<&'a Variables<'a>>,
    /// The number of nested calls around the statement.
    pub(super) call_depth: usize,
    /// The queries around the one that is bound, from the outermost in. `beside` has the FROM items of these queries
    /// that the bound one cannot see because it is not LATERAL.
    pub(super) outer: Vec<Level>,
    /// The positions in `outer` of the queries whose columns have been found so far, one for each mention of a column.
    pub(super) looked: Vec<usize>,
    pub(super) beside: Vec<Scope>,
    /// The queries of WITH that can be mentioned at this point.
    pub(super) named: Vec<WithQuery>,
    /// The columns for which each `*` of the statement stands, by the position of the `*` in the text. `None` if the
    /// caller does not need them.
    pub(super) stars: Option<Stars>,
    /// The relations that names mean in the view whose query is bound: each name as it is written, with the full name.
    pub(super) fixed: Vec<(RelationName, String)>,
    /// The tables that FOR UPDATE locks in the query that is bound.
    pub(super) locking: Locking,
    /// The number of columns that the FROM items of the query have had so far.
    pub(super) columns: usize,
    /// The numbers of FROM items, of frames, and of set operations with two sides in the statement so far.
    pub(super) items: usize,
    pub(super) frames: usize,
    pub(super) nested_operations: usize,
    /// Whether the statement changes rows. If so, it may lock any rows that it looks at.
    pub(super) changes_rows: bool,
    /// PostgreSQL's name of the clause that is bound, if no subquery may stand in it.
    pub(super) without_subqueries: Option<&'static str>,
    /// Whether the next SELECT is the query of an EXISTS whose rows may be found in a hash table. If they are,
    /// `matching` says how.
    pub(super) may_match: bool,
    pub(super) matching: Option<Matching>,
    /// Whether the FROM clause of the SELECT that is bound mentions the WITH RECURSIVE query whose recursive term it
    /// belongs to.
    pub(super) recurs: bool,
}

/// The maximum depth of nested expressions. A chain of AND or OR counts as one level.
pub(super) const MAX_DEPTH: usize = 300;

impl<'a> Binder<'a> {
    /// Makes a binder for a statement. `offset` characters precede `text` in the client's message. `params` are the
    /// declared types of the parameters.
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

    /// Makes the binder bind a statement of a procedure, to which `call_depth` nested calls have led.
    pub(crate) fn within(self, variables: &'a Variables<'a>, call_depth: usize) -> Self {
        Self { variables: Some(variables), call_depth: call_depth + 1, ..self }
    }

    /// Returns the definitions that the binder has looked up.
    pub(crate) fn used(self) -> Used {
        self.used
    }

    /// Gives an error the position at which a span of the syntax begins.
    pub(super) fn locate(&self, error: SqlError, span: Span) -> SqlError {
        self.locate_at(error, span.start)
    }

    /// Gives an error a position in the client's message, unless it has one. The expressions of stored definitions have
    /// no text in which a position would mean anything.
    pub(super) fn locate_at(&self, error: SqlError, at: Location) -> SqlError {
        if error.position.is_some() || self.text.is_empty() {
            return error;
        }
        match parse::position(self.text, at) {
            Some(position) => error.at(position + self.offset),
            None => error,
        }
    }

    /// Returns the full name of the relation that a name means. In a view, the name means what it meant when the view
    /// was made.
    pub(super) fn found(&mut self, written: &RelationName) -> String {
        if let Some((_, name)) = self.fixed.iter().find(|(known, _)| known == written) {
            return name.clone();
        }
        let name = self.view.find(written);
        self.used.add_name(written, &name);
        name
    }

    /// Returns the table of this name, and adds it to the used definitions.
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
