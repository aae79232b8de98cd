//! The binder's state: its knowledge of the statement that it binds, and its look-ups in the catalog.

use super::dependencies::Dependencies;
use super::enclosing::Enclosing;
use super::limits::Counts;
use super::parameters::Parameters;
use super::query::{Locking, Matching};
use super::select_state::{Aggregates, SelectState};
use super::source_text::SourceText;
use super::surroundings::Surroundings;
use super::variables::Variables;
use crate::catalog::procedure::Procedure;
use crate::catalog::{Table, Used, View};
use crate::parse::names::{name_parts, object_name};
use crate::schema::{RelationName, undefined_table};
use crate::{SqlError, state, system};
use hotrow_storage::Type;
use hotrow_sync::Arc;
use sqlparser::ast;
use sqlparser::tokenizer::{Location, Span};

/// The state of binding one statement.
pub(crate) struct Binder<'a> {
    pub(super) source: SourceText<'a>,
    pub(super) view: View<'a>,
    pub(super) parameters: Parameters<'a>,
    /// The definitions and estimates that the plan depends on.
    pub(super) depends: Dependencies,
    pub(super) counts: Counts,
    /// The names that the query that is bound may mention besides those of its own FROM clause.
    pub(super) around: Surroundings,
    /// The positions in the [surroundings](Surroundings::levels) of the queries whose columns have been found so far,
    /// one for each mention of a column.
    pub(super) looked: Vec<usize>,
    /// The state of the SELECT that is bound.
    pub(super) select: SelectState,
    /// The tables that FOR UPDATE locks in the query that is bound.
    pub(super) locking: Locking,
    /// Whether the statement changes rows. If so, it may lock any rows that it looks at.
    pub(super) changes_rows: bool,
    /// PostgreSQL's name of the clause that is bound, if no subquery may stand in it.
    pub(super) without_subqueries: Option<&'static str>,
    /// Whether the next SELECT is the query of an EXISTS whose rows may be found in a hash table. If they are,
    /// `matching` says how.
    pub(super) may_match: bool,
    pub(super) matching: Option<Matching>,
    /// Whether the statement is bound only to make a definition, so that its plan never runs. If so, the bodies of
    /// functions that the statement calls are not bound, and the objects that these bodies mention need not exist yet.
    pub(super) defines: bool,
    /// The calls of users' functions in the definition that is bound, each with its position in the text. Calls in the
    /// views that the definition mentions are left out.
    pub(super) called: Vec<(Location, Arc<Procedure>)>,
}

impl<'a> Binder<'a> {
    /// Makes a binder for a statement. `offset` characters precede `text` in the client's message. `params` are the
    /// declared types of the parameters.
    pub(crate) fn new(text: &'a str, offset: u32, view: View<'a>, params: Vec<Option<Type>>) -> Self {
        Self {
            source: SourceText::new(text, offset),
            view,
            parameters: Parameters::declared(params),
            depends: Dependencies::default(),
            counts: Counts::default(),
            around: Surroundings::default(),
            looked: Vec::new(),
            select: SelectState::new("this context"),
            locking: Locking::None,
            changes_rows: false,
            without_subqueries: None,
            may_match: false,
            matching: None,
            defines: false,
            called: Vec::new(),
        }
    }

    /// Makes the binder bind a statement of a body, which may name `variables`. `enclosing` is the body, with the
    /// bodies around it; `None` for the body of DO, which has no definition.
    pub(super) fn within(mut self, variables: &'a Variables, enclosing: Option<&'a Enclosing<'a>>) -> Self {
        self.parameters.variables = Some(variables);
        self.parameters.enclosing = enclosing;
        self
    }

    /// Returns the definitions that the binder has looked up.
    pub(crate) fn used(self) -> Used {
        self.depends.used
    }

    /// Gives an error the position at which a span of the syntax begins.
    pub(super) fn locate(&self, error: SqlError, span: Span) -> SqlError {
        self.locate_at(error, span.start)
    }

    /// Gives an error a position in the client's message, unless it has one.
    pub(super) fn locate_at(&self, error: SqlError, at: Location) -> SqlError {
        self.source.locate(error, at)
    }

    /// Calls `bind` for a part of the statement in which no aggregate function may stand. Errors name the part as
    /// `place`, which is PostgreSQL's name of it.
    pub(super) fn without_aggregates<R>(&mut self, place: &'static str, bind: impl FnOnce(&mut Self) -> R) -> R {
        let outer = std::mem::replace(&mut self.select.aggregates, Aggregates::Refused(place));
        let bound = bind(self);
        self.select.aggregates = outer;
        bound
    }

    /// Returns the name of a FROM item that is written with its schema, in the form of
    /// [`qualified`](super::scope::qualified).
    pub(super) fn qualified(&self, schema: &str, name: &str) -> String {
        super::scope::qualified(self.view.schema_of(schema), name)
    }

    /// Returns the full name of the relation that a name means. If a view or a default is bound that has fixed the
    /// meaning of the name, that meaning counts. Otherwise the name is resolved by the search path, and the plan
    /// depends on the result.
    ///
    /// # Errors
    /// 0A000 if the name is qualified with the name of another database.
    pub(super) fn found(&mut self, written: &RelationName) -> Result<String, SqlError> {
        if let Some(name) = self.around.fixed(written) {
            return Ok(name.to_owned());
        }
        self.view.check_database(written)?;
        let name = self.view.find(written);
        self.depends.used.add_name(written, &name);
        Ok(name)
    }

    /// Returns the table of this name, and adds it to the used definitions.
    pub(super) fn table(&mut self, name: &ast::ObjectName) -> Result<Arc<Table>, SqlError> {
        let written = object_name(name)?;
        let name_text = self.found(&written)?;
        let Some(table) = self.view.table(&name_text) else {
            let error = match system::relation(&name_parts(name)?) {
                Some(_) => {
                    let message = format!("\"{name_text}\" is made up by the server: it can only be queried");
                    SqlError::new(state::WRONG_OBJECT_TYPE, message)
                }
                None if [Some("pg_catalog"), Some("information_schema")].contains(&written.schema.as_deref()) => {
                    undefined_table(&name_text).hint("There is no system relation of this name.")
                }
                None => undefined_table(&name_text),
            };
            return Err(self.locate(error, span_of(name)));
        };
        self.depends.used.add_table(&table);
        Ok(table)
    }
}

pub(super) fn span_of(name: &ast::ObjectName) -> Span {
    match name.0.first() {
        Some(ast::ObjectNamePart::Identifier(ident)) => ident.span,
        _ => Span::empty(),
    }
}
