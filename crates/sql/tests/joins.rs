//! Joins: what PostgreSQL answers, and what nested loops over all rows would.

mod common;

use common::{MATCHING, check, database, error, outcome, query, run, session};
use hotrow_storage::mix;

#[test]
fn joins_have_postgresqls_rows() {
    check(
        MATCHING,
        &[
            ("select a.id, b.id from a, b where a.id = b.a_id order by 1, 2", "1|1 1|2 2|3"),
            ("select a.id, b.id from a join b on a.id = b.a_id order by 1, 2", "1|1 1|2 2|3"),
            ("select a.id, b.id from a left join b on a.id = b.a_id order by 1, 2", "1|1 1|2 2|3 3|NULL 4|NULL"),
            ("select a.id, b.id from a right join b on a.id = b.a_id order by 2, 1", "1|1 1|2 2|3 NULL|4 NULL|5"),
            (
                "select a.id, b.id from a full join b on a.id = b.a_id order by 1, 2",
                "1|1 1|2 2|3 3|NULL 4|NULL NULL|4 NULL|5",
            ),
            ("select a.id, b.id from a cross join b order by 1, 2 limit 3", "1|1 1|2 1|3"),
            (
                "select * from a join b using (id) order by id",
                "1|10|one|1|5|ab 2|20|two|1|6|cd 3|NULL|three|2|7|NULL 4|20|NULL|NULL|8|ef",
            ),
            (
                "select * from a natural join b order by id",
                "1|10|one|1|5|ab 2|20|two|1|6|cd 3|NULL|three|2|7|NULL 4|20|NULL|NULL|8|ef",
            ),
            (
                "select * from a full join b using (id) order by id",
                "1|10|one|1|5|ab 2|20|two|1|6|cd 3|NULL|three|2|7|NULL 4|20|NULL|NULL|8|ef 5|NULL|NULL|9|9|gh",
            ),
            (
                "select a.id, b.id from a left join b on a.id = b.a_id and b.n > 5 order by 1, 2",
                "1|2 2|3 3|NULL 4|NULL",
            ),
            ("select a.id, b.id from a left join b on a.id = b.a_id where b.n > 5 order by 1, 2", "1|2 2|3"),
            ("select a.id, b.id from a left join b on a.id = b.a_id where b.id is null order by 1, 2", "3|NULL 4|NULL"),
            (
                "select a.id, b.id from a left join b on a.id = b.a_id and a.g = 10 order by 1, 2",
                "1|1 1|2 2|NULL 3|NULL 4|NULL",
            ),
            ("select x.id, y.id from a x, a y where x.g = y.g order by 1, 2", "1|1 2|2 2|4 4|2 4|4"),
            (
                "select a.id, b.id, c.y from a left join (b join c on b.id = c.x) on a.id = b.a_id order by 1, 2, 3",
                "1|1|1 1|1|2 1|2|1 2|3|5 3|NULL|NULL 4|NULL|NULL",
            ),
            ("select id from a, b", "42702"),
            ("select a.zzz from a, b", "42703"),
            ("select q.id from a, b", "42P01"),
            ("select a.id from a x", "42P01"),
            ("select * from a, a", "42712"),
            ("select * from a join b using (nope)", "42703"),
            ("select * from a join b on a.id = b.a_id join c using (id)", "42702"),
        ],
    );
}

#[test]
fn other_joins_are_refused() {
    check(
        MATCHING,
        &[
            ("select a.id from a join b on a.id = b.id for update of zzz", "42P01"),
            ("select a.id from a left join b on a.id = b.id for update", "0A000"),
            ("select a.id from a left join b on a.id = b.id order by 1 for update of a", "1 2 3 4"),
            ("select * from nope join a on true", "42P01"),
            ("select * from a join b on 1", "42804"),
            ("select x.* from a", "42P01"),
            ("select a.id from a x", "42P01"),
            ("select x.id from (a join c on a.id = c.x) as x order by 1", "1 1 2 3"),
            ("select count(*) from a, b, c where a.id = b.a_id and b.id = c.x", "4"),
        ],
    );
}

#[test]
fn rows_are_changed_by_other_rows() {
    check(
        MATCHING,
        &[
            ("update a set t = b.c from b where b.a_id = a.id and b.id = 3", "UPDATE 1"),
            ("select * from a order by id", "1|10|one 2|20|NULL 3|NULL|three 4|20|NULL"),
            ("update a set g = (select count(*) from b where b.a_id = a.id)", "UPDATE 4"),
            ("select * from a order by id", "1|2|one 2|1|NULL 3|0|three 4|0|NULL"),
            (
                "update b set n = n + a.g from a where a.id = b.a_id returning b.id, b.n, a.t",
                "1|7|one 2|8|one 3|8|NULL",
            ),
            ("update a set id = a.id + 100 from c where c.x = a.id and c.y = 5 returning a.id, c.y", "103|5"),
            ("delete from b using a where a.id = b.a_id and a.g = 1 returning b.id, a.id, a.g", "3|2|1"),
            ("delete from b where id in (select id from b order by id limit 1) returning id", "1"),
            ("delete from b where n > (select avg(n) from b) returning id", "5"),
            ("insert into c select a.id, b.id + 100 from a, b where a.id < 3 order by 1, 2", "INSERT 0 4"),
            ("select * from c order by 1, 2", "1|1 1|2 1|102 1|104 2|1 2|102 2|104 3|5"),
            ("insert into c values ((select max(x) from c) + 1, 7) returning *", "4|7"),
            ("insert into c (y, x) select 1, null", "23502"),
            ("insert into a select 50, null, 'z' union select '51', 7, null", "INSERT 0 2"),
            ("select * from a where id >= 50 order by id", "50|NULL|z 51|7|NULL 103|0|three"),
        ],
    );
}

