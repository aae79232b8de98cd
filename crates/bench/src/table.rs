//! The report for people: a line for each engine, within 80 columns, more columns where there is room.

use crate::RunOptions;
use crate::report::{EngineReport, KindReport};
use std::io::{self, Write};

/// The width of a table that nobody shows on a terminal.
const WIDTH_MIN: usize = 80;
/// From this width on all columns are shown.
const WIDTH_FULL: usize = 108;

/// One engine over all repetitions.
#[derive(Clone, Debug)]
pub(crate) struct Summary<'a> {
    pub engine: &'a str,
    /// The run whose throughput is the median; its latencies are the ones shown.
    pub median: &'a EngineReport,
    /// Throughputs of the slowest and the fastest run.
    pub range: (f64, f64),
    /// The median of throughput over the first engine's throughput in the same turn.
    pub ratio: f64,
    /// What the check found, of a run that failed if one did.
    pub consistency: &'a str,
}

/// Summarises `turns`, each with a report for every engine, in the same order.
pub(crate) fn summarize(turns: &[Vec<EngineReport>]) -> Vec<Summary<'_>> {
    let engines = turns.first().map_or(0, Vec::len);
    (0..engines).map(|engine| summarize_engine(turns, engine)).collect()
}

fn summarize_engine(turns: &[Vec<EngineReport>], engine: usize) -> Summary<'_> {
    let mut runs: Vec<_> = turns.iter().filter_map(|turn| turn.get(engine)).collect();
    let ratio = |turn: &Vec<EngineReport>| Some(turn.get(engine)?.throughput / turn.first()?.throughput);
    let mut ratios: Vec<_> = turns.iter().filter_map(ratio).collect();
    ratios.sort_by(f64::total_cmp);
    runs.sort_by(|a, b| a.throughput.total_cmp(&b.throughput));
    let median = runs[(runs.len() - 1) / 2];
    let failed = runs.iter().find(|run| run.has_failed());
    Summary {
        engine: &median.engine,
        median,
        range: (runs[0].throughput, runs[runs.len() - 1].throughput),
        ratio: ratios[(ratios.len() - 1) / 2],
        consistency: &failed.unwrap_or(&median).consistency,
    }
}

