//! The report for people: a table of the engines, and below it what the table has no room for.
//!
//! | file | what it prints |
//! | --- | --- |
//! | `columns.rs` | the table: a line for each engine, with as many columns as there is room for |
//! | `notes.rs` | what applies to some runs only: ranges, servers, moved cores, levels, estimates, analyses, locks |
//! | `kinds.rs`, `breakdown.rs` | kinds of transactions, and where the time went, engines side by side |
//! | `footprint.rs` | the memory of the tables |
//! | `side_by_side.rs` | the layout that kinds and breakdown share |
//!
//! The output fits the terminal, or 80 columns if it goes elsewhere. A value that is unknown is printed as `?`, one
//! that does not exist as `-`; it never prevents the rest from being printed.

mod breakdown;
mod columns;
mod footprint;
mod kinds;
mod notes;
mod side_by_side;

use crate::options::RunOptions;
use crate::report::EngineSummary;
use breakdown::print_breakdown;
use columns::print_engines;
use footprint::print_footprints;
use kinds::print_kinds;
use notes::{
    print_analyses, print_core_distance, print_estimates, print_granted, print_hierarchy, print_logs, print_ranges,
    print_servers,
};
use std::io::{self, Write};

/// The width of a table that is not shown on a terminal.
const WIDTH_UNKNOWN: usize = 80;

