//! Tests that the syntax and the plan of a text need no more memory than is set aside for the text.

mod allocator;
mod common;

use allocator::most_bytes;
use hotrow_sql::reading_bytes;

/// Statements of very many tokens, each with the part that it repeats.
fn long_statements() -> Vec<(&'static str, String)> {
    let many = |piece: &str, between: &str| vec![piece; 3000].join(between);
    vec![
        ("rows of numbers", format!("insert into t values {}", many("(1, 2, 'x')", ","))),
        ("rows of one number", format!("values {}", many("(1)", ","))),
        ("negative numbers", format!("values {}", many("(-1)", ","))),
        ("parameters", format!("select * from t where id in ({})", many("$1", ","))),
        ("columns", format!("select {} from t", vec!["id"; 1600].join(","))),
        ("aliases", format!("select {} from t", vec!["id a"; 1600].join(","))),
        ("calls", format!("select {} from t", vec!["lower(name)"; 1600].join(","))),
        ("casts", format!("select {} from t", vec!["id::int8"; 1600].join(","))),
        ("conditions", format!("select id from t where {}", vec!["id=n"; 600].join(" and "))),
        ("a list", format!("select id from t where id in ({})", many("7", ","))),
        ("a list of texts", format!("select id from t where name in ({})", many("'x'", ","))),
        ("a list of columns", format!("select id from t where id in ({})", many("n", ","))),
        ("a list of sums", format!("select id from t where id in ({})", many("n+1", ","))),
        ("coalesced", format!("select coalesce({}) from t", many("n", ","))),
        ("unions", vec!["select 1"; 150].join(" union all ")),
        (
            "joins",
            format!(
                "select 1 from t a {}",
                (0..60).map(|n| format!("join t t{n} on t{n}.n=a.id")).collect::<Vec<_>>().join(" ")
            ),
        ),
        ("more unions", vec!["select 1"; 75].join(" union all ")),
        ("values in unions", vec!["values (1)"; 150].join(" union all ")),
        ("cases", format!("select {} from t", vec!["case id when 1 then 2 end"; 800].join(","))),
        ("subqueries", format!("select {}", vec!["(select 1)"; 800].join(","))),
        ("tables", format!("select 1 from {}", (0..60).map(|n| format!("t t{n}")).collect::<Vec<_>>().join(","))),
        (
            "column definitions",
            format!("create table w ({})", (0..1500).map(|n| format!("c{n} int")).collect::<Vec<_>>().join(",")),
        ),
    ]
}

/// Query strings of very many statements.
fn query_strings() -> Vec<(&'static str, String)> {
    vec![
        ("queries", vec!["select 1"; 1000].join(";")),
        ("updates", vec!["update t set n=1 where id=2"; 1000].join(";")),
        ("commits", vec!["commit"; 1000].join(";")),
        ("inserts", vec!["insert into t values (1,2,'x')"; 1000].join(";")),
    ]
}

#[test]
fn what_is_set_aside_for_a_text_is_enough() {
    let database = common::database("ilock");
    let mut session = common::session(&database);
    common::run(&mut session, "create table t (id int primary key, n int, name text)");
    for (what, sql) in long_statements() {
        session.parse("", "select 1", &[]).expect("a statement");
        check(what, &sql, || {
            session.parse("", &sql, &[]).unwrap_or_else(|error| panic!("{what}: {error:?}"));
        });
    }
    for (what, sql) in query_strings() {
        let sql = format!("begin; {sql}; select 1/0");
        let mut recorder = common::Recorder::default();
        check(what, &sql, || {
            session.simple_query(&sql, &mut recorder).expect_err(what);
        });
        session.simple_query("rollback", &mut recorder).expect("an end");
    }
}

fn check(what: &str, sql: &str, work: impl FnOnce()) {
    let (most, set_aside) = (most_bytes(work), reading_bytes(sql).expect("tokens"));
    assert!(most <= set_aside, "{what}: {most} bytes, {set_aside} are set aside");
}
