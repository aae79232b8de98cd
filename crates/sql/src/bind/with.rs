//! WITH: queries with names.
//!
//! A query that is mentioned once takes the place of its mention, so that conditions there find its indexes. The rows
//! of any other query are kept when the query with the WITH clause begins, and read as many times as it is mentioned.

use super::binder::{Binder, span_of};
use super::changes::change;
use super::query::{Bound, From, Locking, PlanWithColumns, WithQuery, Within};
use crate::error::unsupported;
use crate::parse::names::{fold, name_parts};
use crate::plan::{Node, Recursive};
use crate::types::{type_name, without_modifier};
use crate::{OutputColumn, SqlError, state};
use sqlparser::ast::{self, SetExpr, SetOperator, SetQuantifier};

impl Binder<'_> {
    /// Binds the queries of a WITH clause, and adds them to those that can be mentioned. `is_top` says that the clause
    /// belongs to the statement itself, so that its queries may change rows.
    ///
    /// # Errors
    /// 42712 if two queries have the same name. 0A000 if a query changes rows and `is_top` is not set, or for a MERGE.
    pub(super) fn with(&mut self, with: &ast::With, is_top: bool) -> Result<(), SqlError> {
        let first = self.around.named.len();
        let changes = with.cte_tables.iter().any(|cte| change(&cte.query).is_some());
        for cte in &with.cte_tables {
            let name = fold(&cte.alias.name);
            if self.around.named[first..].iter().any(|known| known.name == name) {
                let message = format!("WITH query name \"{name}\" specified more than once");
                return Err(self.locate(SqlError::new(state::DUPLICATE_ALIAS, message), cte.alias.name.span));
            }
            let locking = std::mem::replace(&mut self.locking, Locking::None);
            let scans = self.counts.early_scans;
            let bound = match change(&cte.query) {
                Some(_) if !is_top => {
                    let message = "WITH clause containing a data-modifying statement must be at the top level";
                    let error = SqlError::new(state::FEATURE_NOT_SUPPORTED, message);
                    Err(self.locate(error, cte.alias.name.span))
                }
                Some(ast::Statement::Merge(_)) => Err(unsupported("MERGE in WITH")),
                Some(change) => self.change_in_with(&cte.query, change),
                None if with.recursive => self.recursive_query(&name, cte),
                None => self.inner_query(&cte.query),
            };
            self.locking = locking;
            let mut bound = bound?;
            if !bound.node.is_change() {
                self.settle(&mut bound)?;
            }
            rename(&name, &mut bound.columns, &cte.alias)?;
            // A name is mentioned where it is defined, where a recursive query mentions itself, and at one place more.
            let own = if matches!(bound.node, Node::Recursive(_)) { 3 } else { 2 };
            // A query that is put elsewhere would see changes that are written after it.
            let inline = !changes
                && cte.materialized != Some(ast::CteAsMaterialized::Materialized)
                && mentions(self.source.text, &name).is_some_and(|count| count <= own);
            let rows = self.counts.new_frame();
            let early_scans = self.counts.early_scans - scans;
            self.around.named.push(WithQuery { inline, early_scans, ..WithQuery::complete(name, bound, rows) });
        }
        Ok(())
    }

    /// Binds an INSERT, UPDATE or DELETE with the WITH clause before it.
    pub(super) fn change_with(
        &mut self,
        query: &ast::Query,
        change: &ast::Statement,
    ) -> Result<PlanWithColumns, SqlError> {
        let first = self.around.named.len();
        let is_top = std::mem::take(&mut self.around.is_top);
        if let Some(with) = &query.with {
            self.with(with, is_top)?;
        }
        let (mut plan, columns) = match change {
            ast::Statement::Insert(insert) => self.insert(insert)?,
            ast::Statement::Update(update) => self.update(update)?,
            ast::Statement::Delete(delete) => self.delete(delete)?,
            ast::Statement::Merge(merge) => self.merge_into(merge)?,
            other => return Err(unsupported(&other.to_string())),
        };
        if let Some(source) = plan.query_mut() {
            *source = self.end_with(first, std::mem::replace(source, Node::One))?;
        }
        // A plan without a query mentions none of the queries of WITH.
        self.around.named.truncate(first);
        Ok((plan, columns))
    }

    /// Ends the scope of the WITH queries from position `first` on. Returns the plan of the query around them, which
    /// begins by keeping the rows of those that were mentioned and not put in place.
    pub(super) fn end_with(&mut self, first: usize, node: Node) -> Result<Node, SqlError> {
        if self.around.named[first..].iter().any(WithQuery::changes) {
            return self.end_with_changes(first, node);
        }
        let kept = self.around.named.drain(first..).filter(|query| query.references > 0);
        let kept: Vec<_> = kept.filter_map(|query| Some((query.rows, query.plan?))).collect();
        Ok(if kept.is_empty() { node } else { Node::With(kept, Box::new(node)) })
    }

    /// Binds a name in FROM that means a query of WITH. Returns `None` if it means none.
    pub(super) fn with_item(
        &mut self,
        name: &ast::ObjectName,
        alias: Option<&ast::TableAlias>,
    ) -> Result<Option<From>, SqlError> {
        let parts = name_parts(name)?;
        let [wanted] = &parts[..] else { return Ok(None) };
        let around = self.around.levels.len();
        let Some(query) = self.around.named.iter_mut().rev().find(|known| known.name == *wanted) else {
            return Ok(None);
        };
        let wrong = |what: &str| {
            let message = format!("recursive reference to query \"{wanted}\" must not appear {what}");
            Err(SqlError::new(state::INVALID_RECURSION, message))
        };
        match query.within {
            Within::Nothing => {}
            Within::Other => {
                let message = format!(
                    "recursive query \"{wanted}\" does not have the form non-recursive-term UNION [ALL] recursive-term"
                );
                return Err(SqlError::new(state::INVALID_RECURSION, message));
            }
            Within::Start => return wrong("within its non-recursive term"),
            Within::Step(outside) if around > outside => return wrong("within a subquery"),
            Within::Step(_) if query.references > 0 => return wrong("more than once"),
            Within::Step(_) => {}
        }
        if let Err(error) = query.check_returning() {
            return Err(self.source.locate(error, span_of(name).start));
        }
        self.select.recurs |= query.within != Within::Nothing;
        query.references += 1;
        let (columns, rows) = (query.columns.clone(), query.rows);
        let plan = if query.inline { query.plan.take() } else { None };
        let node = plan.unwrap_or(Node::Reference(rows));
        self.rows_item(node, None, columns, Some(wanted.clone()), alias).map(Some)
    }

    /// Binds a query of WITH RECURSIVE, whether or not it mentions itself.
    fn recursive_query(&mut self, name: &str, cte: &ast::Cte) -> Result<Bound, SqlError> {
        let query = &*cte.query;
        let mut itself = WithQuery {
            name: name.to_owned(),
            columns: Vec::new(),
            rows: self.counts.new_frame(),
            plan: None,
            inline: false,
            references: 0,
            within: Within::Other,
            early_scans: 0,
        };
        let SetExpr::SetOperation { op: SetOperator::Union, set_quantifier, left, right } = &*query.body else {
            self.around.named.push(itself);
            let bound = self.inner_query(query);
            self.around.named.pop();
            return bound;
        };
        let place = self.around.named.len();
        itself.within = Within::Start;
        let rows = itself.rows;
        self.around.named.push(itself);
        let bound = self.recursive_terms(place, name, cte, (left, right));
        let references = self.around.named[place].references;
        self.around.named.truncate(place);
        let (start, step, columns) = bound?;
        if references == 0 {
            return self.inner_query(query);
        }
        if let Some(what) = unfit_clause(query) {
            let message = format!("{what} in a recursive query is not implemented");
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
        }
        if query.with.is_some() {
            return Err(unsupported("WITH in a recursive query"));
        }
        let distinct = *set_quantifier != SetQuantifier::All;
        let recursive = Recursive { rows, width: columns.len(), distinct, start, step };
        let loose = vec![false; columns.len()];
        Ok(Bound { node: Node::Recursive(Box::new(recursive)), columns, loose })
    }

    /// Returns the number of times that the recursive term that is being bound has mentioned its query.
    pub(super) fn self_references(&self) -> usize {
        let is_step = |query: &&WithQuery| matches!(query.within, Within::Step(_));
        self.around.named.iter().filter(is_step).map(|query| query.references).sum()
    }

    /// Returns an error if a recursive term has mentioned its query since there were `before` mentions. `place` is the
    /// part of the term in which it may not.
    pub(super) fn refuse_self_reference(&self, before: usize, place: &str) -> Result<(), SqlError> {
        if self.self_references() == before {
            return Ok(());
        }
        let step = self
            .around
            .named
            .iter()
            .rev()
            .find(|query| matches!(query.within, Within::Step(_)) && query.references > 0);
        let name = step.map_or("", |query| query.name.as_str());
        let message = format!("recursive reference to query \"{name}\" must not appear within {place}");
        Err(SqlError::new(state::INVALID_RECURSION, message))
    }

    /// Binds the two sides of a recursive query's UNION. Returns their plans and the columns.
    fn recursive_terms(
        &mut self,
        place: usize,
        name: &str,
        cte: &ast::Cte,
        (left, right): (&SetExpr, &SetExpr),
    ) -> Result<(Node, Node, Vec<OutputColumn>), SqlError> {
        let first = self.around.named.len();
        let mut start = self.set_operation(left)?;
        debug_assert_eq!(first, self.around.named.len());
        self.settle(&mut start)?;
        let mut columns = start.columns;
        columns.iter_mut().for_each(|column| (column.origin, column.domain) = (None, None));
        let mut shown = columns.clone();
        rename(name, &mut shown, &cte.alias)?;
        self.around.named[place].columns = shown;
        self.around.named[place].within = Within::Step(self.around.levels.len());
        let mut step = self.set_operation(right)?;
        if step.columns.len() != columns.len() {
            let message = "each UNION query must have the same number of columns";
            return Err(SqlError::new(state::SYNTAX_ERROR, message));
        }
        for (at, column) in columns.iter().enumerate() {
            if std::mem::take(&mut step.loose[at]) {
                self.retype(&mut step.node, at, column.ty, crate::expr::Strictness::Implicit)?;
                step.columns[at].ty = column.ty;
            }
            let (one, other) = (column.ty, step.columns[at].ty);
            let overall = super::types::common(one, other);
            if overall.map(without_modifier) != Some(without_modifier(one)) {
                let Some(overall) = overall else {
                    let (one, other) = (type_name(Some(one)), type_name(Some(other)));
                    let message = format!("UNION types {one} and {other} cannot be matched");
                    return Err(SqlError::new(state::DATATYPE_MISMATCH, message));
                };
                let (one, overall) = (type_name(Some(one)), type_name(Some(overall)));
                let message = format!(
                    "recursive query \"{name}\" column {} has type {one} in non-recursive term but type {overall} overall",
                    at + 1
                );
                return Err(SqlError::new(state::DATATYPE_MISMATCH, message)
                    .hint("Cast the output of the non-recursive term to the correct type."));
            }
        }
        self.cast_columns(&mut step, &columns)?;
        Ok((start.node, step.node, columns))
    }
}

