//! Anomalies: every script of `scripts.txt` on every engine at every level, with the outcome that the level promises.
//!
//! A script is played on each of the tables, with its transactions begun in both orders. Where its anomaly is not possible,
//! no play may show it. Where it is, some play of it must, under the engines that lock row by row; and without isolation
//! every script must, or else it could not be shown by anything.

#[path = "../common/mod.rs"]
mod common;
mod play;
mod script;
mod stage;

use hotrow_protocols::ENGINES;
use hotrow_txn::{EngineInfo, Isolation};
use play::{Begin, play};
use script::{Script, Scripts};
use std::fmt::Write;

/// The engines that show what a level permits: they wait for nothing but the rows at hand.
const SHOWING: &str = "2pl-";

/// The engine on which everything is possible.
const BROKEN: &str = "none";

fn scripts() -> Scripts {
    script::parse(include_str!("scripts.txt")).unwrap_or_else(|mistake| panic!("scripts.txt, {mistake}"))
}

/// All plays of a script by an engine at a level: the story of one that showed the anomaly, else that of the last.
fn plays(
    engine: &str,
    level: Isolation,
    scripts: &Scripts,
    script: &Script,
    failures: &mut Vec<String>,
) -> (bool, String) {
    let (mut shown, mut told) = (false, String::new());
    for table in &scripts.tables {
        for begin in [Begin::InTurn, Begin::Backwards] {
            let place = format!("{engine} at {level}, {}, table {}, begun {begin:?}", script.name, table.name);
            match play(engine, level, table, begin, script) {
                Ok(ending) => {
                    if ending.anomaly || !shown {
                        told = format!("{place}\n{}", ending.story);
                    }
                    shown |= ending.anomaly;
                }
                Err(error) => failures.push(format!("{place}: {error}")),
            }
        }
    }
    (shown, told)
}

/// Plays a script and judges it by what the granted level promises; what the table of results says.
fn judge(
    info: &EngineInfo,
    level: Isolation,
    scripts: &Scripts,
    script: &Script,
    failures: &mut Vec<String>,
) -> &'static str {
    let possible = script.possible.contains(&info.granted(level));
    let (shown, story) = plays(info.name, level, scripts, script, failures);
    match (shown, possible) {
        (true, false) => failures.push(format!("the anomaly must not appear: {story}")),
        (false, true) if info.name.starts_with(SHOWING) => {
            failures.push(format!("the anomaly should have appeared: {story}"));
        }
        _ => {}
    }
    if shown { "shown" } else { "-" }
}

#[test]
fn every_engine_keeps_what_its_levels_promise() {
    let scripts = scripts();
    let (mut failures, mut results) = (Vec::new(), String::new());
    for script in &scripts.scripts {
        let _ = write!(results, "\n{:<70}", script.name);
        for info in ENGINES.iter().filter(|info| info.isolates) {
            for level in Isolation::ALL {
                let result = judge(info, level, &scripts, script, &mut failures);
                let _ = write!(results, " {} {}: {result};", info.name, level);
            }
        }
    }
    assert!(failures.is_empty(), "{results}\n\n{}", failures.join("\n\n"));
}

#[test]
fn every_script_is_failed_by_an_engine_that_does_not_isolate() {
    let scripts = scripts();
    let broken = ENGINES.iter().find(|info| info.name == BROKEN).expect("the engine is in the registry");
    for script in &scripts.scripts {
        let mut failures = Vec::new();
        let result = judge(broken, Isolation::Serializable, &scripts, script, &mut failures);
        assert_eq!((result, failures.len()), ("shown", 1), "{}: {}", script.name, failures.join("\n\n"));
        assert!(failures[0].starts_with("the anomaly must not appear"), "{}", failures[0]);
    }
}

#[test]
fn the_documented_table_is_that_of_the_scripts() {
    let documented = include_str!("../../../../docs/isolation.md");
    let missing: Vec<_> = scripts().scripts.iter().map(row).filter(|row| !documented.contains(row.as_str())).collect();
    assert!(missing.is_empty(), "docs/isolation.md lacks\n{}", missing.join("\n"));
}

/// A script's row of the table in the documentation.
fn row(script: &Script) -> String {
    let cells = Isolation::ALL.map(|level| if script.possible.contains(&level) { "possible" } else { "no" });
    format!("| {} | {} |", script.name, cells.join(" | "))
}
