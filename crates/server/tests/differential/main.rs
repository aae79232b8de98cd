//! PostgreSQL's and Hotrow's answers to the same statements, which are made at random.
//!
//! Rows, columns' names and types, command tags, SQLSTATEs and messages must agree, except for the differences in
//! [`listed`], which docs/sql.md explains. If PostgreSQL 15 is not installed, the test is skipped with a line on
//! standard error.
//!
//! The statements of `written.sql` are sent to both, too: they are statements that the generator does not make.
//!
//! The long form is this command. `HOTROW_DIFFERENTIAL_SEED` chooses the statements, `HOTROW_DIFFERENTIAL_ENGINE` the
//! engine.
//!
//! ```text
//! HOTROW_DIFFERENTIAL_STATEMENTS=20000 cargo test -p hotrow-server --test differential -- --nocapture
//! ```
//!
//! The module `regress` sends the statements of whole files to both, such as those of PostgreSQL's own tests.

#![allow(clippy::print_stderr, reason = "a test that was passed over says so")]

#[path = "../common/mod.rs"]
mod common;
mod grammar;
mod listed;
mod postgres;
mod regress;
mod written;

use common::client::{Column, Failure, message, parse};
use common::{Client, Running};
use grammar::{Grammar, Node};
use postgres::Postgres;
use std::collections::HashMap;
use std::fmt::Write;
use std::net::SocketAddr;

/// The tables, made anew after so many statements, so that changes mix but what they did can be found out.
const TABLES: &str = include_str!("tables.sql");
const STATEMENTS_BETWEEN: u64 = 50;

/// Differences that are looked into, at most two of a kind; the rest is counted.
const SHOWN: usize = 60;

/// The way in which a statement is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    /// The statement is a query string.
    Simple,
    /// The statement goes by the extended protocol, with results in the binary format.
    Binary,
    /// The statement goes by the extended protocol, with its literals as parameters and results in the text format.
    Parameters,
}

/// A server's answer to a statement.
#[derive(Clone, Debug, PartialEq)]
struct Answer {
    columns: Vec<Column>,
    rows: Vec<Vec<Option<String>>>,
    tags: Vec<String>,
    failure: Option<Failure>,
}

fn set(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text}: expected a number")))
}

/// Sends a statement, and reads what comes; nothing if the connection breaks.
fn ask(client: &mut Client, statement: &Node, manner: Manner) -> Option<Answer> {
    let mut parameters = Vec::new();
    match manner {
        Manner::Simple => client.send_query(&statement.render(None)),
        Manner::Binary => client.send(&extended(&statement.render(None), &[], true)),
        Manner::Parameters => {
            let sql = statement.render(Some(&mut parameters));
            client.send(&extended(&sql, &parameters, false));
        }
    }
    let answer = client.try_answer().ok()?;
    let (mut columns, mut rows) = (answer.described, answer.rows);
    hide_made_types(&mut columns, &mut rows);
    // Without ORDER BY the rows come in any order.
    if !statement.render(None).contains("ORDER BY") {
        rows.sort();
    }
    // What came before an error does not count: it may have been sent or not.
    if answer.failure.is_some() {
        return Some(Answer { columns: Vec::new(), rows: Vec::new(), tags: answer.tags, failure: answer.failure });
    }
    Some(Answer { columns, rows, tags: answer.tags, failure: None })
}

/// Replaces what depends on the numbers of the types that tables.sql makes, which differ from server to server: the
/// numbers themselves, and arrays in the binary format, which have the number of their elements' type in them.
fn hide_made_types(columns: &mut [Column], rows: &mut [Vec<Option<String>>]) {
    const FIRST_MADE: u32 = 16384;
    for (at, column) in columns.iter_mut().enumerate().filter(|(_, column)| column.oid >= FIRST_MADE) {
        column.oid = FIRST_MADE;
        for value in rows.iter_mut().filter_map(|row| row[at].as_mut()) {
            if value.starts_with(['\0', '[']) {
                "array".clone_into(value);
            }
        }
    }
}

fn extended(sql: &str, parameters: &[String], binary: bool) -> Vec<u8> {
    let mut bind = b"\0\0\0\0".to_vec();
    bind.extend((parameters.len() as u16).to_be_bytes());
    for parameter in parameters {
        bind.extend((parameter.len() as u32).to_be_bytes());
        bind.extend(parameter.as_bytes());
    }
    bind.extend([0, 1, 0, u8::from(binary)]);
    let rest = [message(b'B', &bind), message(b'D', b"P\0"), message(b'E', b"\0\0\0\0\0"), message(b'S', b"")];
    [parse("", sql), rest.concat()].concat()
}

/// Both servers.
struct Pair {
    /// Hotrow's.
    address: SocketAddr,
    hotrow: Client,
    postgres: Client,
}

impl Pair {
    fn make_tables(&mut self) {
        for client in [&mut self.hotrow, &mut self.postgres] {
            client.run(TABLES);
        }
    }

    /// Both answers, if they differ otherwise than listed.
    fn differ(&mut self, statement: &Node, manner: Manner) -> Option<(Answer, Answer)> {
        let theirs = ask(&mut self.postgres, statement, manner).expect("PostgreSQL answers");
        let ours = ask(&mut self.hotrow, statement, manner).unwrap_or_else(|| {
            self.hotrow = Client::connect(self.address);
            let (severity, code) = ("FATAL".to_owned(), "XXXXX".to_owned());
            let failure = Failure { severity, code, message: "the connection is lost".to_owned() };
            Answer { columns: Vec::new(), rows: Vec::new(), tags: Vec::new(), failure: Some(failure) }
        });
        let alike = ours == theirs
            || listed::is_listed(&statement.render(None), &ours, &theirs)
            || self.is_matter_of_order(statement, &ours, &theirs);
        if alike && ours.failure.is_some() != theirs.failure.is_some() {
            // Only one of the servers may have changed rows.
            self.make_tables();
        }
        (!alike).then_some((ours, theirs))
    }

