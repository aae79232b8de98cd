//! The statements of `written.sql`, in their order and on one connection: PostgreSQL and Hotrow must answer them alike.
//!
//! A line is a statement, or a comment that begins with `--`. One that begins with `!` and a SQLSTATE is refused by
//! Hotrow with that state whatever PostgreSQL says to it: it cannot be done yet. Columns, rows, tags and SQLSTATEs are
//! compared, messages are not.

use super::common::{Client, Running};
use super::postgres::Postgres;
use std::fmt::Write;

const STATEMENTS: &str = include_str!("written.sql");

/// Returns the compared part of a server's answer to a statement.
fn said(client: &mut Client, sql: &str) -> String {
    let answer = client.query(sql);
    let Some(failure) = answer.failure else {
        let columns: Vec<_> = answer.described.iter().map(|column| format!("{} {}", column.name, column.oid)).collect();
        return format!("{} {columns:?} {:?}", answer.tags.join(", "), answer.rows);
    };
    failure.code
}

#[test]
fn written_statements_are_answered_as_by_postgresql() {
    let postgres = match Postgres::find() {
        Ok(postgres) => postgres,
        Err(reason) => return eprintln!("{reason}: passed over"),
    };
    let server = Running::new("ilock");
    let (mut ours, mut theirs) = (server.client(), Client::connect(postgres.address));
    let mut report = String::new();
    let mut count = 0;
    for (number, line) in STATEMENTS.lines().enumerate() {
        if line.is_empty() || line.starts_with("--") {
            continue;
        }
        let (refused, sql) = match line.strip_prefix('!').and_then(|rest| rest.split_once(' ')) {
            Some((state, sql)) => (Some(state), sql),
            None => (None, line),
        };
        count += 1;
        let (hotrow, postgres) = (said(&mut ours, sql), said(&mut theirs, sql));
        let expected = refused.unwrap_or(&postgres);
        if hotrow != expected {
            writeln!(report, "line {}: {sql}\n  Hotrow: {hotrow}\n  expected: {expected}", number + 1)
                .expect("a string grows");
        }
    }
    drop((ours, theirs));
    assert!(count > 100, "the statements are there");
    assert!(report.is_empty(), "{report}");
}
