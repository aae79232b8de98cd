//! `LIKE table` in CREATE TABLE: columns, and what belongs to them, as another table has them.

use super::Fail;
use super::ddl::{Ddl, Draft};
use crate::bind::not_a_table;
use crate::catalog::sequence::Sequence;
use crate::catalog::{Check, Computed, Part, Table};
use crate::parse::like::LikeOptions;
use crate::parse::sequence::SequenceOption;
use crate::table_lock::Mode;
use crate::{SqlError, state};
use hotrow_storage::{Column, IndexRef};
use sqlparser::ast;

impl Ddl<'_> {
    /// Runs `LIKE table` in CREATE TABLE: adds the columns of another table to a draft, together with the properties
    /// that the options include.
    pub(super) fn add_like(
        &mut self,
        draft: &mut Draft,
        element: &ast::ColumnDef,
        options: LikeOptions,
    ) -> Result<(), Fail> {
        let ast::DataType::Custom(name, _) = &element.data_type else {
            return Err(SqlError::new(state::SYNTAX_ERROR, "LIKE takes the name of a table").into());
        };
        let name = self.found(name)?;
        self.lock(&name, Mode::Shared)?;
        let source = self.view().table(&name).ok_or_else(|| not_a_table(&name, self.view()))?;
        self.keep_types_of(&source)?;
        self.keep_types_in_rules(&source.rules)?;
        let first = draft.visible();
        for (at, column) in source.schema.columns[..source.visible()].iter().enumerate() {
            if draft.schema.column(&column.name).is_some() {
                let message = format!("column \"{}\" specified more than once", column.name);
                return Err(SqlError::new(state::DUPLICATE_COLUMN, message).into());
            }
            let identity = source.rules.identities.iter().find(|(identity, _)| *identity == at);
            let default = match identity {
                Some(_) if options.identity => {
                    let like = self.sequence_options(&source, at);
                    Some(self.own_sequence(draft, &column.name, column.ty, &like)?)
                }
                Some(_) => None,
                None => source.rules.defaults.get(at).cloned().flatten().filter(|_| options.defaults),
            };
            if let Some(default) = &default {
                self.lock_sequences(default, &draft.schema.name)?;
                self.lock_functions(default)?;
            }
            let new = draft.add_column(Column::clone(column), default);
            draft.rules.set_domain(new, source.domain(at));
            draft.rules.identities.extend(identity.filter(|_| options.identity).map(|(_, always)| (new, *always)));
            let comment = source.rules.comments.get(&Part::Column(column.name.clone()));
            if let Some(comment) = comment.filter(|_| options.comments) {
                draft.rules.comments.insert(Part::Column(column.name.clone()), comment.clone());
            }
        }
        let generated = source.rules.computed.iter().filter(|computed| computed.column < source.visible());
        for Computed { column, value } in generated.filter(|_| options.generated) {
            let mut value = value.clone();
            value.columns.iter_mut().for_each(|column| *column += first);
            draft.rules.computed.push(Computed { column: first + column, value });
        }
        if options.constraints {
            for check in &source.rules.checks {
                let mut condition = check.condition.clone();
                condition.columns.iter_mut().for_each(|column| *column += first);
                draft.rules.checks.push(Check { name: check.name.clone(), condition });
            }
            draft.rules.checks.sort_by(|left, right| left.name.cmp(&right.name));
        }
        if options.indexes { self.add_indexes_of(draft, &source, first) } else { Ok(()) }
    }

    /// Adds copies of another table's keys and indexes to a draft, under new names. In the draft, the columns of that
    /// table begin at position `first`.
    fn add_indexes_of(&mut self, draft: &mut Draft, source: &Table, first: usize) -> Result<(), Fail> {
        let names =
            |columns: &[usize]| columns.iter().map(|&at| source.schema.columns[at].name.clone()).collect::<Vec<_>>();
        if source.rules.primary_key.is_some() {
            self.set_primary_key(draft, None, &names(&source.schema.key))?;
        }
        for index in source.indexes().filter(|index| *index != IndexRef::Primary) {
            if source.rules.unique_constraints.iter().any(|unique| unique == source.index_name(index)) {
                self.add_unique(draft, None, &names(source.index_columns(index)))?;
            } else {
                self.add_index_like(draft, source, index, first)?;
            }
        }
        Ok(())
    }

    /// Returns the options of a sequence that equals the one of an identity column.
    fn sequence_options(&self, table: &Table, column: usize) -> Vec<SequenceOption> {
        let default = table.rules.defaults.get(column).and_then(Option::as_ref);
        let sequence = default.and_then(|default| self.view().sequence_by_id(*default.sequences().first()?));
        let Some(sequence) = sequence else { return Vec::new() };
        let &Sequence { increment, min, max, start, cycle, .. } = &*sequence;
        vec![
            SequenceOption::Increment(increment),
            SequenceOption::Min(Some(min)),
            SequenceOption::Max(Some(max)),
            SequenceOption::Start(start),
            SequenceOption::Cycle(cycle),
        ]
    }
}