/// A column: its head, its width, whether it is shown on 80 columns, and its cell.
struct Column {
    head: &'static str,
    width: usize,
    always: bool,
    cell: fn(&Summary<'_>) -> String,
}

const COLUMNS: [Column; 10] = [
    Column { head: "txn/s", width: 11, always: true, cell: |engine| grouped(engine.median.throughput) },
    Column { head: "ratio", width: 7, always: true, cell: |engine| ratio(engine.ratio) },
    Column { head: "mean µs", width: 9, always: false, cell: |engine| brief(engine.median.latency_us.mean) },
    Column { head: "p50 µs", width: 8, always: true, cell: |engine| brief(engine.median.latency_us.p50) },
    Column { head: "p95 µs", width: 8, always: false, cell: |engine| brief(engine.median.latency_us.p95) },
    Column { head: "p99 µs", width: 8, always: true, cell: |engine| brief(engine.median.latency_us.p99) },
    Column { head: "max µs", width: 9, always: true, cell: |engine| brief(engine.median.latency_us.max) },
    Column { head: "aborts", width: 8, always: true, cell: |engine| percent(engine.median.abort_percent()) },
    Column { head: "cpu µs", width: 8, always: true, cell: |engine| brief(engine.median.cpu_us_per_txn) },
    Column { head: "check", width: 8, always: true, cell: |engine| word(engine.consistency).to_owned() },
];

/// The longest name of most catalogues; a longer one moves its own columns only.
const NAME_WIDTH: usize = 13;

/// Prints the table, and below it what a table has no room for.
pub(crate) fn print(out: &mut dyn Write, engines: &[Summary<'_>], options: &RunOptions) -> io::Result<()> {
    let term = console::Term::stdout();
    let width = term.size_checked().map_or(WIDTH_MIN, |(_, columns)| usize::from(columns));
    print_at(out, engines, width)?;
    if options.repetitions > 1 {
        print_ranges(out, engines)?;
    }
    print_kinds(out, engines)?;
    print_estimates(out, engines)?;
    if options.breakdown {
        print_breakdown(out, engines)?;
    }
    for engine in engines.iter().filter(|engine| engine.consistency != "ok") {
        let star = if engine.consistency.starts_with("ok") { "* " } else { "" };
        writeln!(out, "{star}{}: {}", engine.engine, engine.consistency)?;
    }
    Ok(())
}

fn print_at(out: &mut dyn Write, engines: &[Summary<'_>], width: usize) -> io::Result<()> {
    let shown: Vec<_> = COLUMNS.iter().filter(|column| column.always || width >= WIDTH_FULL).collect();
    let mut line = format!("{:NAME_WIDTH$}", "engine");
    for column in &shown {
        line += &format!("{:>width$}", column.head, width = column.width);
    }
    writeln!(out, "{line}")?;
    for engine in engines {
        let mut line = format!("{:NAME_WIDTH$}", engine.engine);
        for column in &shown {
            line += &format!("{:>width$}", (column.cell)(engine), width = column.width);
        }
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn print_ranges(out: &mut dyn Write, engines: &[Summary<'_>]) -> io::Result<()> {
    writeln!(out, "\nmedians; txn/s of the slowest and the fastest run:")?;
    for engine in engines {
        let (slowest, fastest) = engine.range;
        writeln!(out, "{:NAME_WIDTH$}{:>11} to {}", engine.engine, grouped(slowest), grouped(fastest))?;
    }
    Ok(())
}

/// Transactions of each kind per second, and how many of them found what they were looking for.
fn print_kinds(out: &mut dyn Write, engines: &[Summary<'_>]) -> io::Result<()> {
    const CELL_WIDTH: usize = 19;
    let kinds = engines.first().map_or(&[][..], |engine| &engine.median.kinds);
    let Some(kind_width) = kinds.iter().map(|kind| kind.kind.len()).max() else { return Ok(()) };
    for engines in engines.chunks((WIDTH_MIN - kind_width) / CELL_WIDTH) {
        let heads = engines.iter().map(|engine| format!("{:>CELL_WIDTH$}", engine.engine));
        writeln!(out, "\n{:kind_width$}{}", "", heads.collect::<String>())?;
        for (number, kind) in kinds.iter().enumerate() {
            let cell = |engine: &Summary<'_>| {
                let KindReport { throughput, success, .. } = engine.median.kinds[number];
                format!("{:>10}/s{:>5.0} %", grouped(throughput), success * 100.0)
            };
            writeln!(out, "{:kind_width$}{}", kind.kind, engines.iter().map(cell).collect::<String>())?;
        }
    }
    writeln!(out, "per cent: that found what they were looking for")
}

/// How often engines that need access sets had to look for them, and how often they were wrong.
fn print_estimates(out: &mut dyn Write, engines: &[Summary<'_>]) -> io::Result<()> {
    for Summary { engine, median, .. } in engines {
        let (looked, wrong) = (median.reconnaissances, median.wrong_estimates);
        if looked + wrong > 0 {
            let per_thousand = |count: u64| brief(count as f64 * 1e3 / median.committed.max(1) as f64);
            let (looked, wrong) = (per_thousand(looked), per_thousand(wrong));
            writeln!(out, "{engine}: {looked} reconnaissances and {wrong} wrong estimates per 1,000 transactions")?;
        }
    }
    Ok(())
}

fn print_breakdown(out: &mut dyn Write, engines: &[Summary<'_>]) -> io::Result<()> {
    const PARTS: [(&str, &str); 5] =
        [("work", "work"), ("lock_manager", "lock manager"), ("wait", "wait"), ("log", "log"), ("other", "other")];
    writeln!(out, "\nwhere the time of the sampled transactions went, in µs of each and per cent:")?;
    let heads: String = PARTS.map(|(_, head)| format!("{head:>PART_WIDTH$}")).concat();
    writeln!(out, "{:NAME_WIDTH$}{heads}", "")?;
    for engine in engines {
        let cells: String = PARTS.map(|(part, _)| part_cell(engine, part)).concat();
        writeln!(out, "{:NAME_WIDTH$}{cells}", engine.engine)?;
    }
    Ok(())
}

/// The width of a part of the breakdown.
const PART_WIDTH: usize = 13;

/// A part of the breakdown, if the engine has a breakdown.
fn part_cell(engine: &Summary<'_>, part: &str) -> String {
    let of = |parts: &serde_json::Map<String, serde_json::Value>| parts.get(part).and_then(|part| part.as_f64());
    let EngineReport { breakdown, breakdown_us, .. } = engine.median;
    match (of(breakdown), of(breakdown_us)) {
        (Some(share), Some(us)) if breakdown.values().any(|share| share.as_f64() != Some(0.0)) => {
            format!("{:>7}{:>4.0} %", brief(us), share * 100.0)
        }
        _ => format!("{:>PART_WIDTH$}", "-"),
    }
}

/// A consistency in a word; what it says in full stands below the table.
fn word(consistency: &str) -> &str {
    match consistency {
        "ok" => "ok",
        text if text.starts_with("failed") => "FAILED",
        _ => "ok*",
    }
}

/// A whole number with its thousands apart.
pub(crate) fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Three digits or a few more.
fn brief(number: f64) -> String {
    match number {
        ..10.0 => format!("{number:.2}"),
        ..100.0 => format!("{number:.1}"),
        _ => grouped(number),
    }
}

fn ratio(ratio: f64) -> String {
    if ratio.is_finite() { format!("{ratio:.2}") } else { "-".to_owned() }
}

fn percent(share: f64) -> String {
    format!("{share:.1} %")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::report;

    #[test]
    fn medians_are_taken_over_the_turns_and_ratios_within_them() {
        let turn = |slow, fast| vec![report("a", slow, "ok"), report("b", fast, "ok")];
        let mut turns = vec![turn(100.0, 150.0), turn(200.0, 500.0), turn(50.0, 100.0)];
        turns[1][1].consistency = "failed: a sum".to_owned();
        let engines = summarize(&turns);
        let figures: Vec<_> = engines.iter().map(|e| (e.engine, e.median.throughput, e.range, e.ratio)).collect();
        assert_eq!(figures, [("a", 100.0, (50.0, 200.0), 1.0), ("b", 150.0, (100.0, 500.0), 2.0)]);
        assert_eq!((engines[0].consistency, engines[1].consistency), ("ok", "failed: a sum"));
    }

    #[test]
    fn a_turn_that_was_interrupted_counts_as_far_as_it_went() {
        let turns = [vec![report("a", 100.0, "ok"), report("b", 50.0, "ok")], vec![report("a", 300.0, "ok")]];
        let engines = summarize(&turns);
        assert_eq!((engines[0].range, engines[1].ratio), ((100.0, 300.0), 0.5));
    }

    #[test]
    fn the_table_has_a_line_for_each_engine_and_says_what_failed() {
        let turns = [vec![report("2pl-deadlocks", 1_234_567.0, "ok"), report("b", 0.0, "failed: a sum")]];
        let mut text = Vec::new();
        print_at(&mut text, &summarize(&turns), WIDTH_MIN).expect("a vector takes everything");
        let text = String::from_utf8(text).expect("text");
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH_MIN), "{text}");
        assert!(lines[1].contains("1,234,567") && lines[1].ends_with(" ok") && lines[2].ends_with(" FAILED"), "{text}");
    }

    #[test]
    fn kinds_have_a_line_each_and_wrap_within_the_width() {
        let names = ["a", "b", "c", "d"];
        let turns = [names.map(|engine| report(engine, 8.0, "ok")).to_vec()];
        let mut text = Vec::new();
        print_kinds(&mut text, &summarize(&turns)).expect("a vector takes everything");
        let text = String::from_utf8(text).expect("text");
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 2 * 4 + 1, "{text}");
        assert!(lines[3].starts_with("moves") && lines[3].ends_with(" 4/s   75 %"), "{text}");
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH_MIN), "{text}");
    }

    #[test]
    fn the_breakdown_has_times_and_shares_within_the_width() {
        let turns = [vec![report("2pl-dreadlocks", 8.0, "ok")]];
        let mut text = Vec::new();
        print_breakdown(&mut text, &summarize(&turns)).expect("a vector takes everything");
        let text = String::from_utf8(text).expect("text");
        let lines: Vec<_> = text.lines().skip(1).collect();
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH_MIN), "{text}");
        let words: Vec<_> = lines[2].split_whitespace().collect();
        assert_eq!(words[1..7], ["1.50", "75", "%", "0.50", "25", "%"], "{text}");
    }

    #[test]
    fn access_sets_that_were_looked_for_are_told_of() {
        let mut turns = [vec![report("a", 2_000.0, "ok"), report("b", 2_000.0, "ok")]];
        (turns[0][1].reconnaissances, turns[0][1].wrong_estimates) = (500, 1);
        let mut text = Vec::new();
        print_estimates(&mut text, &summarize(&turns)).expect("a vector takes everything");
        let text = String::from_utf8(text).expect("text");
        assert_eq!(text, "b: 250 reconnaissances and 0.50 wrong estimates per 1,000 transactions\n");
    }

    #[test]
    fn numbers_are_short() {
        for (number, expected) in [(0.0, "0"), (999.4, "999"), (1000.0, "1,000"), (1_234_567.0, "1,234,567")] {
            assert_eq!(grouped(number), expected);
        }
        for (number, expected) in [(0.123, "0.12"), (12.34, "12.3"), (99.0, "99.0"), (12_345.6, "12,346")] {
            assert_eq!(brief(number), expected);
        }
        assert_eq!(ratio(f64::NAN), "-");
    }

    #[test]
    fn the_table_fits_where_it_is_shown() {
        let width = |full: bool| {
            let columns = COLUMNS.iter().filter(|column| column.always || full);
            NAME_WIDTH + columns.map(|column| column.width).sum::<usize>()
        };
        assert!(width(false) <= WIDTH_MIN, "{}", width(false));
        assert!(width(true) <= WIDTH_FULL, "{}", width(true));
    }
}
