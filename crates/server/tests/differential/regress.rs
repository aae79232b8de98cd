//! Files of statements for `psql`, such as PostgreSQL's own regression tests, sent to PostgreSQL and to Hotrow.
//! The share of statements that both answer alike is printed for each file. The files are not in this tree:
//!
//! ```text
//! HOTROW_REGRESS_FILES=DIRECTORY cargo test -p hotrow-server --test differential regress -- --nocapture
//! ```
//!
//! `HOTROW_REGRESS_ONLY` has the names of the files to send, with commas between them. `HOTROW_REGRESS_REPORT` is a
//! file to which the statements that differ are written, with both answers.
//!
//! Each file has one connection to each server, all files have one database. The file `test_setup` comes first, then
//! those that make what others use, then the rest by their names. Commands of psql are left out, and so are statements
//! with psql's variables and EXPLAIN, whose plans are each server's own. Answers are alike if they have the same rows,
//! columns with the same names and types, tags, SQLSTATEs and messages.

use super::common::client::{Answer, Failure};
use super::common::{Client, Running};
use super::postgres::Postgres;
use std::fmt::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The beginnings of the names of files that make tables and functions which the other files use.
const FIRST: [&str; 3] = ["test_setup", "copy", "create_"];

/// Files about what Hotrow refuses as a whole, or does not have because it works in another way. They are sent, too,
/// but do not count in the second share.
const ABOUT_OTHERS: [(&str, &[&str]); 8] = [
    (
        "types that are not there",
        &[
            "box",
            "circle",
            "collate.icu.utf8",
            "collate.linux.utf8",
            "geometry",
            "inet",
            "line",
            "lseg",
            "macaddr",
            "macaddr8",
            "money",
            "multirangetypes",
            "path",
            "pg_lsn",
            "point",
            "polygon",
            "rangetypes",
            "txid",
            "xid",
            "xml",
            "xmlmap",
        ],
    ),
    ("text search", &["tsdicts", "tsearch", "tstypes"]),
    (
        "partitions by ranges and lists, inheritance",
        &[
            "hash_part",
            "indexing",
            "inherit",
            "insert",
            "partition_aggregate",
            "partition_info",
            "partition_join",
            "partition_prune",
            "typed_table",
        ],
    ),
    (
        "operators, aggregates, casts and types of users",
        &[
            "alter_generic",
            "alter_operator",
            "amutils",
            "conversion",
            "create_aggregate",
            "create_am",
            "create_cast",
            "create_function_c",
            "create_misc",
            "create_operator",
            "create_type",
            "drop_operator",
            "object_address",
        ],
    ),
    (
        "roles and privileges",
        &["create_role", "init_privs", "password", "privileges", "roleattributes", "rowsecurity", "security_label"],
    ),
    (
        "methods of indexes, storage and plans",
        &[
            "brin",
            "brin_bloom",
            "brin_multi",
            "compression",
            "create_index_spgist",
            "dbsize",
            "equivclass",
            "gist",
            "incremental_sort",
            "index_including",
            "index_including_gist",
            "indirect_toast",
            "join_hash",
            "memoize",
            "reindex_catalog",
            "reloptions",
            "select_parallel",
            "spgist",
            "stats",
            "stats_ext",
            "tablesample",
            "tablespace",
            "tidrangescan",
            "tidscan",
            "tuplesort",
            "vacuum_parallel",
            "write_parallel",
        ],
    ),
    (
        "replication, foreign data, large objects, prepared transactions",
        &[
            "event_trigger",
            "foreign_data",
            "largeobject",
            "prepared_xacts",
            "publication",
            "replica_identity",
            "subscription",
        ],
    ),
    (
        "PostgreSQL's own catalogs, and psql",
        &[
            "collate",
            "infinite_recurse",
            "misc_sanity",
            "oidjoins",
            "opr_sanity",
            "psql_crosstab",
            "sanity_check",
            "type_sanity",
        ],
    ),
];

