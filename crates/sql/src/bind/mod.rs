//! From syntax to plans: names are looked up, types are found, access paths are chosen.
//!
//! | file | what |
//! | --- | --- |
//! | `types` | common types, coercion of literals and parameters to what their place wants |
//! | `expr` | expressions |
//! | `operators` | comparison, arithmetic, concatenation |
//! | `interval` | intervals: literals, operators, `make_interval` |
//! | `calls`, `aggregate` | functions and aggregates |
//! | `scope` | the columns that names can mean |
//! | `select` | queries |
//! | `from` | FROM |
//! | `join` | joins: in which order, and how |
//! | `cost` | what a join is expected to cost |
//! | `push` | conditions on subqueries in FROM |
//! | `subquery`, `semi_join` | subqueries of expressions; EXISTS as a join |
//! | `set_returning` | set-returning functions in a select list |
//! | `set_operation` | UNION, INTERSECT, EXCEPT |
//! | `with` | WITH |
//! | `grouping` | queries with aggregates |
//! | `window` | queries with window functions |
//! | `path`, `bounds` | how a table's rows are found, and what conditions say of an index |
//! | `dml` | INSERT, UPDATE, DELETE |
//! | `foreign_key` | what foreign keys ask of statements that change rows |
//! | `ddl` | column definitions and constraints |
//! | `procedure` | procedures and CALL |
//! | `catalog` | casts and operators of those who look into the catalogs |
//! | `view` | views |
//! | `explain`, `told` | what there is to tell of plans; as lines and as JSON |

mod aggregate;
mod array;
mod bounds;
mod calls;
mod catalog;
mod cost;
mod ddl;
mod dml;
mod explain;
mod expr;
mod foreign_key;
mod from;
mod grouping;
mod interval;
mod join;
mod json;
mod names;
mod operators;
mod path;
mod procedure;
mod push;
mod rows;
mod scope;
mod select;
mod semi_join;
mod set_operation;
mod set_returning;
mod subquery;
mod table_function;
mod told;
mod types;
mod view;
mod window;
mod with;

pub use ddl::{bind_conversion, define_check, define_default, used_by_default};
pub(crate) use explain::{explained, planned};
pub(crate) use procedure::{Variables, compile_new};
pub use procedure::{argument_types, check_recursion, define_arguments};
pub(crate) use scope::Scope;
pub(crate) use view::{define_view, holds, not_a_table};

use crate::catalog::{Table, Used, View};
use crate::depth::Syntax;
use crate::error::unsupported;
use crate::expected::Expected;
use crate::expr::Expr;
use crate::parse::names::{name_parts, object_name};
use crate::plan::{AggregateCall, Plan, Statement};
use crate::schema::{RelationName, undefined_table};
use crate::{OutputColumn, SqlError, parse, state, system};
use hotrow_storage::Type;
use hotrow_sync::atomic::AtomicU64;
use hotrow_sync::{Arc, Mutex};
use sqlparser::ast;
use sqlparser::tokenizer::{Location, Span};
use std::ops::Range;

/// A bound expression and its type; `None` while that is not known: a string literal, a parameter, NULL.
#[derive(Clone, Debug)]
pub(crate) struct Typed {
    pub(crate) expr: Expr,
    pub(crate) ty: Option<Type>,
    /// Where it begins, if that is a name or a literal.
    pub(crate) at: Location,
}

impl Typed {
    pub(crate) fn new(expr: Expr, ty: Type) -> Self {
        Self { expr, ty: Some(ty), at: NOWHERE }
    }

    /// An expression whose type its place decides.
    pub(crate) fn unknown(expr: Expr) -> Self {
        Self { expr, ty: None, at: NOWHERE }
    }

    pub(crate) fn bool(expr: Expr) -> Self {
        Self::new(expr, Type::Bool)
    }
}

/// The place of what has none.
const NOWHERE: Location = Location { line: 0, column: 0 };

/// Whether aggregates may stand where an expression is bound, and those found.
#[derive(Debug)]
enum Aggregates {
    /// None; the words say where.
    Refused(&'static str),
    /// Allowed.
    Found(Vec<AggregateCall>),
}

/// Binds one statement.
pub(crate) struct Binder<'a> {
    /// The statement's own text, for positions.
    text: &'a str,
    /// How many characters stand before it in what the client sent.
    offset: u32,
    view: View<'a>,
    params: Vec<Option<Type>>,
    /// What was looked up.
    used: Used,
    /// The rows that are expected of tables, and whether that decides in which order any are joined.
    expected: Vec<Expected>,
    has_order: bool,
    aggregates: Aggregates,
    windows: window::Windows,
    sets: set_returning::Sets,
    depth: usize,
    /// Those of the procedure that the statement is part of.
    variables: Option<&'a Variables<'a>>,
    /// How many calls led to the statement.
    call_depth: usize,
    /// The queries around the one that is bound, and the FROM items beside it, which it cannot see.
    outer: Vec<scope::Level>,
    /// The levels of these queries whose columns were found so far, in the order of their mentions.
    looked: Vec<usize>,
    beside: Vec<Scope>,
    /// The queries of WITH.
    named: Vec<with::Named>,
    /// What each `*` of the statement means, by where it stands; none if nobody wants to know.
    stars: Option<view::Stars>,
    /// What names mean in the view whose query is bound.
    fixed: Vec<(RelationName, String)>,
    /// What FOR UPDATE locks of the query that is bound.
    locking: from::Locking,
    /// How many columns the FROM items of the query have so far.
    columns: usize,
    /// How many FROM items the statement has so far, frames, and set operations of two sides.
    items: usize,
    frames: usize,
    nested_operations: usize,
    /// The statement changes rows, so that it may lock them wherever it looks at some.
    changes_rows: bool,
    /// Where no subquery may stand, PostgreSQL's name of the place.
    without_subqueries: Option<&'static str>,
    /// The next SELECT is EXISTS's, and a hash table may serve its comparisons with the row around it; if so, how.
    may_match: bool,
    matching: Option<semi_join::Matching>,
    /// The FROM clause of the SELECT that is bound has the rows before of WITH RECURSIVE.
    recurs: bool,
}

