//! Anomalies: every script of `scripts.txt` on every engine at every level, over the wire, with the outcome that the
//! level promises.
//!
//! One engine is played under each execution model, the others under the default one. A script is played on each of the
//! tables, with its transactions begun in both orders. If its anomaly is not possible, no play may show it. If it is
//! possible, some play must show it under the engines that go row by row, unless they are known to be stronger than
//! their level. Without isolation every script must show its anomaly, or else the script could not show it at all.
//!
//! With a PostgreSQL server at `HOTROW_ANOMALIES_POSTGRES` (an address with its port, for a user `postgres` who needs
//! no password) the scripts are played there too, and must show what they say that PostgreSQL shows.

#![allow(clippy::print_stdout, reason = "the comparison with PostgreSQL is a table to be read")]

#[path = "../common/mod.rs"]
mod common;
mod document;
mod play;
mod postgres;
mod script;
mod stage;
mod stronger;

use common::{DEFAULT_MODEL, ENGINE_OF_ALL_MODELS, Model, OTHER_MODELS};
use hotrow_protocols::ENGINES;
use hotrow_sql::isolation;
use hotrow_sync::thread;
use hotrow_txn::{EngineInfo, Isolation};
use play::{Begin, SESSIONS, play};
use script::{POSTGRES_LEVELS, Scripts, Table};
use stage::Stage;
use std::net::SocketAddr;

/// The engine on which everything is possible.
const BROKEN: &str = "none";

/// Whether an engine shows what a level permits, unless it is known to be [stronger]: it keeps only the rows at hand
/// from other transactions. An engine that has to know a transaction's accesses first gives a transaction block the
/// whole database. An engine that retries a statement instead of waiting begins it anew, and so sees less of what
/// happens meanwhile.
fn shows(info: &EngineInfo) -> bool {
    let keeps_versions = info.isolation.contains(&Isolation::Snapshot);
    keeps_versions
        || ["lock-table", "hier", "sli", "1v", "ilock"].contains(&info.name)
        || info.name.starts_with("2pl-") && !info.capabilities.needs_accesses
}

fn scripts() -> Scripts {
    script::parse(include_str!("scripts.txt")).unwrap_or_else(|mistake| panic!("scripts.txt, {mistake}"))
}

/// The common result of all plays of a script at a level.
#[derive(Clone, Debug, Default)]
struct Verdict {
    /// Whether a play showed the anomaly.
    shown: bool,
    /// The story of a play that showed the anomaly, else the story of the last play.
    story: String,
    /// The errors that no play may have.
    failures: Vec<String>,
}

/// Returns the statements that make a table, or `None` if the engine cannot have the table.
type Making = fn(&Table) -> Option<&str>;

/// Plays every script at each of the levels, on the tables that `making` can make; verdicts by script and level.
fn perform(
    name: &str,
    levels: &[Isolation],
    scripts: &Scripts,
    making: Making,
    open: impl Fn() -> Stage,
) -> Vec<Vec<Verdict>> {
    let mut verdicts = vec![vec![Verdict::default(); levels.len()]; scripts.scripts.len()];
    let mut stage = open();
    for (table, sql) in scripts.tables.iter().filter_map(|table| Some((table, making(table)?))) {
        for (script, verdicts) in scripts.scripts.iter().zip(&mut verdicts).filter(|(script, _)| script.is_on(table)) {
            for (&level, verdict) in levels.iter().zip(verdicts) {
                for begin in [Begin::InTurn, Begin::Backwards] {
                    let place = format!("{name} at {level}, {}, table {}, begun {begin:?}", script.name, table.name);
                    match play(&mut stage, level, sql, begin, script) {
                        Ok(ending) => {
                            if ending.anomaly || !verdict.shown {
                                verdict.story = format!("{place}\n{}", ending.story);
                            }
                            verdict.shown |= ending.anomaly;
                        }
                        Err(error) => {
                            verdict.failures.push(format!("{place}: {error}"));
                            stage = open();
                        }
                    }
                }
            }
        }
    }
    verdicts
}

fn any(table: &Table) -> Option<&str> {
    Some(&table.sql)
}

/// Every script at every level, on an engine of ours under an execution model.
fn perform_on(info: &EngineInfo, model: Model, scripts: &Scripts) -> Vec<Vec<Verdict>> {
    let making: Making = if info.keeps_partitions() { |table| table.partitioned.as_deref() } else { any };
    let name = format!("{} {model:?}", info.name);
    perform(&name, &Isolation::ALL, scripts, making, || Stage::new(info.name, model, SESSIONS))
}

/// Returns the faults of a verdict. `possible` says whether the level permits the anomaly. If it does and `must` is
/// set, the anomaly must have appeared.
fn judge(verdict: &Verdict, possible: bool, must: bool) -> Vec<String> {
    let mut failures = verdict.failures.clone();
    match (verdict.shown, possible) {
        (true, false) => failures.push(format!("the anomaly must not appear: {}", verdict.story)),
        (false, true) if must => failures.push(format!("the anomaly should have appeared: {}", verdict.story)),
        _ => {}
    }
    failures
}

