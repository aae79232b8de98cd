//! The report for people: a line for each engine, with as many columns as there is room for.

use crate::RunOptions;
use crate::footprint;
use crate::report::{Analyses, EngineReport, KindReport, SwitchReport, WireReport};
use crate::wire;
use std::io::{self, Write};

/// The width of a table that nobody shows on a terminal.
const WIDTH_UNKNOWN: usize = 80;

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
    /// The shortest and the longest way of a cache line between two cores, in nanoseconds, before these runs.
    pub core_distance: Option<(f64, f64)>,
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
        core_distance: span(runs.iter().filter_map(|run| run.core_distance_ns)),
    }
}

fn span(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.map(|value| (value, value)).reduce(|span, value| (span.0.min(value.0), span.1.max(value.1)))
}

/// A column: its head, and its cell.
struct Column {
    head: &'static str,
    /// Where the terminal is narrow, the columns that count for more are kept: the least number counts most.
    rank: usize,
    cell: fn(&Summary<'_>) -> String,
}

const COLUMNS: [Column; 10] = [
    Column { head: "txn/s", rank: 0, cell: |engine| grouped(engine.median.throughput) },
    Column { head: "ratio", rank: 4, cell: |engine| ratio(engine.ratio) },
    Column { head: "mean µs", rank: 8, cell: |engine| brief(engine.median.latency_us.mean) },
    Column { head: "p50 µs", rank: 3, cell: |engine| brief(engine.median.latency_us.p50) },
    Column { head: "p95 µs", rank: 9, cell: |engine| brief(engine.median.latency_us.p95) },
    Column { head: "p99 µs", rank: 5, cell: |engine| brief(engine.median.latency_us.p99) },
    Column { head: "max µs", rank: 7, cell: |engine| brief(engine.median.latency_us.max) },
    Column { head: "aborts", rank: 2, cell: |engine| percent(engine.median.abort_percent()) },
    Column { head: "cpu µs", rank: 6, cell: |engine| brief(engine.median.cpu_us_per_txn) },
    Column { head: "check", rank: 1, cell: |engine| word(engine.consistency).to_owned() },
];

/// Those of runs over the network.
const WIRE_COLUMNS: [Column; 12] = [
    Column { head: "txn/s", rank: 0, cell: |engine| grouped(engine.median.throughput) },
    Column { head: "ratio", rank: 3, cell: |engine| ratio(engine.ratio) },
    Column {
        head: "stmt/s",
        rank: 6,
        cell: |engine| of_wire(engine, |wire| Some(grouped(wire.statements_per_second))),
    },
    Column { head: "mean µs", rank: 11, cell: |engine| brief(engine.median.latency_us.mean) },
    Column { head: "p50 µs", rank: 7, cell: |engine| brief(engine.median.latency_us.p50) },
    Column { head: "p95 µs", rank: 10, cell: |engine| brief(engine.median.latency_us.p95) },
    Column { head: "p99 µs", rank: 8, cell: |engine| brief(engine.median.latency_us.p99) },
    Column { head: "max µs", rank: 9, cell: |engine| brief(engine.median.latency_us.max) },
    Column { head: "retried", rank: 2, cell: |engine| percent(engine.median.retried_percent()) },
    Column { head: "cpu/txn", rank: 4, cell: |engine| of_wire(engine, |wire| wire.server_cpu_us_per_txn.map(brief)) },
    Column {
        head: "/stmt",
        rank: 5,
        cell: |engine| of_wire(engine, |wire| wire.server_cpu_us_per_statement.map(brief)),
    },
    Column { head: "check", rank: 1, cell: |engine| word(engine.consistency).to_owned() },
];

/// Something of a run over the network, if it is known.
fn of_wire(engine: &Summary<'_>, cell: impl Fn(&WireReport) -> Option<String>) -> String {
    engine.median.wire.as_ref().and_then(cell).unwrap_or_else(|| "?".to_owned())
}

/// The columns that say most of these runs, and what the first one names.
fn columns(engines: &[Summary<'_>]) -> (&'static [Column], &'static str) {
    match engines.iter().any(|engine| engine.median.wire.is_some()) {
        true => (&WIRE_COLUMNS, "server"),
        false => (&COLUMNS, "engine"),
    }
}

/// Prints the table, and below it what a table has no room for.
pub(crate) fn print(out: &mut dyn Write, engines: &[Summary<'_>], options: &RunOptions) -> io::Result<()> {
    let term = console::Term::stdout();
    let width = term.size_checked().map_or(WIDTH_UNKNOWN, |(_, columns)| usize::from(columns));
    print_at(out, engines, width)?;
    if options.repetitions > 1 {
        print_ranges(out, engines)?;
    }
    print_servers(out, engines)?;
    print_core_distance(out, engines)?;
    print_granted(out, engines)?;
    print_kinds(out, engines, width)?;
    print_estimates(out, engines)?;
    print_analyses(out, engines)?;
    footprint::print(out, engines)?;
    if options.breakdown {
        print_breakdown(out, engines, width)?;
    }
    for engine in engines.iter().filter(|engine| engine.consistency != "ok") {
        let star = if engine.consistency.starts_with("ok") { "* " } else { "" };
        writeln!(out, "{star}{}: {}", engine.engine, engine.consistency)?;
    }
    Ok(())
}

fn print_at(out: &mut dyn Write, engines: &[Summary<'_>], width: usize) -> io::Result<()> {
    let names = name_width(engines);
    let (columns, head) = columns(engines);
    let cells: Vec<Vec<String>> = columns.iter().map(|column| engines.iter().map(column.cell).collect()).collect();
    let widths: Vec<usize> =
        columns.iter().zip(&cells).map(|(column, cells)| column_width(column.head, cells)).collect();
    let shown = columns_within(columns, width.saturating_sub(names), &widths);
    let mut line = format!("{head:names$}");
    for &column in &shown {
        line += &format!("{:>width$}", columns[column].head, width = widths[column]);
    }
    writeln!(out, "{line}")?;
    for (row, engine) in engines.iter().enumerate() {
        let mut line = format!("{:names$}", engine.engine);
        for &column in &shown {
            line += &format!("{:>width$}", cells[column][row], width = widths[column]);
        }
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// The width of the longest name.
fn name_width(engines: &[Summary<'_>]) -> usize {
    engines.iter().map(|engine| engine.engine.len()).fold("engine".len(), usize::max)
}

/// The width of the widest cell or of the head, and of the gap before it.
fn column_width(head: &str, cells: &[String]) -> usize {
    let widest = cells.iter().map(|cell| cell.chars().count()).fold(head.chars().count(), usize::max);
    widest + 2
}

/// Which columns there is room for, those that count for most first taken; the first is there in any case.
fn columns_within(columns: &[Column], room: usize, widths: &[usize]) -> Vec<usize> {
    let mut ranked: Vec<usize> = (0..columns.len()).collect();
    ranked.sort_by_key(|&column| columns[column].rank);
    let mut taken = 0;
    let fits = |&column: &usize| {
        taken += widths[column];
        taken <= room || columns[column].rank == 0
    };
    let mut shown: Vec<usize> = ranked.into_iter().take_while(fits).collect();
    shown.sort_unstable();
    shown
}

fn print_ranges(out: &mut dyn Write, engines: &[Summary<'_>]) -> io::Result<()> {
    writeln!(out, "\nmedians; txn/s of the slowest and the fastest run:")?;
    let names = name_width(engines);
    for engine in engines {
        let (slowest, fastest) = engine.range;
        writeln!(out, "{:names$}{:>11} to {}", engine.engine, grouped(slowest), grouped(fastest))?;
    }
    Ok(())
}

/// What servers call themselves, what was tried again, and what the clients took.
fn print_servers(out: &mut dyn Write, engines: &[Summary<'_>]) -> io::Result<()> {
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

/// How far the cores were from each other, if they moved: figures of runs with far and with near cores do not compare.
fn print_core_distance(out: &mut dyn Write, engines: &[Summary<'_>]) -> io::Result<()> {
    let ends = engines.iter().filter_map(|engine| engine.core_distance).flat_map(|(least, greatest)| [least, greatest]);
    match span(ends) {
        Some((least, greatest)) if greatest > 2.0 * least => writeln!(
            out,
            "\nthe machine moved its cores: a cache line took {least:.0} to {greatest:.0} ns from one to another and back"
        ),
        _ => Ok(()),
    }
}

/// Which isolation levels engines lack, and what they have in place of them.
fn print_granted(out: &mut dyn Write, engines: &[Summary<'_>]) -> io::Result<()> {
    for Summary { engine, median, .. } in engines {
        let raised = median.granted.iter().filter(|(asked, granted)| granted.as_str() != Some(asked));
        for (asked, granted) in raised {
            writeln!(out, "{engine} has no {asked}: it ran at {}", granted.as_str().unwrap_or_default())?;
        }
    }
    Ok(())
}

/// Transactions of each kind per second, and how many of them found what they were looking for, if not all did. Kinds that
/// nobody committed, such as those that are not in the mix, are left out.
fn print_kinds(out: &mut dyn Write, engines: &[Summary<'_>], width: usize) -> io::Result<()> {
    let names = engines.first().map_or(&[][..], |engine| &engine.median.kinds);
    let committed = |kind: &usize| engines.iter().any(|engine| engine.median.kinds[*kind].committed > 0);
    let kinds: Vec<_> = (0..names.len()).filter(committed).map(|kind| (names[kind].kind, kind)).collect();
    if kinds.is_empty() {
        return Ok(());
    }
    let in_vain = |kind: &KindReport| kind.committed > 0 && kind.success < 1.0;
    let some_in_vain = engines.iter().flat_map(|engine| &engine.median.kinds).any(in_vain);
    print_side_by_side(out, engines, &kinds, width, |engine, &kind| {
        let KindReport { committed, throughput, success, .. } = engine.median.kinds[kind];
        match committed {
            0 => "-".to_owned(),
            _ if some_in_vain => format!("{}/s{:>5.0} %", grouped(throughput), success * 100.0),
            _ => format!("{}/s", grouped(throughput)),
        }
    })?;
    if some_in_vain {
        writeln!(out, "per cent: that found what they were looking for")?;
    }
    Ok(())
}

/// A column for each engine and a row for each of `rows`; as many engines in one block as there is room for.
fn print_side_by_side<R>(
    out: &mut dyn Write,
    engines: &[Summary<'_>],
    rows: &[(&str, R)],
    width: usize,
    cell: impl Fn(&Summary<'_>, &R) -> String,
) -> io::Result<()> {
    const CELL_WIDTH: usize = 19;
    let heads = rows.iter().map(|(head, _)| head.len()).fold(0, usize::max);
    let in_a_block = (width.saturating_sub(heads) / CELL_WIDTH).max(1);
    for engines in engines.chunks(in_a_block) {
        let names: String = engines.iter().map(|engine| format!("{:>CELL_WIDTH$}", engine.engine)).collect();
        writeln!(out, "\n{:heads$}{names}", "")?;
        for (head, row) in rows {
            let cells: String = engines.iter().map(|engine| format!("{:>CELL_WIDTH$}", cell(engine, row))).collect();
            writeln!(out, "{head:heads$}{cells}")?;
        }
    }
    Ok(())
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

/// How often engines looked for blocked transactions that could run, and sent messages.
fn print_analyses(out: &mut dyn Write, engines: &[Summary<'_>]) -> io::Result<()> {
    for Summary { engine, median, .. } in engines {
        let Analyses { runs, found, bits } = median.analyses;
        if runs > 0 {
            let (bits, runs, found) = (bits as f64 / runs as f64, grouped(runs as f64), grouped(found as f64));
            writeln!(
                out,
                "{engine}: {runs} contention analyses found {found} transactions and set {bits:.0} bits each"
            )?;
        }
        if median.messages > 0 {
            let messages = brief(median.messages as f64 / median.committed.max(1) as f64);
            writeln!(out, "{engine}: {messages} messages between partitions per transaction")?;
        }
    }
    Ok(())
}

fn print_breakdown(out: &mut dyn Write, engines: &[Summary<'_>], width: usize) -> io::Result<()> {
    const PARTS: [(&str, &str); 5] =
        [("work", "work"), ("lock manager", "lock_manager"), ("wait", "wait"), ("log", "log"), ("other", "other")];
    let switches = engines.iter().find_map(|engine| engine.median.wire.as_ref()?.switches);
    let Some(SwitchReport { context_switch_ns, coroutine_switch_ns, coroutine_run_ns }) = switches else {
        writeln!(out, "\nwhere the time of the sampled transactions went, in µs of each and per cent:")?;
        return print_side_by_side(out, engines, &PARTS, width, |engine, part| part_cell(engine, part));
    };
    writeln!(out, "\nwhere the server's CPU time went, in µs of each transaction and per cent:")?;
    let parts = wire::PARTS.map(|part| (part.replace('_', " "), part));
    let rows: Vec<_> = parts.iter().map(|(name, part)| (name.as_str(), *part)).collect();
    print_side_by_side(out, engines, &rows, width, |engine, part| part_cell(engine, part))?;
    writeln!(
        out,
        "switches: counted, times {:.1} µs for one of threads, {coroutine_run_ns:.0} ns for a coroutine, {coroutine_switch_ns:.0} ns \
         for one of coroutines; network: other system time; work: other user time",
        context_switch_ns / 1e3
    )
}

/// A part of the breakdown, if the engine has a breakdown.
fn part_cell(engine: &Summary<'_>, part: &str) -> String {
    let of = |parts: &serde_json::Map<String, serde_json::Value>| parts.get(part).and_then(|part| part.as_f64());
    let EngineReport { breakdown, breakdown_us, .. } = engine.median;
    match (of(breakdown), of(breakdown_us)) {
        (Some(share), Some(us)) if breakdown.values().any(|share| share.as_f64() != Some(0.0)) => {
            format!("{}{:>5.0} %", brief(us), share * 100.0)
        }
        _ => "-".to_owned(),
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
    use hotrow_txn::Isolation;

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
        print_at(&mut text, &summarize(&turns), WIDTH_UNKNOWN).expect("a vector takes everything");
        let text = String::from_utf8(text).expect("text");
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH_UNKNOWN), "{text}");
        assert!(lines[1].contains("1,234,567") && lines[1].ends_with(" ok") && lines[2].ends_with(" FAILED"), "{text}");
    }

    /// What `print` prints of `turns`, as lines.
    fn lines(
        turns: &[Vec<EngineReport>],
        print: impl Fn(&mut Vec<u8>, &[Summary<'_>]) -> io::Result<()>,
    ) -> Vec<String> {
        let mut text = Vec::new();
        print(&mut text, &summarize(turns)).expect("a vector takes everything");
        String::from_utf8(text).expect("text").lines().map(str::to_owned).collect()
    }

    #[test]
    fn kinds_have_a_line_each_and_wrap_within_the_width() {
        let mut turns = [["a", "b", "c", "d"].map(|engine| report(engine, 8.0, "ok")).to_vec()];
        turns[0][2].kinds[1].committed = 0;
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
        turns[0].iter_mut().for_each(|report| report.kinds[1].success = 1.0);
        let found = lines(&turns, |out, engines| print_kinds(out, engines, 200)).pop().expect("a line of moves");
        assert_eq!(found.split_whitespace().collect::<Vec<_>>(), ["moves", "4/s", "4/s", "-", "4/s"]);
        turns[0].iter_mut().for_each(|report| report.kinds[1].committed = 0);
        assert!(lines(&turns, |out, engines| print_kinds(out, engines, WIDTH_UNKNOWN)).is_empty());
    }

    #[test]
    fn the_breakdown_has_times_and_shares_of_each_part() {
        let turns = [vec![report("2pl-dreadlocks", 8.0, "ok")]];
        let lines = lines(&turns, |out, engines| print_breakdown(out, engines, 40));
        assert_eq!(lines.len(), 1 + 2 + 5 + 1, "{lines:#?}");
        for (part, expected) in [("work", "1.50   75 %"), ("lock manager", "0.50   25 %"), ("wait", "0.00    0 %")] {
            let line = lines.iter().find(|line| line.starts_with(part)).expect("each part has a line");
            assert!(line.ends_with(expected), "{line}");
        }
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
    fn analyses_and_messages_are_told_of() {
        let mut turns = [vec![report("a", 2_000.0, "ok"), report("b", 2_000.0, "ok")]];
        (turns[0][0].analyses, turns[0][0].messages) = (Analyses::default(), 0);
        (turns[0][1].analyses, turns[0][1].messages) = (Analyses { runs: 1500, found: 20, bits: 75_000 }, 3_000);
        let expected = [
            "b: 1,500 contention analyses found 20 transactions and set 50 bits each",
            "b: 1.50 messages between partitions per transaction",
        ];
        assert_eq!(lines(&turns, |out, engines| print_analyses(out, engines)), expected);
    }

    #[test]
    fn cores_that_move_are_told_of() {
        let mut turns = [vec![report("a", 1.0, "ok"), report("b", 1.0, "ok")], vec![report("a", 1.0, "ok")]];
        for (distances, expected) in [
            ([None, None, None], None),
            ([Some(100.0), Some(190.0), None], None),
            ([Some(130.0), Some(104.4), Some(570.0)], Some("took 104 to 570 ns")),
        ] {
            let [first, second, third] = distances;
            (turns[0][0].core_distance_ns, turns[0][1].core_distance_ns) = (first, second);
            turns[1][0].core_distance_ns = third;
            let told = lines(&turns, |out, engines| print_core_distance(out, engines)).pop();
            assert_eq!(told.is_some(), expected.is_some(), "{told:?}");
            assert!(told.unwrap_or_default().contains(expected.unwrap_or_default()));
        }
    }

    #[test]
    fn levels_that_an_engine_lacks_are_told_of() {
        let mut turns = [vec![report("a", 1.0, "ok"), report("b", 1.0, "ok")]];
        turns[0][0].grant(Isolation::Serializable, Isolation::Serializable);
        turns[0][1].grant(Isolation::Snapshot, Isolation::Serializable);
        let told = lines(&turns, |out, engines| print_granted(out, engines));
        assert_eq!(told, ["b has no snapshot: it ran at serializable"]);
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
        let turns = [vec![report("2pl-ordered-split", 1_234_567.0, "ok"), report("b", 0.0, "failed: a sum")]];
        for (width, columns) in [(0, 1), (34, 1), (40, 2), (60, 5), (WIDTH_UNKNOWN, 7), (200, 10)] {
            let lines = lines(&turns, |out, engines| print_at(out, engines, width));
            let heads = lines[0].replace(" µs", "").split_whitespace().count() - 1;
            assert_eq!(heads, columns, "at {width}: {lines:#?}");
            assert!(lines.iter().all(|line| line.chars().count() <= width.max(28)), "{lines:#?}");
            assert!(width < 40 || lines[2].ends_with(" FAILED"), "{lines:#?}");
        }
    }
}
