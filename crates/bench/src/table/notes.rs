//! Notes below the table, each of them printed only if it applies.

use super::columns::name_width;
use crate::numbers::{brief, grouped};
use crate::report::{Analyses, EngineSummary, WireReport, span};
use std::io::{self, Write};

/// Prints the throughputs of the slowest and the fastest run of each engine.
pub(super) fn print_ranges(out: &mut dyn Write, engines: &[EngineSummary<'_>]) -> io::Result<()> {
    writeln!(out, "\nmedians; txn/s of the slowest and the fastest run:")?;
    let names = name_width(engines);
    for engine in engines {
        let (slowest, fastest) = engine.range;
        writeln!(out, "{:names$}{:>11} to {}", engine.engine, grouped(slowest), grouped(fastest))?;
    }
    Ok(())
}

/// Prints the version of each server, the CPU time of its clients, and the retried attempts by SQLSTATE.
pub(super) fn print_servers(out: &mut dyn Write, engines: &[EngineSummary<'_>]) -> io::Result<()> {
    let names = name_width(engines);
    let servers = engines.iter().filter_map(|engine| Some((engine.engine, engine.median.wire.as_ref()?)));
    let mut is_first = true;
    for (name, WireReport { server, client_cpu_us_per_txn, sqlstates, .. }) in servers {
        if std::mem::take(&mut is_first) {
            writeln!(out, "\ncpu/txn and /stmt: the server's CPU time, in µs")?;
        }
        let client = client_cpu_us_per_txn.map_or("?".to_owned(), brief);
        let again: Vec<_> = sqlstates.iter().map(|(state, count)| format!("; {state} {count} times")).collect();
        writeln!(out, "{name:names$}  {server}; the clients' cpu/txn: {client}{}", again.concat())?;
    }
    Ok(())
}

/// Prints the least and the greatest distance between cores if they differ much: the machine has moved its cores
/// between the runs, whose figures then do not compare.
pub(super) fn print_core_distance(out: &mut dyn Write, engines: &[EngineSummary<'_>]) -> io::Result<()> {
    let ends = engines.iter().filter_map(|engine| engine.core_distance).flat_map(|(least, greatest)| [least, greatest]);
    match span(ends) {
        Some((least, greatest)) if greatest > 2.0 * least => writeln!(
            out,
            "\nthe machine moved its cores: a cache line took {least:.0} to {greatest:.0} ns from one to another and \
             back"
        ),
        _ => Ok(()),
    }
}

/// Prints the isolation levels that engines lack, and the levels at which they ran instead.
pub(super) fn print_granted(out: &mut dyn Write, engines: &[EngineSummary<'_>]) -> io::Result<()> {
    for EngineSummary { engine, median, .. } in engines {
        let raised = median.setup.granted.iter().filter(|(asked, granted)| granted.as_str() != Some(asked));
        for (asked, granted) in raised {
            writeln!(out, "{engine} has no {asked}: it ran at {}", granted.as_str().unwrap_or_default())?;
        }
    }
    Ok(())
}

/// Prints how often engines that need access sets had to find them by a read-only run, and how often an access set
/// turned out to be wrong.
pub(super) fn print_estimates(out: &mut dyn Write, engines: &[EngineSummary<'_>]) -> io::Result<()> {
    for EngineSummary { engine, median, .. } in engines {
        let (looked, wrong) = (median.transactions.reconnaissances, median.transactions.wrong_estimates);
        if looked + wrong > 0 {
            let per_thousand = |count: u64| brief(count as f64 * 1e3 / median.transactions.committed.max(1) as f64);
            let (looked, wrong) = (per_thousand(looked), per_thousand(wrong));
            writeln!(out, "{engine}: {looked} reconnaissances and {wrong} wrong estimates per 1,000 transactions")?;
        }
    }
    Ok(())
}

/// Prints how often engines searched for transactions that were blocked and could run, and how many messages they sent.
pub(super) fn print_analyses(out: &mut dyn Write, engines: &[EngineSummary<'_>]) -> io::Result<()> {
    for EngineSummary { engine, median, .. } in engines {
        let Analyses { runs, found, bits } = median.costs.analyses;
        if runs > 0 {
            let (bits, runs, found) = (bits as f64 / runs as f64, grouped(runs as f64), grouped(found as f64));
            writeln!(
                out,
                "{engine}: {runs} contention analyses found {found} transactions and set {bits:.0} bits each"
            )?;
        }
        if median.costs.messages > 0 {
            let messages = brief(median.costs.messages as f64 / median.transactions.committed.max(1) as f64);
            writeln!(out, "{engine}: {messages} messages between threads per transaction")?;
        }
    }
    Ok(())
}

/// Prints a line about the writes of the log for each engine that has one.
pub(super) fn print_logs(out: &mut dyn Write, engines: &[EngineSummary<'_>]) -> io::Result<()> {
    for EngineSummary { engine, median, .. } in engines {
        let Some(log) = &median.log else { continue };
        let bytes = log.bytes as f64 / log.records.max(1) as f64;
        let each = log.records as f64 / log.flushes.max(1) as f64;
        writeln!(
            out,
            "{engine}: {} records of {bytes:.0} bytes in {} writes, {} in each; a write took {:.0} µs, 99 of 100 up to {} µs",
            grouped(log.records as f64),
            grouped(log.flushes as f64),
            brief(each),
            log.mean_flush_us,
            log.p99_flush_us,
        )?;
    }
    Ok(())
}

/// Prints how many locks of each level transactions took in a hierarchy, and what became of inherited ones.
pub(super) fn print_hierarchy(out: &mut dyn Write, engines: &[EngineSummary<'_>]) -> io::Result<()> {
    for EngineSummary { engine, median, .. } in engines {
        let locks = &median.costs.hierarchy;
        if locks.locks == 0 {
            continue;
        }
        let per_txn = |count: u64| brief(count as f64 / median.transactions.committed.max(1) as f64);
        let lower = locks.locks.saturating_sub(locks.databases + locks.tables + locks.pages);
        writeln!(
            out,
            "{engine}: locks per transaction: {} database, {} table, {} page, {} row or gap; {} hot, {} heritable, {} both",
            per_txn(locks.databases),
            per_txn(locks.tables),
            per_txn(locks.pages),
            per_txn(lower),
            per_txn(locks.hot),
            per_txn(locks.heritable),
            per_txn(locks.hot_heritable),
        )?;
        if locks.inherited > 0 {
            writeln!(
                out,
                "{engine}: of the locks that were passed on: {} per transaction used, {} discarded, {} invalidated",
                per_txn(locks.used),
                per_txn(locks.discarded),
                per_txn(locks.invalidated),
            )?;
        }
    }
    Ok(())
}
