//! EXPLAIN ANALYZE.

use super::Session;
use super::output::{Output, Tag};
use crate::OutputColumn;
use crate::bind::explained;
use crate::exec::Fail;
use crate::plan::Analysis;
use crate::plan::Plan;
use hotrow_storage::Value;
use hotrow_sync::Time;
use hotrow_txn::Transaction;
use std::ops::ControlFlow;

impl Session {
    /// Runs a statement whose plan counts rows and times. Discards the statement's rows, and sends the plan with its
    /// counts.
    pub(super) fn analyze(
        &mut self,
        analysis: &Analysis,
        columns: Option<&[OutputColumn]>,
        params: &[Value<'static>],
        output: &mut Output<'_>,
    ) -> Result<Tag, Fail> {
        let (statement, options) = (&analysis.statement, analysis.options);
        let before = *self.engine.txn.statistics();
        let start = Time::now();
        self.plan_accesses(&[(statement, params)])?;
        self.begin_engine()?;
        statement.plan.reset_counts();
        let read_only = self.context.transaction.read_only.get();
        let mut exec = self.exec(params);
        let mut answered = 0;
        let rows = exec.rows(&statement.plan, read_only, &mut |_| {
            answered += 1;
            Ok(ControlFlow::Continue(()))
        })?;
        let taken_ns = Time::now().since(start).as_nanos() as u64;
        let waited = self.engine.txn.statistics().since(&before);
        let top = match statement.plan {
            Plan::Query(_) => None,
            _ => Some((answered, options.timing.then_some(taken_ns))),
        };
        let mut explanation = explained(&statement.plan, options.timing, top, rows);
        let waited_ms = format!("{:.3}", waited.wait_ns as f64 / 1e6);
        let waits = ("Lock Waits", waited.waits.to_string());
        match waited.waits {
            0 => explanation.close("Lock Waits: 0".to_owned(), vec![waits]),
            number if options.timing => {
                let line = format!("Lock Waits: {number} ({waited_ms} ms)");
                explanation.close(line, vec![waits, ("Lock Wait Time", waited_ms)]);
            }
            number => explanation.close(format!("Lock Waits: {number}"), vec![waits]),
        }
        if options.summary {
            explanation.close_time("Planning Time", analysis.planning_ns);
            explanation.close_time("Execution Time", taken_ns);
        }
        for row in explanation.rows(options.json) {
            output.row(columns, &[row])?;
        }
        Ok(Tag::Word("EXPLAIN"))
    }
}