/// The time after which a statement is given up.
const LIMIT: &str = "set statement_timeout = '5s'";

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Statement {
    sql: String,
    /// The offset of the text after it, where the data of a COPY would begin.
    end: usize,
}

/// Returns the statement that begins at an offset or after it, as psql would send it; `None` if there is none left.
fn next_statement(text: &str, mut at: usize) -> Option<Statement> {
    let bytes = text.as_bytes();
    let (mut sql, mut depth, mut blocks) = (String::new(), 0_usize, 0_usize);
    while at < bytes.len() {
        let rest = &text[at..];
        let piece = match bytes[at] {
            b'-' if rest.starts_with("--") => {
                at += rest.find('\n').unwrap_or(rest.len());
                continue;
            }
            b'/' if rest.starts_with("/*") => comment(rest),
            b'\\' if rest.starts_with("\\;") => {
                sql.push(';');
                at += 2;
                continue;
            }
            b'\\' => {
                let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
                at += line.len();
                let sends = line.starts_with("\\g") || line.starts_with("\\crosstabview") || line.starts_with("\\bind");
                if sends && !sql.trim().is_empty() {
                    return Some(Statement { sql: sql.trim().to_owned(), end: at });
                }
                continue;
            }
            quote @ (b'\'' | b'"') => quoted(rest, quote, quote == b'\'' && sql.ends_with(['e', 'E'])),
            b'$' => dollars(rest),
            b';' if depth == 0 && blocks == 0 => {
                if sql.trim().is_empty() {
                    at += 1;
                    continue;
                }
                let line = rest.find('\n').map_or(rest.len(), |end| end + 1);
                let end = if rest[1..line].trim().is_empty() { at + line } else { at + 1 };
                return Some(Statement { sql: sql.trim().to_owned(), end });
            }
            byte => {
                depth = match byte {
                    b'(' => depth + 1,
                    b')' => depth.saturating_sub(1),
                    _ => depth,
                };
                let word = rest.find(|next: char| !next.is_ascii_alphanumeric() && next != '_').unwrap_or(rest.len());
                let word = word.max(rest.chars().next().map_or(1, char::len_utf8));
                blocks = within(&rest[..word], &sql, blocks);
                word
            }
        };
        sql.push_str(&rest[..piece]);
        at += piece;
    }
    None
}

/// Returns the number of blocks that are open after a word: those of BEGIN ATOMIC, and of CASE within them.
fn within(word: &str, before: &str, blocks: usize) -> usize {
    let is = |wanted: &str| word.eq_ignore_ascii_case(wanted);
    match blocks {
        0 if is("atomic") && before.trim_end().to_ascii_lowercase().ends_with("begin") => 1,
        0 => 0,
        _ if is("case") => blocks + 1,
        _ if is("end") => blocks - 1,
        _ => blocks,
    }
}

/// Returns the length of a comment, with those in it.
fn comment(text: &str) -> usize {
    let (mut at, mut depth) = (0, 0);
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            (at, depth) = (at + 2, depth + 1);
        } else if rest.starts_with("*/") {
            (at, depth) = (at + 2, depth - 1);
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    at
}

/// Returns the length of a text in quotes. A quote in it is doubled, or has a backslash before it if there are escapes.
fn quoted(text: &str, quote: u8, escapes: bool) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        if escapes && bytes[at] == b'\\' {
            at += 2;
        } else if bytes[at] == quote {
            return at + 1;
        } else {
            at += 1;
        }
    }
    bytes.len()
}

/// Returns the length of a text between dollars, or that of the dollar if none begins.
fn dollars(text: &str) -> usize {
    let tag = text[1..].find(|next: char| !next.is_alphanumeric() && next != '_').map_or(text.len(), |end| end + 1);
    if !text[tag..].starts_with('$') || text[1..].starts_with(|first: char| first.is_ascii_digit()) {
        return 1;
    }
    let tag = &text[..=tag];
    text[tag.len()..].find(tag).map_or(text.len(), |end| tag.len() + end + tag.len())
}