#[test]
fn every_engine_keeps_what_its_levels_promise() {
    let scripts = scripts();
    let engines: Vec<_> = ENGINES.iter().filter(|info| info.isolates).collect();
    let of_all_models = engines.iter().find(|info| info.name == ENGINE_OF_ALL_MODELS).expect("an engine");
    let on_other_models = OTHER_MODELS.map(|model| (*of_all_models, model));
    let settings: Vec<_> = engines.iter().map(|info| (*info, DEFAULT_MODEL)).chain(on_other_models).collect();
    let plays: Vec<_> = thread::scope(|scope| {
        let play = |(info, model)| {
            scope.spawn({
                let scripts = &scripts;
                move || perform_on(info, model, scripts)
            })
        };
        let threads: Vec<_> = settings.iter().map(|&setting| play(setting)).collect();
        threads.into_iter().map(|thread| thread.join().expect("plays do not panic")).collect()
    });
    let mut failures = Vec::new();
    for ((info, _), verdicts) in settings.iter().zip(&plays) {
        for (script, verdicts) in scripts.scripts.iter().zip(verdicts) {
            for (level, verdict) in Isolation::ALL.into_iter().zip(verdicts) {
                let granted = info.granted(level);
                let possible = script.possible.contains(&granted);
                match stronger::reason(info.name, granted, &script.name) {
                    Some(reason) if !possible => failures.push(format!(
                        "{} at {granted}, {}: not possible there anyway, and so not because {reason}",
                        info.name, script.name
                    )),
                    Some(_) => failures.extend(judge(verdict, false, false)),
                    None => failures.extend(judge(verdict, possible, shows(info))),
                }
            }
        }
    }
    for entry in stronger::STRONGER {
        let known = |name: &&&str| scripts.scripts.iter().any(|script| script.name == ***name);
        assert_eq!(entry.scripts.iter().filter(known).count(), entry.scripts.len(), "scripts of {:?}", entry.engines);
    }
    assert!(failures.is_empty(), "{} failures\n\n{}", failures.len(), failures.join("\n\n"));
    let shown =
        |verdicts: &Vec<Vec<Verdict>>| verdicts.iter().map(|row| row.iter().map(|one| one.shown).collect()).collect();
    let columns = engines.iter().map(|info| info.name).zip(plays.iter().map(shown)).collect();
    document::check(&scripts, columns);
}

#[test]
fn every_script_is_failed_by_an_engine_that_does_not_isolate() {
    let scripts = scripts();
    let broken = ENGINES.iter().find(|info| info.name == BROKEN).expect("the engine is in the registry");
    let open = || Stage::new(BROKEN, DEFAULT_MODEL, SESSIONS);
    let verdicts = perform(broken.name, &[Isolation::Serializable], &scripts, any, open);
    for (script, verdicts) in scripts.scripts.iter().zip(&verdicts) {
        let failures = judge(&verdicts[0], false, false);
        assert_eq!(
            (verdicts[0].shown, failures.len()),
            (true, 1),
            "{}: {failures:#?}\n{}",
            script.name,
            verdicts[0].story
        );
        assert!(failures[0].starts_with("the anomaly must not appear"), "{}", failures[0]);
    }
}

#[test]
fn postgresql_shows_what_the_scripts_say_of_it() {
    let Ok(address) = std::env::var("HOTROW_ANOMALIES_POSTGRES") else {
        println!("skipped: no PostgreSQL server at HOTROW_ANOMALIES_POSTGRES");
        return;
    };
    let address: SocketAddr = address.parse().expect("HOTROW_ANOMALIES_POSTGRES is an address with its port");
    let scripts = scripts();
    let open = || Stage::postgres(address, SESSIONS);
    let verdicts = perform("PostgreSQL", &POSTGRES_LEVELS, &scripts, any, open);
    let mut failures = Vec::new();
    println!("{:<76} promised -> PostgreSQL, at {}", "", POSTGRES_LEVELS.map(isolation::name).join(", "));
    for (script, verdicts) in scripts.scripts.iter().zip(&verdicts) {
        let word = |shown: bool| if shown { "possible" } else { "no" };
        let mut cells = Vec::new();
        for (level, verdict) in POSTGRES_LEVELS.iter().zip(verdicts) {
            cells.push(format!("{} -> {}", word(script.possible.contains(level)), word(verdict.shown)));
            failures.extend(judge(verdict, script.postgres().contains(level), true));
        }
        println!("{:<76} {}", script.name, cells.join(", "));
    }
    assert!(failures.is_empty(), "{} failures\n\n{}", failures.len(), failures.join("\n\n"));
}
