//! The SQL tests of crate `hotrow-sql`, over the wire.

mod common;

use common::client::{Client, Failure};
use common::{ENGINES, Running};
use sqllogictest::{DB, DBOutput, DefaultColumnType, Runner};
use std::path::{Path, PathBuf};

/// Engines that only these tests run in the server, in addition to [`ENGINES`].
const OTHERS: [&str; 2] = ["hier", "sli"];

struct Connection(Client);

impl DB for Connection {
    type Error = Failure;
    type ColumnType = DefaultColumnType;

    fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, Failure> {
        let answer = self.0.query(sql);
        if let Some(failure) = answer.failure {
            return Err(failure);
        }
        let tag = answer.tags.last().map(String::as_str).unwrap_or_default();
        let count = tag.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0);
        if answer.columns == 0 {
            return Ok(DBOutput::StatementComplete(count));
        }
        let shown = |value: Option<String>| match value {
            None => "NULL".to_owned(),
            Some(text) if text.is_empty() => "(empty)".to_owned(),
            Some(text) => text,
        };
        Ok(DBOutput::Rows {
            types: vec![DefaultColumnType::Any; answer.columns],
            rows: answer.rows.into_iter().map(|row| row.into_iter().map(shown).collect()).collect(),
        })
    }

    fn engine_name(&self) -> &str {
        "hotrow"
    }

    fn error_sql_state(failure: &Failure) -> Option<String> {
        Some(failure.code.clone())
    }
}

fn files() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sql/tests/slt");
    let mut files: Vec<_> = std::fs::read_dir(&directory)
        .unwrap_or_else(|error| panic!("{}: {error}", directory.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "slt"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no test in {}", directory.display());
    files
}

#[test]
fn the_sql_tests_pass_on_each_engine() {
    let mut failures = Vec::new();
    for engine in ENGINES.into_iter().chain(OTHERS) {
        for file in files() {
            let server = Running::new(engine);
            let address = server.address;
            let mut runner = Runner::new(|| async move { Ok(Connection(Client::connect(address))) });
            if let Err(error) = runner.run_file(&file) {
                failures.push(format!("{engine}: {error}"));
            }
            // The connections first: the server waits for them.
            drop(runner);
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
