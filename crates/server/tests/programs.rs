//! PostgreSQL's programs against the server: psql and pgbench.
//!
//! A program that is not installed is skipped with a line on standard error; if the environment variable `CI` is set it
//! is a failure.

mod common;

use common::program::{command, is_installed, run, text};
use common::{ENGINES, Running};
use std::io::Write;
use std::process::{Output, Stdio};

#[test]
fn psql_runs_scripts() {
    if !is_installed("psql", &["--version"]) {
        return;
    }
    for engine in ENGINES {
        let server = Running::new(engine);
        let script = "CREATE TABLE t (id int PRIMARY KEY, name text, price numeric(6,2));\n\
            COPY t FROM STDIN;\n1\tone\t1.5\n2\t\\N\t20\n\\.\n\
            BEGIN;\nUPDATE t SET price = price * 2 RETURNING id;\nROLLBACK;\n\
            SELECT id, name, price FROM t ORDER BY id;\n\
            SELECT nothing FROM t;\nSELECT 1/0;\n\
            COPY t TO STDOUT (FORMAT csv, HEADER);\n";
        let output = psql(&server, script);
        let expected = "CREATE TABLE\nCOPY 2\nBEGIN\n1\n2\nUPDATE 2\nROLLBACK\n1|one|1.50\n2|∅|20.00\n\
            id,name,price\n1,one,1.50\n2,,20.00\n";
        assert_eq!(text(&output.stdout), expected, "{engine}: {}", text(&output.stderr));
        let errors = text(&output.stderr);
        assert!(
            errors.contains(
                "ERROR:  42703: column \"nothing\" does not exist\nLINE 1: SELECT nothing FROM t;\n               ^"
            ),
            "{errors}"
        );
        assert!(errors.contains("ERROR:  22012: division by zero"), "{errors}");
    }
}

/// The names of what there is, as psql shows them.
#[test]
fn psql_lists_what_there_is() {
    if !is_installed("psql", &["--version"]) {
        return;
    }
    for engine in ["ilock", "mvo", "serial"] {
        let server = Running::new(engine);
        let script = "CREATE TABLE parent (id int PRIMARY KEY, name text);\n\
            CREATE TABLE child (id serial PRIMARY KEY, parent_id int REFERENCES parent);\n\
            CREATE INDEX ON child (parent_id);\nCREATE VIEW names AS SELECT name FROM parent;\n\
            \\dt\n\\di\n\\ds\n\\dv\n\\dn\n\\d\n\\dt nothing\n";
        let output = psql(&server, script);
        let printed = text(&output.stdout);
        let lines: Vec<_> = printed.lines().skip_while(|line| *line != "CREATE VIEW").skip(1).collect();
        let expected = [
            "public|child|table|postgres",
            "public|parent|table|postgres",
            "public|child_parent_id_idx|index|postgres|child",
            "public|child_pkey|index|postgres|child",
            "public|parent_pkey|index|postgres|parent",
            "public|child_id_seq|sequence|postgres",
            "public|names|view|postgres",
            "public|postgres",
            "public|child|table|postgres",
            "public|child_id_seq|sequence|postgres",
            "public|names|view|postgres",
            "public|parent|table|postgres",
        ];
        assert_eq!(lines, expected, "{engine}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains("Did not find any relation named \"nothing\"."), "{output:?}");
    }
}

/// A table with all that belongs to it: `psql_describes.txt` is what PostgreSQL 15 answers.
#[test]
fn psql_describes_a_table() {
    if !is_installed("psql", &["--version"]) {
        return;
    }
    for engine in ["ilock", "mvo", "serial"] {
        let server = Running::new(engine);
        let script = "CREATE TABLE parent (id int PRIMARY KEY, code varchar(20) UNIQUE DEFAULT 'x');\n\
            CREATE TABLE child (id serial PRIMARY KEY, parent_id int NOT NULL REFERENCES parent ON DELETE CASCADE, \
            price numeric(10,2));\nCREATE INDEX child_parent ON child (parent_id);\n\
            CREATE VIEW codes AS SELECT code FROM parent;\n\\d child\n\\d parent\n\\d codes\n\\d child_id_seq\n\\du\n";
        let output = psql_with(&server, &["-X", "-q", "-A"], script);
        assert_eq!(
            text(&output.stdout),
            include_str!("drivers/psql_describes.txt"),
            "{engine}: {}",
            text(&output.stderr)
        );
    }
}

/// Commands that say what there is: for most there is nothing, but none ends with an error.
#[test]
fn psqls_commands_find_their_catalogs() {
    if !is_installed("psql", &["--version"]) {
        return;
    }
    let server = Running::new("ilock");
    let commands = "a A Ac Af b b+ c C config config+ d D dp E es et eu ew f f+ F Fd Fp Ft g g+ i i+ l L m n n+ O p P rds \
        Rp Rs s s+ t t+ T T+ u v v+ x x+ X y";
    let script: String = commands.split_whitespace().map(|command| format!("\\d{command}\n")).collect();
    let output = psql(&server, &script);
    assert!(!text(&output.stderr).contains("ERROR"), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("application_name|psql"), "{}", text(&output.stdout));
    let output = psql(&server, "\\l+\n\\z\n\\sf nope\n\\sv nope\n");
    let errors = "ERROR:  function \"nope\" does not exist\nERROR:  relation \"nope\" does not exist\n";
    assert_eq!(text(&output.stderr), errors);
}

fn psql(server: &Running, script: &str) -> Output {
    psql_with(server, &["-X", "-A", "-t", "-P", "null=∅", "-v", "VERBOSITY=verbose"], script)
}

fn psql_with(server: &Running, options: &[&str], script: &str) -> Output {
    let mut command = command("psql", server);
    command.args(options);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("psql starts");
    child.stdin.take().expect("it is a pipe").write_all(script.as_bytes()).expect("psql reads");
    child.wait_with_output().expect("psql ends")
}

#[test]
fn pgbench_initialises_and_runs() {
    if !is_installed("pgbench", &["--version"]) {
        return;
    }
    for engine in ENGINES {
        let server = Running::new(engine);
        let pgbench = |arguments: &[&str]| {
            let mut command = command("pgbench", &server);
            command.args(arguments);
            run(command)
        };
        pgbench(&["-i", "-s", "1", "-q"]);
        for mode in ["simple", "extended", "prepared"] {
            for script in ["tpcb-like", "select-only"] {
                let printed = pgbench(&["-n", "-c", "4", "-T", "1", "--max-tries", "10000", "-M", mode, "-b", script]);
                let failed = "number of failed transactions: 0 (0.000%)";
                assert!(printed.contains(failed), "{engine}, {mode}, {script}: {printed}");
                assert!(!printed.contains("number of transactions actually processed: 0\n"), "{printed}");
            }
        }
        let mut client = server.client();
        let sums = [
            "SELECT sum(abalance) FROM pgbench_accounts",
            "SELECT sum(bbalance) FROM pgbench_branches",
            "SELECT sum(tbalance) FROM pgbench_tellers",
            "SELECT sum(delta) FROM pgbench_history",
        ]
        .map(|sum| client.column(sum));
        assert!(sums.iter().all(|sum| *sum == sums[0]), "{engine}: {sums:?}");
        assert_eq!(client.column("SELECT count(*) FROM pgbench_accounts"), ["100000"]);
    }
}
