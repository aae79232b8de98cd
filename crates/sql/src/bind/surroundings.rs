//! The surroundings of a query: the names that it may mention besides those of its own FROM clause.

use super::query::WithQuery;
use super::scope::{Found, Level, Scope, show};
use super::typed::Typed;
use crate::catalog::view::Meanings;
use crate::schema::RelationName;

/// The surroundings of the query that is bound. The query of a view has surroundings of its own.
#[derive(Debug, Default)]
pub(super) struct Surroundings {
    /// The queries around the one that is bound, from the outermost in.
    pub(super) levels: Vec<Level>,
    /// The FROM items of these queries that the bound one cannot see because it is not LATERAL.
    pub(super) beside: Vec<Scope>,
    /// The queries of WITH that can be mentioned at this point.
    pub(super) named: Vec<WithQuery>,
    /// Whether the query that is bound next is that of the statement itself. Only then may its WITH change rows.
    pub(super) is_top: bool,
    /// The meanings that the definition of the bound view or default has fixed for the names in it; `None` if names
    /// have their present meanings.
    pub(super) fixed: Option<Meanings>,
}

impl Surroundings {
    /// Returns the surroundings of a query in which names have these meanings.
    pub(super) fn of_view(fixed: Meanings) -> Self {
        Self { fixed: Some(fixed), ..Self::default() }
    }

    /// Looks the name of a column up in the queries around, from the innermost out. Returns the column as the bound
    /// query sees it, and the position in `levels` of the query that has it.
    pub(super) fn find(&mut self, relation: Option<&str>, name: &str) -> Found<(Typed, usize)> {
        for (at, level) in self.levels.iter_mut().enumerate().rev() {
            match level.scope.find(relation, name) {
                Found::Nothing => {}
                Found::Column(named) => {
                    let mut typed = Typed::new(named.expr.clone(), named.ty);
                    show(&mut typed.expr, level.frame, &mut level.columns);
                    return Found::Column((typed, at));
                }
                Found::Ambiguous => return Found::Ambiguous,
            }
        }
        Found::Nothing
    }

    /// Returns the full name that a view has fixed for a name of a relation, or `None` if it has fixed none.
    pub(super) fn fixed(&self, written: &RelationName) -> Option<&str> {
        self.fixed.as_ref()?.relations.iter().find(|(known, _)| known == written).map(|(_, name)| name.as_str())
    }

    /// Returns the [keys](crate::catalog::procedure::key) of the users' functions that the bound view or default calls
    /// by a name: none if it calls no user's function by it. Returns `None` if names have their present meanings.
    pub(super) fn fixed_functions(&self, written: &RelationName) -> Option<&[String]> {
        let fixed = &self.fixed.as_ref()?.functions;
        Some(fixed.iter().find(|(known, _)| known == written).map(|(_, keys)| &keys[..]).unwrap_or_default())
    }
}
