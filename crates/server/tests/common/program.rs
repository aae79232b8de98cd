//! PostgreSQL's programs and others, run against a server.

#![allow(clippy::print_stderr, reason = "a test that was passed over says so")]

use super::Running;
use std::process::Command;

/// Whether a program can be run here. If it cannot and the environment variable `CI` is set, that is a failure.
pub fn is_installed(program: &str, arguments: &[&str]) -> bool {
    let found = Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success());
    if !found {
        let message = format!("{program} {} does not work here", arguments.join(" "));
        assert!(std::env::var_os("CI").is_none(), "{message}");
        eprintln!("{message}: passed over");
    }
    found
}

/// A program that finds the server by libpq's environment variables.
pub fn command(program: &str, server: &Running) -> Command {
    let mut command = Command::new(program);
    command
        .env("PGHOST", "127.0.0.1")
        .env("PGPORT", server.address.port().to_string())
        .env("PGUSER", "postgres")
        .env("PGDATABASE", "postgres")
        .env("PGSSLMODE", "prefer")
        .env_remove("PGPASSWORD")
        .env_remove("PGOPTIONS");
    command
}

/// Returns what a program has printed.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a command that must succeed, and returns what it printed.
pub fn run(mut command: Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let printed = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{printed}", output.status);
    printed
}