    /// Whether a statement has an error that one server meets before, or without, another error. Then a part of the
    /// statement alone gives that error in both. PostgreSQL computes constants beforehand, and neither server says in
    /// which order it evaluates an expression.
    fn is_matter_of_order(&mut self, statement: &Node, ours: &Answer, theirs: &Answer) -> bool {
        let Some(wanted) = ours.failure.as_ref().or(theirs.failure.as_ref()) else { return false };
        // That PostgreSQL succeeds is no matter of order.
        if theirs.failure.is_none() {
            return false;
        }
        let mut parts = Vec::new();
        statement.parts(&mut parts);
        parts.iter().any(|part| {
            let alone = ["a", "k"].into_iter().flat_map(|table| {
                [
                    format!("SELECT ({part}) FROM {table}"),
                    format!("SELECT 1 FROM {table} WHERE ({part})"),
                    format!("SELECT 1 FROM {table} {part}"),
                    format!("SELECT 1 FROM {table} GROUP BY {part}"),
                ]
            });
            alone.into_iter().any(|sql| {
                let fails = |client: &mut Client| client.query(&sql).failure.as_ref() == Some(wanted);
                fails(&mut self.postgres) && fails(&mut self.hotrow)
            })
        })
    }

    /// Returns the smallest statement found that still differs on fresh tables; `None` if earlier statements have
    /// caused the difference.
    fn shrink(&mut self, grammar: &Grammar, statement: &Node, manner: Manner) -> Option<(Node, Answer, Answer)> {
        self.make_tables();
        let (ours, theirs) = self.differ(statement, manner)?;
        let mut best = (statement.clone(), ours, theirs);
        loop {
            let mut found = None;
            for smaller in grammar.smaller(&best.0) {
                self.make_tables();
                if let Some((ours, theirs)) = self.differ(&smaller, manner) {
                    found = Some((smaller, ours, theirs));
                    break;
                }
            }
            match found {
                Some(smaller) => best = smaller,
                None => return Some(best),
            }
        }
    }
}

fn show(answer: &Answer, out: &mut String) {
    if let Some(failure) = &answer.failure {
        return writeln!(out, "  {} {}", failure.code, failure.message).expect("a string grows");
    }
    for column in &answer.columns {
        write!(out, "  {}:{}/{}", column.name, column.oid, column.modifier).expect("a string grows");
    }
    writeln!(out, "  {}", answer.tags.join(", ")).expect("a string grows");
    for row in answer.rows.iter().take(12) {
        let row: Vec<_> = row.iter().map(|value| value.as_deref().unwrap_or("NULL")).collect();
        writeln!(out, "    {}", row.join(" | ")).expect("a string grows");
    }
}

/// Returns the sort of an answer. Two differences between answers of the same sorts count as alike.
fn shape(answer: &Answer) -> String {
    let Some(failure) = &answer.failure else { return "rows".to_owned() };
    let unquoted: String = failure.message.split('"').step_by(2).collect();
    format!("{} {unquoted}", failure.code)
}

#[test]
fn answers_are_those_of_postgresql() {
    let postgres = match Postgres::find() {
        Ok(postgres) => postgres,
        Err(reason) => return eprintln!("{reason}: passed over"),
    };
    let engine = std::env::var("HOTROW_DIFFERENTIAL_ENGINE").unwrap_or_else(|_| "ilock".to_owned());
    let server = Running::new(&engine);
    let grammar = Grammar::parse(include_str!("grammar.txt"));
    let seed = set("HOTROW_DIFFERENTIAL_SEED").unwrap_or(1);
    let statements = set("HOTROW_DIFFERENTIAL_STATEMENTS").unwrap_or(600);
    let mut pair =
        Pair { address: server.address, hotrow: server.client(), postgres: Client::connect(postgres.address) };
    let mut random = fastrand::Rng::with_seed(seed);
    let mut report = String::new();
    let mut differences = 0;
    let mut shown = 0;
    let mut alike = HashMap::new();
    let mut succeeded = 0;
    for number in 0..statements {
        if number % STATEMENTS_BETWEEN == 0 {
            pair.make_tables();
        }
        let statement = grammar.generate("statement", 5, &mut random);
        let manner = [Manner::Simple, Manner::Binary, Manner::Parameters][random.usize(..3)];
        let Some((ours, theirs)) = pair.differ(&statement, manner) else {
            succeeded += 1;
            continue;
        };
        differences += 1;
        let seen = alike.entry((shape(&ours), shape(&theirs))).or_insert(0_u64);
        *seen += 1;
        if *seen > 2 || shown == SHOWN {
            continue;
        }
        shown += 1;
        let (smallest, ours, theirs) = pair.shrink(&grammar, &statement, manner).unwrap_or((statement, ours, theirs));
        pair.make_tables();
        writeln!(report, "\n{number} ({manner:?}): {}", smallest.render(None)).expect("a string grows");
        report.push_str("Hotrow\n");
        show(&ours, &mut report);
        report.push_str("PostgreSQL\n");
        show(&theirs, &mut report);
    }
    drop(pair);
    eprintln!("seed {seed}: {succeeded} of {statements} statements are answered alike");
    assert_eq!(
        differences, 0,
        "HOTROW_DIFFERENTIAL_SEED={seed}, of {statements} statements differ {differences}:\n{report}"
    );
}