/// A row of the generated tables: `id`, `k`, `v`.
type Row = [Option<i64>; 3];

/// Rows that look random, with NULLs among their small values.
fn rows(seed: u64, count: u64) -> Vec<Row> {
    let value = |at: u64| {
        let word = mix(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ at);
        (!word.is_multiple_of(5)).then_some((word >> 8) as i64 % 6)
    };
    (0..count).map(|id| [Some(id as i64), value(id * 2), value(id * 2 + 1)]).collect()
}

fn values(rows: &[Row]) -> String {
    let show = |value: &Option<i64>| value.map_or("null".to_owned(), |value| value.to_string());
    let row = |row: &Row| format!("({})", row.iter().map(show).collect::<Vec<_>>().join(", "));
    rows.iter().map(row).collect::<Vec<_>>().join(", ")
}

/// The pairs of a join by nested loops over all rows; `None` for the side that an outer join makes up.
fn model(left: &[Row], right: &[Row], kind: &str, on: fn(&Row, &Row) -> bool) -> Vec<String> {
    let mut pairs: Vec<(Option<i64>, Option<i64>)> = Vec::new();
    for one in left {
        pairs.extend(right.iter().filter(|other| on(one, other)).map(|other| (one[0], other[0])));
        if matches!(kind, "left" | "full") && !right.iter().any(|other| on(one, other)) {
            pairs.push((one[0], None));
        }
    }
    if matches!(kind, "right" | "full") {
        let lonely = right.iter().filter(|other| !left.iter().any(|one| on(one, other)));
        pairs.extend(lonely.map(|other| (None, other[0])));
    }
    // NULLs last.
    pairs.sort_by_key(|(one, other)| (one.unwrap_or(i64::MAX), other.unwrap_or(i64::MAX)));
    let show = |value: Option<i64>| value.map_or("NULL".to_owned(), |value| value.to_string());
    pairs.into_iter().map(|(one, other)| format!("{}|{}", show(one), show(other))).collect()
}

fn equal(one: Option<i64>, other: Option<i64>) -> bool {
    one.is_some() && one == other
}