/// Returns the data of a COPY that begin at an offset, and where the text goes on.
fn data(text: &str, start: usize) -> (&str, usize) {
    let mut at = start;
    for line in text[start..].split_inclusive('\n') {
        if line.trim_end() == "\\." {
            return (&text[start..at], at + line.len());
        }
        at += line.len();
    }
    ("", start)
}

/// Whether a statement is not compared: it has a variable of psql, or it shows a plan.
fn is_left_out(sql: &str) -> bool {
    let has_variable = |at: usize| {
        let after = &sql[at + 1..];
        !sql[..at].ends_with(':') && after.starts_with(|next: char| next.is_ascii_alphabetic() || "'\"{".contains(next))
    };
    let explains = sql.get(..7).is_some_and(|word| word.eq_ignore_ascii_case("explain"));
    explains || sql.match_indices(':').any(|(at, _)| has_variable(at))
}

/// Sends a statement. Returns the answer, or a failure if the connection breaks.
fn ask(client: &mut Client, address: SocketAddr, sql: &str, given: Option<&[u8]>) -> Answer {
    client.send_query(sql);
    let answer = client.try_answer_giving(Some(given.unwrap_or_default()));
    answer.unwrap_or_else(|_| {
        *client = Client::connect(address);
        client.query(LIMIT);
        let (severity, code) = ("FATAL".to_owned(), "XXXXX".to_owned());
        let failure = Failure { severity, code, message: "the connection is lost".to_owned() };
        Answer { failure: Some(failure), ..Answer::default() }
    })
}

/// Returns what is compared of an answer.
fn compared(answer: &Answer, is_ordered: bool) -> String {
    if let Some(failure) = &answer.failure {
        return format!("{} {}", failure.code, failure.message);
    }
    // Types that a server has made have numbers of its own.
    let columns: Vec<_> =
        answer.described.iter().map(|column| format!("{}:{}", column.name, column.oid.min(16384))).collect();
    let mut rows: Vec<_> = answer.rows.iter().map(|row| format!("{row:?}")).collect();
    if !is_ordered {
        rows.sort();
    }
    format!("{} {}\n{}", answer.tags.join(","), columns.join(" "), rows.join("\n"))
}

/// The statements of a file, and how many of them were answered alike.
#[derive(Default)]
struct Count {
    all: usize,
    alike: usize,
    /// The statements whose answers differ in the message of an error alone.
    worded: usize,
}

impl Count {
    fn add(&mut self, other: &Count) {
        self.all += other.all;
        self.alike += other.alike;
        self.worded += other.worded;
    }
}

/// Sends the statements of a file to both servers, and writes down those that differ.
fn run_file(path: &Path, (ours, theirs): (SocketAddr, SocketAddr), report: &mut String) -> Count {
    let text = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let text = String::from_utf8_lossy(&text);
    let (mut hotrow, mut postgres) = (Client::connect(ours), Client::connect(theirs));
    hotrow.query(LIMIT);
    postgres.query(LIMIT);
    let (mut count, mut at) = (Count::default(), 0);
    while let Some(Statement { sql, end }) = next_statement(&text, at) {
        at = end;
        if is_left_out(&sql) {
            continue;
        }
        let (given, after) = data(&text, end);
        let expected = ask(&mut postgres, theirs, &sql, Some(given.as_bytes()));
        if expected.asked_for_data {
            at = after;
        }
        let answer = ask(&mut hotrow, ours, &sql, Some(given.as_bytes()));
        let is_ordered = sql.to_ascii_lowercase().contains("order by");
        let (said, wanted) = (compared(&answer, is_ordered), compared(&expected, is_ordered));
        count.all += 1;
        count.alike += usize::from(said == wanted);
        let states = [&answer, &expected].map(|answer| answer.failure.as_ref().map(|failure| &failure.code));
        count.worded += usize::from(said != wanted && states[0].is_some() && states[0] == states[1]);
        if said != wanted {
            writeln!(report, "-- {}\n{sql};\n-- Hotrow: {said:.600}\n-- PostgreSQL: {wanted:.600}\n", path.display())
                .expect("a string grows");
        }
    }
    count
}

