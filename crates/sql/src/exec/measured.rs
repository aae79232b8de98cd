//! Operators that count what they do, for EXPLAIN ANALYZE.

use super::{Exec, Fail, Sink};
use crate::plan::measured::Measured;
use hotrow_sync::Time;

impl Exec<'_> {
    pub(super) fn measured(&mut self, measured: &Measured, sink: Sink<'_>) -> Result<(), Fail> {
        let mut rows = 0;
        if !measured.timed {
            let ran = self.run(&measured.node, &mut |row| {
                rows += 1;
                sink(row)
            });
            measured.counts.add(rows, 0, 0);
            return ran;
        }
        let nanos = |since: Time| Time::now().since(since).as_nanos() as u64;
        let (start, mut first, mut elsewhere) = (Time::now(), None, 0);
        let ran = self.run(&measured.node, &mut |row| {
            rows += 1;
            first.get_or_insert_with(|| nanos(start));
            let handed = Time::now();
            let flow = sink(row);
            elsewhere += nanos(handed);
            flow
        });
        let total = nanos(start).saturating_sub(elsewhere);
        measured.counts.add(rows, first.unwrap_or(total), total);
        ran
    }
}