#[test]
fn every_kind_of_join_has_the_rows_of_a_nested_loop() {
    type Condition = (&'static str, fn(&Row, &Row) -> bool);
    let conditions: [Condition; 8] = [
        ("l.k = r.k", |l, r| equal(l[1], r[1])),
        ("l.k = r.id", |l, r| equal(l[1], r[0])),
        ("l.id = r.id and l.v < r.v", |l, r| {
            equal(l[0], r[0]) && matches!((l[2], r[2]), (Some(one), Some(other)) if one < other)
        }),
        ("l.k < r.k", |l, r| matches!((l[1], r[1]), (Some(one), Some(other)) if one < other)),
        ("l.k = r.k and l.v = 3", |l, r| equal(l[1], r[1]) && l[2] == Some(3)),
        ("l.k = r.k and r.v = 3", |l, r| equal(l[1], r[1]) && r[2] == Some(3)),
        ("l.k is not distinct from r.k", |l, r| l[1] == r[1]),
        ("true", |_, _| true),
    ];
    let indexes = ["", "create index on r (k)", "create index on l (k); create index on r (k, v)"];
    for engine in ["serial", "2pl-timeout", "hier", "mvo"] {
        for (seed, index) in indexes.iter().enumerate() {
            let database = database(engine);
            let mut session = session(&database);
            run(&mut session, "create table l (id int primary key, k int, v int)");
            run(&mut session, "create table r (id int8 primary key, k int8, v int2)");
            let (left, right) = (rows(seed as u64, 14), rows(seed as u64 + 100, 11));
            run(&mut session, &format!("insert into l values {}", values(&left)));
            run(&mut session, &format!("insert into r values {}", values(&right)));
            if !index.is_empty() {
                run(&mut session, index);
            }
            for (condition, on) in conditions {
                for kind in ["inner", "left", "right", "full"] {
                    let sql = format!("select l.id, r.id from l {kind} join r on {condition} order by 1, 2");
                    let (answer, result) = query(&mut session, &sql);
                    assert_eq!(result, Ok(()), "{sql}");
                    assert_eq!(answer.rows, model(&left, &right, kind, on), "{engine}, {index}: {sql}");
                }
            }
        }
    }
}

#[test]
fn rows_that_are_joined_for_update_are_locked() {
    for engine in ["2pl-timeout", "hier", "sli", "ilock", "1v"] {
        let database = database(engine);
        let (mut one, mut other) = (session(&database), session(&database));
        run(&mut one, MATCHING);
        run(&mut one, "begin; select a.id from a join b on b.a_id = a.id where a.id = 2 for update of b");
        run(&mut other, "set lock_timeout = '20ms'");
        assert_eq!(outcome(&mut other, "update b set n = 0 where id = 3"), "55P03", "{engine}");
        assert_eq!(outcome(&mut other, "update a set g = 0 where id = 1"), "UPDATE 1", "{engine}");
        // What the engine says to a subquery is what it says to a statement. Hierarchies let others read such rows.
        let reads = if matches!(engine, "hier" | "sli") { "UPDATE 1" } else { "55P03" };
        let reader = "update a set g = (select n from b where id = 3) where id = 1";
        assert_eq!(outcome(&mut other, reader), reads, "{engine}");
        run(&mut one, "commit");
        assert_eq!(outcome(&mut other, reader), "UPDATE 1", "{engine}");
    }
}

#[test]
fn a_join_by_keys_looks_rows_up() {
    let database = database("serial");
    let mut session = session(&database);
    run(&mut session, MATCHING);
    let lines = |sql: &str, session: &mut _| query(session, &format!("explain {sql}")).0.rows;
    assert_eq!(
        lines("select count(distinct a.g) from b, a where b.a_id = 1 and a.id = b.n", &mut session),
        [
            "Aggregate",
            "  ->  Nested Loop",
            "        ->  Index Scan using b_a on b",
            "              Index Cond: (a_id = 1)",
            "              Filter: (a_id = 1)",
            "        ->  Index Scan using a_pkey on a",
            "              Index Cond: (id = $1.1)",
        ]
    );
    assert_eq!(
        lines("select 1 from a join b on a.g = b.n where a.id in (select x from c)", &mut session)[..2],
        ["Hash Join", "  ->  Nested Loop"]
    );
    assert_eq!(
        lines("select * from (select g, t, id as k from a where g > 1) d where k = 3", &mut session),
        ["Index Scan using a_pkey on a", "  Index Cond: (id = 3)", "  Filter: (g > 1)"]
    );
    assert_eq!(
        lines("with w as (select g, count(*) from a group by g) select * from w where g = 20", &mut session)[1..],
        ["  ->  Seq Scan on a", "        Filter: (g = 20)"]
    );
    run(&mut session, "create table k (a int, b int, v int, primary key (a, b))");
    let ranged = "select * from (select * from k where a = 1 and b > 2) d where b <= 5 and b < 9 and v = 3";
    assert_eq!(
        lines(ranged, &mut session),
        [
            "Index Scan using k_pkey on k",
            "  Index Cond: ((a = 1) AND (b > 2) AND (b <= 5) AND (b < 9))",
            "  Filter: (v = 3)"
        ]
    );
    let wrong = error(&mut session, "select a.id from a x");
    assert_eq!(wrong.hint.as_deref(), Some("Perhaps you meant to reference the table alias \"x\"."));
    assert_eq!(wrong.position, Some(8));
}

#[test]
fn row_counts_decide_in_which_order_tables_are_joined() {
    for engine in ["serial", "2pl-timeout", "mvo", "vll"] {
        let database = database(engine);
        let mut session = session(&database);
        run(&mut session, "create table p (id int primary key, q int); create table q (id int primary key, p int)");
        run(&mut session, "create index p_q on p (q); create index q_p on q (p)");
        run(&mut session, "prepare joined as select count(*) from p join q on q.p = p.id and p.q = q.id");
        let first = |session: &mut _| {
            let lines = query(session, "explain select count(*) from p join q on q.p = p.id and p.q = q.id").0.rows;
            lines.into_iter().find_map(|line| line.split_once("Seq Scan on ").map(|(_, table)| table.to_owned()))
        };
        run(&mut session, "insert into p select i, i from generate_series(1, 3) i");
        run(&mut session, "insert into q select i, i from generate_series(1, 300) i");
        assert_eq!(first(&mut session).as_deref(), Some("p"), "{engine}");
        assert_eq!(outcome(&mut session, "execute joined"), "3", "{engine}");
        run(&mut session, "insert into p select i, i from generate_series(4, 3000) i");
        assert_eq!(first(&mut session).as_deref(), Some("q"), "{engine}");
        // What was planned before goes on with what there is now, the first time and later.
        for _ in 0..2 {
            assert_eq!(outcome(&mut session, "execute joined"), "300", "{engine}");
            assert_eq!(outcome(&mut session, "select count(*) from p join q on q.p = p.id and p.q = q.id"), "300");
        }
        run(&mut session, "begin; alter table q add column r int; execute joined; rollback");
        assert_eq!(outcome(&mut session, "execute joined"), "300", "{engine}");
        run(&mut session, "truncate p");
        assert_eq!(first(&mut session).as_deref(), Some("p"), "{engine}");
        assert_eq!(outcome(&mut session, "execute joined"), "0", "{engine}");
    }
}