/// Returns the name of the first clause that a recursive query has and may not have.
fn unfit_clause(query: &ast::Query) -> Option<&'static str> {
    let has_offset = matches!(&query.limit_clause, Some(ast::LimitClause::LimitOffset { offset: Some(_), .. }));
    if query.order_by.is_some() {
        Some("ORDER BY")
    } else if has_offset {
        Some("OFFSET")
    } else if query.limit_clause.is_some() || query.fetch.is_some() {
        Some("LIMIT")
    } else if !query.locks.is_empty() {
        Some("FOR UPDATE/SHARE")
    } else {
        None
    }
}

/// Gives columns the names of an alias.
fn rename(name: &str, columns: &mut [OutputColumn], alias: &ast::TableAlias) -> Result<(), SqlError> {
    let (given, there) = (alias.columns.len(), columns.len());
    if given > there {
        let message = format!("WITH query \"{name}\" has {there} columns available but {given} columns specified");
        return Err(SqlError::new(state::INVALID_COLUMN_REFERENCE, message));
    }
    for (column, given) in columns.iter_mut().zip(&alias.columns) {
        column.name = fold(&given.name);
    }
    Ok(())
}

/// Counts how often a text mentions a name, apart from its use as the relation of a column. Returns `None` if that
/// cannot be told.
fn mentions(text: &str, name: &str) -> Option<usize> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    if text.is_empty() || !name.chars().all(is_part) {
        return None;
    }
    let mut count = 0;
    let mut rest = text;
    while let Some(start) = rest.find(is_part) {
        let word = &rest[start..];
        let end = word.find(|letter| !is_part(letter)).unwrap_or(word.len());
        let (word, after) = word.split_at(end);
        if word.to_lowercase() == name.to_lowercase() && !after.starts_with('.') {
            count += 1;
        }
        rest = after;
    }
    Some(count)
}