/// Prints the table of the engines, and below it everything for which the table has no room.
pub(crate) fn print(out: &mut dyn Write, engines: &[EngineSummary<'_>], options: &RunOptions) -> io::Result<()> {
    let term = console::Term::stdout();
    let width = term.size_checked().map_or(WIDTH_UNKNOWN, |(_, columns)| usize::from(columns));
    print_engines(out, engines, width)?;
    if options.repetitions > 1 {
        print_ranges(out, engines)?;
    }
    print_servers(out, engines)?;
    print_core_distance(out, engines)?;
    print_granted(out, engines)?;
    print_kinds(out, engines, width)?;
    print_estimates(out, engines)?;
    print_analyses(out, engines)?;
    print_logs(out, engines)?;
    print_hierarchy(out, engines)?;
    print_footprints(out, engines)?;
    if options.report.breakdown {
        print_breakdown(out, engines, width)?;
    }
    for engine in engines.iter().filter(|engine| engine.consistency != "ok") {
        let star = if engine.consistency.starts_with("ok") { "* " } else { "" };
        writeln!(out, "{star}{}: {}", engine.engine, engine.consistency)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::report;
    use crate::report::{Analyses, EngineReport, Hierarchy, summarize};
    use hotrow_txn::Isolation;

    #[test]
    fn the_table_has_a_line_for_each_engine_and_says_what_failed() {
        let turns = [vec![report("2pl-deadlocks", 1_234_567.0, "ok"), report("b", 0.0, "failed: a sum")]];
        let mut text = Vec::new();
        print_engines(&mut text, &summarize(&turns), WIDTH_UNKNOWN).expect("a vector takes everything");
        let text = String::from_utf8(text).expect("text");
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH_UNKNOWN), "{text}");
        assert!(lines[1].contains("1,234,567") && lines[1].ends_with(" ok") && lines[2].ends_with(" FAILED"), "{text}");
    }

    /// Returns the lines that `print` prints of `turns`.
    fn lines(
        turns: &[Vec<EngineReport>],
        print: impl Fn(&mut Vec<u8>, &[EngineSummary<'_>]) -> io::Result<()>,
    ) -> Vec<String> {
        let mut text = Vec::new();
        print(&mut text, &summarize(turns)).expect("a vector takes everything");
        String::from_utf8(text).expect("text").lines().map(str::to_owned).collect()
    }

    #[test]
    fn kinds_have_a_line_each_and_wrap_within_the_width() {
        let mut turns = [["a", "b", "c", "d"].map(|engine| report(engine, 8.0, "ok")).to_vec()];
        turns[0][2].transactions.kinds[1].committed = 0;
        for (width, blocks) in [(200, 1), (WIDTH_UNKNOWN, 2), (50, 2), (10, 4)] {
            let lines = lines(&turns, |out, engines| print_kinds(out, engines, width));
            assert_eq!(lines.len(), blocks * 3 + 1, "{lines:#?}");
            assert!(lines.iter().filter(|line| line.starts_with("moves")).count() == blocks, "{lines:#?}");
            let cells: String = lines.iter().filter_map(|line| line.strip_prefix("moves")).collect();
            let words: Vec<_> = cells.split_whitespace().collect();
            assert_eq!(words, ["4/s", "75", "%", "4/s", "75", "%", "-", "4/s", "75", "%"], "{lines:#?}");
            let fits = |line: &String| line.chars().count() <= width.max(5 + 19) || line.starts_with("per cent");
            assert!(lines.iter().all(fits), "{lines:#?}");
        }
        turns[0].iter_mut().for_each(|report| report.transactions.kinds[1].success = 1.0);
        let found = lines(&turns, |out, engines| print_kinds(out, engines, 200)).pop().expect("a line of moves");
        assert_eq!(found.split_whitespace().collect::<Vec<_>>(), ["moves", "4/s", "4/s", "-", "4/s"]);
        turns[0].iter_mut().for_each(|report| report.transactions.kinds[1].committed = 0);
        assert!(lines(&turns, |out, engines| print_kinds(out, engines, WIDTH_UNKNOWN)).is_empty());
    }

    #[test]
    fn the_breakdown_has_times_and_shares_of_each_part() {
        let turns = [vec![report("2pl-dreadlocks", 8.0, "ok")]];
        let lines = lines(&turns, |out, engines| print_breakdown(out, engines, 40));
        assert_eq!(lines.len(), (1 + 2 + 5 + 1) + (1 + 2 + 4 + 1) + 1, "{lines:#?}");
        for (part, expected) in [("work", "1.50   75 %"), ("lock manager", "0.50   25 %"), ("wait", "0.00    0 %")] {
            let line = lines.iter().find(|line| line.starts_with(part)).expect("each part has a line");
            assert!(line.ends_with(expected), "{line}");
        }
        for (part, expected) in [("executing", "60 %"), ("aborted", "0 %"), ("waiting", "20 %")] {
            let line = lines.iter().find(|line| line.starts_with(part)).expect("each part has a line");
            assert!(line.ends_with(expected), "{line}");
        }
        assert_eq!(lines[17], "2pl-dreadlocks: threads that only serve them were busy for 10 %");
    }

    #[test]
    fn parts_of_hierarchies_have_lines_only_if_an_engine_has_them() {
        let mut turns = [vec![report("2pl-dreadlocks", 8.0, "ok"), report("hier", 8.0, "ok")]];
        for (part, expected) in [("contention", 6), ("inheritance", 7)] {
            let costs = &mut turns[0][1].costs;
            costs.breakdown.insert(part.to_owned(), serde_json::json!(0.25));
            costs.breakdown_us.insert(part.to_owned(), serde_json::json!(0.5));
            let lines = lines(&turns, |out, engines| print_breakdown(out, engines, 80));
            assert_eq!(lines.len(), (1 + 2 + expected + 1) + (1 + 2 + 4 + 1) + 2, "{lines:#?}");
            let line = lines.iter().find(|line| line.starts_with(part)).expect("the part has a line");
            assert!(line.contains("0.00    0 %") && line.ends_with("0.50   25 %"), "{line}");
        }
    }

    #[test]
    fn the_locks_of_hierarchies_are_noted() {
        let mut turns = [vec![report("2pl-dreadlocks", 8.0, "ok"), report("sli", 8.0, "ok")]];
        turns[0][1].costs.hierarchy = Hierarchy {
            locks: 68,
            databases: 8,
            tables: 16,
            pages: 16,
            hot: 32,
            heritable: 40,
            hot_heritable: 24,
            inherited: 24,
            used: 16,
            discarded: 4,
            invalidated: 2,
            ..Hierarchy::default()
        };
        let expected = [
            "sli: locks per transaction: 1.00 database, 2.00 table, 2.00 page, 3.50 row or gap; 4.00 hot, 5.00 \
             heritable, 3.00 both",
            "sli: of the locks that were passed on: 2.00 per transaction used, 0.50 discarded, 0.25 invalidated",
        ];
        assert_eq!(lines(&turns, |out, engines| print_hierarchy(out, engines)), expected);
        turns[0][1].costs.hierarchy.inherited = 0;
        assert_eq!(lines(&turns, |out, engines| print_hierarchy(out, engines)), expected[..1]);
    }

    #[test]
    fn access_sets_that_were_looked_for_are_noted() {
        let mut turns = [vec![report("a", 2_000.0, "ok"), report("b", 2_000.0, "ok")]];
        let second = &mut turns[0][1].transactions;
        (second.reconnaissances, second.wrong_estimates) = (500, 1);
        let mut text = Vec::new();
        print_estimates(&mut text, &summarize(&turns)).expect("a vector takes everything");
        let text = String::from_utf8(text).expect("text");
        assert_eq!(text, "b: 250 reconnaissances and 0.50 wrong estimates per 1,000 transactions\n");
    }

    #[test]
    fn analyses_and_messages_are_noted() {
        let mut turns = [vec![report("a", 2_000.0, "ok"), report("b", 2_000.0, "ok")]];
        (turns[0][0].costs.analyses, turns[0][0].costs.messages) = (Analyses::default(), 0);
        (turns[0][1].costs.analyses, turns[0][1].costs.messages) =
            (Analyses { runs: 1500, found: 20, bits: 75_000 }, 3_000);
        let expected = [
            "b: 1,500 contention analyses found 20 transactions and set 50 bits each",
            "b: 1.50 messages between threads per transaction",
        ];
        assert_eq!(lines(&turns, |out, engines| print_analyses(out, engines)), expected);
    }

    #[test]
    fn cores_that_move_are_noted() {
        let mut turns = [vec![report("a", 1.0, "ok"), report("b", 1.0, "ok")], vec![report("a", 1.0, "ok")]];
        for (distances, expected) in [
            ([None, None, None], None),
            ([Some(100.0), Some(190.0), None], None),
            ([Some(130.0), Some(104.4), Some(570.0)], Some("took 104 to 570 ns")),
        ] {
            let [first, second, third] = distances;
            (turns[0][0].core_distance_ns, turns[0][1].core_distance_ns) = (first, second);
            turns[1][0].core_distance_ns = third;
            let notes = lines(&turns, |out, engines| print_core_distance(out, engines)).pop();
            assert_eq!(notes.is_some(), expected.is_some(), "{notes:?}");
            assert!(notes.unwrap_or_default().contains(expected.unwrap_or_default()));
        }
    }

    #[test]
    fn levels_that_an_engine_lacks_are_noted() {
        let mut turns = [vec![report("a", 1.0, "ok"), report("b", 1.0, "ok")]];
        turns[0][0].grant(Isolation::Serializable, Isolation::Serializable);
        turns[0][1].grant(Isolation::Snapshot, Isolation::Serializable);
        let notes = lines(&turns, |out, engines| print_granted(out, engines));
        assert_eq!(notes, ["b has no snapshot: it ran at serializable"]);
    }

    #[test]
    fn the_table_fits_where_it_is_shown() {
        let turns = [vec![report("2pl-ordered-split", 1_234_567.0, "ok"), report("b", 0.0, "failed: a sum")]];
        for (width, columns) in [(0, 1), (34, 1), (40, 2), (60, 5), (WIDTH_UNKNOWN, 7), (200, 10)] {
            let lines = lines(&turns, |out, engines| print_engines(out, engines, width));
            let heads = lines[0].replace(" µs", "").split_whitespace().count() - 1;
            assert_eq!(heads, columns, "at {width}: {lines:#?}");
            assert!(lines.iter().all(|line| line.chars().count() <= width.max(28)), "{lines:#?}");
            assert!(width < 40 || lines[2].ends_with(" FAILED"), "{lines:#?}");
        }
    }
}