/// Returns the files of a directory in the order in which they are sent.
fn files(directory: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap_or_else(|error| panic!("{directory}: {error}"));
    let mut files: Vec<_> = entries.map(|entry| entry.expect("the directory is read").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "sql"));
    let name = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    if let Ok(only) = env::var("HOTROW_REGRESS_ONLY") {
        files.retain(|path| only.split(',').any(|wanted| wanted == name(path)));
    }
    let place = |name: &str| FIRST.iter().position(|first| name.starts_with(first)).unwrap_or(FIRST.len());
    files.sort_by_key(|path| (place(&name(path)), name(path)));
    files
}

#[test]
fn the_share_of_answers_to_regress_files_that_are_alike() {
    let Ok(directory) = env::var("HOTROW_REGRESS_FILES") else { return };
    let postgres = match Postgres::find() {
        Ok(postgres) => postgres,
        Err(reason) => return eprintln!("{reason}: passed over"),
    };
    let engine = env::var("HOTROW_DIFFERENTIAL_ENGINE").unwrap_or_else(|_| "ilock".to_owned());
    let server = Running::new(&engine);
    let (mut report, mut total, mut own) = (String::new(), Count::default(), Count::default());
    let share = |count: &Count| 100 * count.alike / count.all.max(1);
    let is_about_others = |name: &str| ABOUT_OTHERS.iter().any(|(_, files)| files.contains(&name));
    for path in files(&directory) {
        let count = run_file(&path, (server.address, postgres.address), &mut report);
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        eprintln!("{name:30} {:6} of {:6} alike, {:3} %", count.alike, count.all, share(&count));
        total.add(&count);
        if !is_about_others(&name) {
            own.add(&count);
        }
    }
    for (name, count) in [("all", &total), ("without files about what is not there", &own)] {
        let (alike, all, share, worded) = (count.alike, count.all, share(count), count.worded);
        eprintln!("{name}: {alike} of {all} alike, {share} %; {worded} more differ in the message of an error alone");
    }
    if let Ok(file) = env::var("HOTROW_REGRESS_REPORT") {
        fs::write(&file, report).unwrap_or_else(|error| panic!("{file}: {error}"));
    }
    assert!(total.all > 0, "{directory} has statements");
}

#[test]
fn regress_files_are_split_as_psql_splits_them() {
    let text = "-- one; two\nselect 1; select ';', E'\\';', \"a;\", $x$;$x$ /* ; /* */ ; */;\n\\set x 1\nselect 2 \\gset\n\
        create rule r as do (select 3; select 4);\n\
        create function f() begin atomic select case 1 when 1 then 2 end; select 5; end;\ncopy t from stdin;\n1;\n\\.\nselect 6\\;select 7;";
    let (mut at, mut found) = (0, Vec::new());
    while let Some(Statement { sql, end }) = next_statement(text, at) {
        at = end;
        if sql.starts_with("copy") {
            let (given, after) = data(text, end);
            assert_eq!(given, "1;\n");
            at = after;
        }
        found.push(sql);
    }
    let expected = [
        "select 1",
        "select ';', E'\\';', \"a;\", $x$;$x$ /* ; /* */ ; */",
        "select 2",
        "create rule r as do (select 3; select 4)",
        "create function f() begin atomic select case 1 when 1 then 2 end; select 5; end",
        "copy t from stdin",
        "select 6;select 7",
    ];
    assert_eq!(found, expected);
    assert!(is_left_out("select :'x'") && is_left_out("Explain select 1") && !is_left_out("select 1::int"));
}