/// How deep expressions may nest once chains of AND and OR are flat.
const MAX_DEPTH: usize = 300;

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
            windows: window::Windows::default(),
            sets: set_returning::Sets::default(),
            depth: 0,
            variables: None,
            call_depth: 0,
            outer: Vec::new(),
            looked: Vec::new(),
            beside: Vec::new(),
            named: Vec::new(),
            stars: None,
            fixed: Vec::new(),
            locking: from::Locking::None,
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

    /// For a statement of a procedure that so many calls led to.
    pub(crate) fn within(self, variables: &'a Variables<'a>, call_depth: usize) -> Self {
        Self { variables: Some(variables), call_depth: call_depth + 1, ..self }
    }

    /// Binds and plans a statement. `sql` and the statement's `tokens` in it are kept to make the plan again.
    pub(crate) fn statement(
        mut self,
        sql: Arc<str>,
        tokens: Range<usize>,
        statement: Syntax<ast::Statement>,
    ) -> Result<Statement, SqlError> {
        // Read before the tables are: a change in between makes the plan stale, not wrong.
        let version = AtomicU64::new(self.view.catalog.version());
        let declared = self.params.clone();
        let (plan, columns) = self.plan(statement)?;
        let untyped = |(index, ty): (usize, &Option<Type>)| {
            ty.ok_or_else(|| {
                let message = format!("could not determine data type of parameter ${}", index + 1);
                SqlError::new(state::INDETERMINATE_DATATYPE, message)
            })
        };
        let params = self.params.iter().enumerate().map(untyped).collect::<Result<_, _>>()?;
        let private = self.used.is_changed(self.view.changes);
        let path = self.view.path.cloned();
        Ok(Statement {
            sql,
            tokens,
            declared,
            params,
            columns,
            plan,
            used: self.used,
            expected: if self.has_order { self.expected } else { Vec::new() },
            version,
            path,
            private,
            successor: Mutex::default(),
        })
    }

    fn plan(&mut self, statement: Syntax<ast::Statement>) -> Result<(Plan, Option<Vec<OutputColumn>>), SqlError> {
        use ast::Statement as S;
        Ok(match &*statement {
            S::Query(query) if let Some(change) = with::change(query) => self.change_with(query, change)?,
            S::Query(query) => {
                let (node, columns) = self.query(query)?;
                (Plan::Query(node), Some(columns))
            }
            S::Insert(insert) => self.insert(insert)?,
            S::Update(update) => self.update(update)?,
            S::Delete(delete) => self.delete(delete)?,
            S::Call(function) => self.call_statement(function)?,
            S::CreateTable(_)
            | S::CreateIndex(_)
            | S::CreateView(_)
            | S::AlterTable(_)
            | S::AlterIndex { .. }
            | S::Drop { .. } => (Plan::Ddl(statement.clone()), None),
            other => return Err(unsupported(&first_words(&other.to_string()))),
        })
    }

    /// A query with its columns, for COPY TO.
    pub(crate) fn copy_query(
        &mut self,
        statement: Syntax<ast::Statement>,
    ) -> Result<(Plan, Option<Vec<OutputColumn>>), SqlError> {
        self.plan(statement)
    }

    /// What was looked up.
    pub(crate) fn used(self) -> Used {
        self.used
    }

    /// A position for a place in the syntax.
    fn locate(&self, error: SqlError, span: Span) -> SqlError {
        self.locate_at(error, span.start)
    }

    /// A position for an error that has none. The expressions of stored definitions have no text to point into.
    fn locate_at(&self, error: SqlError, at: Location) -> SqlError {
        if error.position.is_some() || self.text.is_empty() {
            return error;
        }
        match parse::position(self.text, at) {
            Some(position) => error.at(position + self.offset),
            None => error,
        }
    }

    /// The full name of the relation that a name means; in a view, what it meant when the view was made.
    fn found(&mut self, written: &RelationName) -> String {
        if let Some((_, name)) = self.fixed.iter().find(|(known, _)| known == written) {
            return name.clone();
        }
        let name = self.view.find(written);
        self.used.add_name(written, &name);
        name
    }

    /// The table of this name, noted as used.
    fn table(&mut self, name: &ast::ObjectName) -> Result<Arc<Table>, SqlError> {
        let written = object_name(name)?;
        let name_text = self.found(&written);
        let Some(table) = self.view.table(&name_text) else {
            let error = match system::relation(&name_parts(name)?) {
                Some(_) => {
                    let message = format!("\"{name_text}\" is made up by the server: it can only be queried");
                    SqlError::new(state::WRONG_OBJECT_TYPE, message)
                }
                None if self.view.view(&name_text).is_some() => view::only_queried(&name_text),
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

fn span_of(name: &ast::ObjectName) -> Span {
    match name.0.first() {
        Some(ast::ObjectNamePart::Identifier(ident)) => ident.span,
        _ => Span::empty(),
    }
}

fn first_words(sql: &str) -> String {
    sql.split_whitespace().take(2).collect::<Vec<_>>().join(" ").to_uppercase()
}
