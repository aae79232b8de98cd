//! Drivers that know nothing of Hotrow: psycopg 3, SQLAlchemy 2 and Django over it, node-postgres, pgx and PostgreSQL's JDBC driver.
//!
//! `tests/drivers/prepare` puts all but the first into `target/drivers`. One that is not there is passed over with a line on standard error;
//! where the environment variable `CI` is set it is a failure.

mod common;

use common::program::{command, is_installed, run};
use common::{ENGINES, Running};
use std::path::{Path, PathBuf};

/// Three that have little in common.
const UNLIKE: [&str; 3] = ["ilock", "mvo", "serial"];

/// Where the drivers are.
fn prepared(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/drivers").join(file)
}

fn is_prepared(file: &str) -> bool {
    is_installed("test", &["-e", &prepared(file).to_string_lossy()])
}

#[test]
fn psycopg_runs_transactions() {
    if !is_installed("python3", &["-c", "import psycopg"]) {
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/drivers/psycopg.py");
    for engine in ENGINES {
        let server = Running::new(engine);
        let mut command = command("python3", &server);
        // The script's own directory would stand before the driver's.
        command.arg("-P").arg(&script);
        assert_eq!(run(command), "ok\n", "{engine}");
    }
}

#[test]
fn sqlalchemy_maps_tables_and_sees_which_there_are() {
    let python = "python/bin/python";
    if !is_prepared(python) {
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/drivers/sqlalchemy_orm.py");
    for engine in UNLIKE {
        let server = Running::new(engine);
        let mut command = command(&prepared(python).to_string_lossy(), &server);
        command.arg("-P").arg(&script).arg(format!("postgresql+psycopg://postgres@{}/postgres", server.address));
        assert_eq!(run(command), "ok\n", "{engine}");
    }
}

#[test]
fn django_migrates_and_maps_its_own_applications() {
    let python = "python/bin/python";
    if !is_prepared(python) {
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/drivers/django_orm.py");
    for engine in UNLIKE {
        let server = Running::new(engine);
        let mut command = command(&prepared(python).to_string_lossy(), &server);
        command.arg("-P").arg(&script).arg(server.address.port().to_string());
        assert_eq!(run(command), "ok\n", "{engine}");
    }
}

#[test]
fn node_postgres_runs_transactions_in_a_pool_and_reads_with_cursors() {
    if !is_prepared("node/node_modules/pg") {
        return;
    }
    for engine in UNLIKE {
        let server = Running::new(engine);
        let mut command = command("node", &server);
        // It takes "prefer" for "require".
        command.env("PGSSLMODE", "disable").arg(prepared("node/client.js"));
        assert_eq!(run(command), "ok\n", "{engine}");
    }
}

#[test]
fn pgx_sends_batches_and_copies_in_all_its_modes() {
    let client = "pgx/client";
    if !is_prepared(client) {
        return;
    }
    for engine in UNLIKE {
        let server = Running::new(engine);
        assert_eq!(run(command(&prepared(client).to_string_lossy(), &server)), "ok\n", "{engine}");
    }
}

#[test]
fn jdbc_sends_batches_and_fetches_in_pieces() {
    if !is_prepared("jdbc/Main.class") {
        return;
    }
    let classes = format!("{}:{}", prepared("jdbc").display(), prepared("jdbc/postgresql.jar").display());
    for engine in UNLIKE {
        let server = Running::new(engine);
        let mut command = command("java", &server);
        let url = format!("jdbc:postgresql://{}/postgres?user=postgres", server.address);
        command.args(["-cp", &classes, "Main", &url]);
        assert_eq!(run(command), "ok\n", "{engine}");
    }
}
