//! EXPLAIN ANALYZE.

use super::Session;
use super::run::{Output, Tag};
use crate::OutputColumn;
use crate::bind::explained;
use crate::exec::Fail;
use crate::measured::Analysis;
use crate::plan::Plan;
use hotrow_storage::Value;
use hotrow_sync::Time;
use hotrow_txn::Transaction;
use std::ops::ControlFlow;

impl Session {
    /// Runs a statement whose plan counts, throws its rows away, and tells what came of it.
    pub(super) fn analyze(
        &mut self,
        analysis: &Analysis,
        columns: Option<&[OutputColumn]>,
        params: &[Value<'static>],
        output: &mut Output<'_>,
    ) -> Result<Tag, Fail> {
        let (statement, options) = (&analysis.statement, analysis.options);
        let before = *self.txn.statistics();
        let start = Time::now();
        self.plan_accesses(&[(statement, params)])?;
        self.begin_engine()?;
        statement.plan.reset_counts();
        let read_only = self.names.read_only.get();
        let (_, mut exec) = self.exec(params);
        let mut answered = 0;
        let rows = exec.rows(&statement.plan, read_only, &mut |_| {
            answered += 1;
            Ok(ControlFlow::Continue(()))
        })?;
        let taken_ns = Time::now().since(start).as_nanos() as u64;
        let waited = self.txn.statistics().since(&before);
        let ms = |ns: u64| format!("{:.3} ms", ns as f64 / 1e6);
        let top = match statement.plan {
            Plan::Query(_) => None,
            _ => Some((answered, options.timing.then_some(taken_ns))),
        };
        let mut lines = explained(&statement.plan, options.timing, top, rows);
        lines.push(match waited.waits {
            0 => "Lock Waits: 0".to_owned(),
            waits if options.timing => format!("Lock Waits: {waits} ({})", ms(waited.wait_ns)),
            waits => format!("Lock Waits: {waits}"),
        });
        if options.summary {
            lines.push(format!("Planning Time: {}", ms(analysis.planning_ns)));
            lines.push(format!("Execution Time: {}", ms(taken_ns)));
        }
        for line in &lines {
            output.row(columns, &[Value::text(line)])?;
        }
        Ok(Tag::Word("EXPLAIN"))
    }
}
