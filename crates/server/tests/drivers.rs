//! PostgreSQL's drivers against the server: psycopg 3, SQLAlchemy 2 and Django over it, asyncpg, node-postgres,
//! Sequelize, TypeORM and drizzle over it, pgx, the JDBC driver, ActiveRecord and Laravel's Eloquent.
//!
//! psycopg and the last two are Debian's packages; `tests/drivers/prepare` puts the others into `target/drivers`. A
//! driver that is not there is skipped with a line on standard error; if the environment variable `CI` is set it is a
//! failure.

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
    python_script("sqlalchemy_orm.py", |server| format!("postgresql+psycopg://postgres@{}/postgres", server.address));
}

#[test]
fn django_migrates_and_maps_its_own_applications() {
    python_script("django_orm.py", |server| server.address.port().to_string());
}

#[test]
fn django_makes_a_database_for_its_test_runner() {
    python_script("django_test_runner.py", |server| server.address.port().to_string());
}

#[test]
fn sqlalchemy_finds_out_about_tables_that_it_did_not_make() {
    python_script("sqlalchemy_reflection.py", |server| {
        format!("postgresql+psycopg://postgres@{}/postgres", server.address)
    });
}

#[test]
fn django_looks_at_a_schema_and_changes_it() {
    python_script("django_schema.py", |server| server.address.port().to_string());
}

#[test]
fn django_asks_for_parts_of_json() {
    python_script("django_json.py", |server| server.address.port().to_string());
}

#[test]
fn sqlalchemy_asks_for_parts_of_json() {
    python_script("sqlalchemy_json.py", |server| format!("postgresql+psycopg://postgres@{}/postgres", server.address));
}

/// Runs a script with the Python that the drivers are installed for. Its argument says where the server is.
fn python_script(name: &str, argument: impl Fn(&Running) -> String) {
    let python = "python/bin/python";
    if !is_prepared(python) {
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/drivers").join(name);
    for engine in UNLIKE {
        let server = Running::new(engine);
        let mut command = command(&prepared(python).to_string_lossy(), &server);
        // The script's own directory would stand before the driver's.
        command.arg("-P").arg(&script).arg(argument(&server));
        assert_eq!(run(command), "ok\n", "{engine}");
    }
}

#[test]
fn asyncpg_sends_and_reads_arrays() {
    python_script("asyncpg_session.py", |server| format!("postgres://postgres@{}/postgres", server.address));
}

#[test]
fn node_postgres_runs_transactions_in_a_pool_and_reads_with_cursors() {
    node_script("pg", "client.js");
}

#[test]
fn sequelize_makes_tables_and_compares_them_with_its_models() {
    node_script("sequelize", "sequelize.js");
}

#[test]
fn typeorm_makes_a_schema_and_finds_nothing_to_change() {
    node_script("typeorm", "typeorm.js");
}

#[test]
fn drizzle_makes_a_schema_and_finds_nothing_to_change() {
    node_script("drizzle-kit", "drizzle.js");
}

/// Runs a script of Node that needs this package.
fn node_script(package: &str, name: &str) {
    if !is_prepared(&format!("node/node_modules/{package}")) {
        return;
    }
    for engine in UNLIKE {
        let server = Running::new(engine);
        let mut command = command("node", &server);
        // It takes "prefer" for "require".
        command.env("PGSSLMODE", "disable").arg(prepared(&format!("node/{name}")));
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
    java_class("Main");
}

#[test]
fn jdbc_says_what_tables_and_results_are_like() {
    java_class("Metadata");
}

#[test]
fn activerecord_makes_a_schema_and_dumps_the_same() {
    debian_script("ruby", "activerecord.rb", &["-e", "require 'active_record'; require 'pg'"]);
}

#[test]
fn eloquent_makes_a_schema_and_maps_it() {
    let finds = "exit(extension_loaded('pdo_pgsql') && (include 'Illuminate/Database/autoload.php') ? 0 : 1);";
    debian_script("php", "eloquent.php", &["-r", finds]);
}

/// Runs a script in a language whose drivers are Debian's packages. `finds` are the arguments with which the language
/// says that they are there.
fn debian_script(language: &str, name: &str, finds: &[&str]) {
    if !is_installed(language, finds) {
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/drivers").join(name);
    for engine in UNLIKE {
        let server = Running::new(engine);
        let mut command = command(language, &server);
        command.arg(&script).arg(server.address.port().to_string());
        assert_eq!(run(command), "ok\n", "{engine}");
    }
}

/// Runs a class that is compiled beside PostgreSQL's driver.
fn java_class(name: &str) {
    if !is_prepared(&format!("jdbc/{name}.class")) {
        return;
    }
    let classes = format!("{}:{}", prepared("jdbc").display(), prepared("jdbc/postgresql.jar").display());
    for engine in UNLIKE {
        let server = Running::new(engine);
        let mut command = command("java", &server);
        let url = format!("jdbc:postgresql://{}/postgres?user=postgres", server.address);
        command.args(["-cp", &classes, name, &url]);
        assert_eq!(run(command), "ok\n", "{engine}");
    }
}
