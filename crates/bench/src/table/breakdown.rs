//! The table of where the time went, engine by engine.

use super::side_by_side::print_side_by_side;
use crate::numbers::brief;
use crate::report::{EngineSummary, SERVER_TIME_PARTS, SwitchReport};
use std::io::{self, Write};

/// Prints the parts of the time of transactions, or of servers in runs over the network.
pub(super) fn print_breakdown(out: &mut dyn Write, engines: &[EngineSummary<'_>], width: usize) -> io::Result<()> {
    const PARTS: [(&str, &str); 7] = [
        ("work", "work"),
        ("lock manager", "lock_manager"),
        ("contention", "contention"),
        ("inheritance", "inheritance"),
        ("wait", "wait"),
        ("log", "log"),
        ("other", "other"),
    ];
    let switches = engines.iter().find_map(|engine| engine.median.wire.as_ref()?.switches);
    let Some(SwitchReport { context_switch_ns, coroutine_switch_ns, coroutine_run_ns }) = switches else {
        writeln!(out, "\nwhere the time of the sampled transactions went, in µs of each and per cent:")?;
        let share = |engine: &EngineSummary<'_>, part: &str| engine.median.costs.breakdown.get(part)?.as_f64();
        let is_measured =
            |part: &str| engines.iter().any(|engine| share(engine, part).is_some_and(|share| share > 0.0));
        let is_shown = |(_, part): &&(&str, &str)| !["contention", "inheritance"].contains(part) || is_measured(part);
        let parts: Vec<_> = PARTS.iter().filter(is_shown).copied().collect();
        print_side_by_side(out, engines, &parts, width, |engine, part| part_cell(engine, part))?;
        return print_threads(out, engines, width);
    };
    writeln!(out, "\nwhere the server's CPU time went, in µs of each transaction and per cent:")?;
    let parts = SERVER_TIME_PARTS.map(|part| (part.replace('_', " "), part));
    let rows: Vec<_> = parts.iter().map(|(name, part)| (name.as_str(), *part)).collect();
    print_side_by_side(out, engines, &rows, width, |engine, part| part_cell(engine, part))?;
    writeln!(
        out,
        "switches: counted, times {:.1} µs for one of threads, {coroutine_run_ns:.0} ns for a coroutine, \
         {coroutine_switch_ns:.0} ns for one of coroutines; network: other system time; work: other user time",
        context_switch_ns / 1e3
    )
}

/// Prints the parts of the time of threads that execute transactions, and how busy threads were that only serve them.
fn print_threads(out: &mut dyn Write, engines: &[EngineSummary<'_>], width: usize) -> io::Result<()> {
    const PARTS: [(&str, &str); 4] =
        [("executing", "work"), ("lock manager", "lock_manager"), ("aborted", "other"), ("waiting", "wait")];
    if engines.iter().all(|engine| engine.median.costs.execution_threads.is_empty()) {
        return Ok(());
    }
    writeln!(out, "\nwhere the time of the threads that execute went, in per cent:")?;
    print_side_by_side(out, engines, &PARTS, width, |engine, part| {
        let share = engine.median.costs.execution_threads.get(*part).and_then(|share| share.as_f64());
        share.map_or_else(|| "-".to_owned(), |share| format!("{:.0} %", share * 100.0))
    })?;
    for engine in engines {
        if let Some(busy) = engine.median.costs.service_threads_busy {
            writeln!(out, "{}: threads that only serve them were busy for {:.0} %", engine.engine, busy * 100.0)?;
        }
    }
    Ok(())
}

/// Returns the cell of a part, or a dash for an engine without a breakdown.
fn part_cell(engine: &EngineSummary<'_>, part: &str) -> String {
    let of = |parts: &serde_json::Map<String, serde_json::Value>| parts.get(part).and_then(|part| part.as_f64());
    let (breakdown, breakdown_us) = (&engine.median.costs.breakdown, &engine.median.costs.breakdown_us);
    match (of(breakdown), of(breakdown_us)) {
        (Some(share), Some(us)) if breakdown.values().any(|share| share.as_f64() != Some(0.0)) => {
            format!("{}{:>5.0} %", brief(us), share * 100.0)
        }
        _ => "-".to_owned(),
    }
}
