//! EXISTS, IN and their opposites by hash tables: what they say is what counting matches row by row says.

mod common;

use common::{ENGINES, check, database, outcome, query, run, session};

/// No column that is compared has an index; some are NULL.
const TABLES: &str = "create table p (id int primary key, x int, y int8, c char(4));
    create table q (x int, y int, z int, c char(4)); create table r (k int, w int);
    insert into p select i, nullif(i % 7, 3), nullif(i % 5, 2), nullif(substr('abcab', i % 5 + 1, i % 3), '') from generate_series(1, 40) i;
    insert into q select nullif(i % 9, 4), nullif(i % 4, 1), i % 3, nullif(substr('bcabc', i % 4 + 1, i % 3), '')
        from generate_series(1, 30) i where i % 9 <> 6;
    insert into r select i, i % 4 from generate_series(1, 4) i;";

/// FROM and WHERE of queries that look at a row of `p`.
const MATCHES: &[&str] = &[
    "q where q.x = p.x",
    "q where p.y = q.x and q.z > 0",
    "q where q.x = p.x and q.y = p.y",
    "q where q.x = p.x and q.y > p.y",
    "q where q.x = p.x and (q.y is null or q.y < p.id % 3)",
    "q where q.x + 1 = p.x - p.y",
    "q where q.c = p.c",
    "q where q.c = p.c and q.x <> p.x",
    "q where q.x = p.x and p.y is not null and q.z = 1",
    "q where q.x = p.x and q.z = 7",
    "q join r on r.k = q.z where r.w = p.x",
    "q left join r on r.k = q.z where q.x = p.x and r.w is null",
    "(select x, max(y) as y from q group by x) g where g.x = p.x and g.y <> p.y",
    "p o where o.x = p.x and o.id <> p.id",
    "q where q.x > p.x",
    "q where q.x = p.x and q.z in (select k from r)",
];

#[test]
fn exists_is_whether_there_is_a_match() {
    for engine in ENGINES {
        let database = database(engine);
        let mut session = session(&database);
        run(&mut session, TABLES);
        for matches in MATCHES {
            let exists = format!("exists (select 1 from {matches} limit 1)");
            let counted = format!("(select count(*) from {matches}) > 0");
            for form in [
                "select id from p where ? order by id",
                "select id from p where not ? order by id",
                "select id from p where (? or id % 5 = 0) and id > 3 order by id desc limit 7",
                "select id, ?, case when id > 5 then not ? end from p order by id",
                "select p.id, r.w from p join r on r.k = p.x where ? and not (r.w = 1 and ?) order by 1, 2",
                "select x, count(*) from p where not ? group by x having count(*) > 1 order by x",
            ] {
                let answer = outcome(&mut session, &form.replace('?', &exists));
                assert_eq!(answer, outcome(&mut session, &form.replace('?', &counted)), "{engine}: {form} {matches}");
            }
            let mut changed = |test: &str| {
                run(&mut session, "begin");
                let updated = outcome(&mut session, &format!("update p set y = 100 where not {test}"));
                let deleted = outcome(&mut session, &format!("delete from p where {test}"));
                let rows = outcome(&mut session, "select id, y from p order by id");
                run(&mut session, "rollback");
                (updated, deleted, rows)
            };
            assert_eq!(changed(&exists), changed(&counted), "{engine}: {matches}");
        }
    }
}

#[test]
fn in_is_true_false_or_unknown() {
    let database = database("serial");
    let mut session = session(&database);
    run(&mut session, TABLES);
    for (values, columns, equal) in [
        ("p.x", "q.x", "p.x = q.x"),
        ("p.x", "q.z", "p.x = q.z"),
        ("(p.x, p.y)", "q.x, q.y", "p.x = q.x and p.y = q.y"),
        ("(p.id % 4, p.y)", "q.z, q.y", "p.id % 4 = q.z and p.y = q.y"),
        ("p.c", "q.c", "p.c = q.c"),
    ] {
        for rows in [
            "q",
            "q where z = 9",
            "q where q.x is not null and q.y is not null and q.c is not null",
            "q where y is null",
        ] {
            let counted = format!(
                "(select case when count(*) filter (where {equal}) > 0 then true
                    when count(*) filter (where ({equal}) is null) > 0 then null else false end from {rows})"
            );
            let subquery = format!("select {columns} from {rows}");
            for form in ["select id, ? from p order by id", "select id from p where (?) is not true order by id"] {
                for (one, other) in [
                    (format!("{values} in ({subquery})"), counted.clone()),
                    (format!("{values} not in ({subquery})"), format!("not {counted}")),
                ] {
                    let answer = outcome(&mut session, &form.replace('?', &one));
                    assert_eq!(answer, outcome(&mut session, &form.replace('?', &other)), "{one}");
                }
            }
        }
    }
}

#[test]
fn explain_shows_semi_and_anti_joins() {
    let database = database("serial");
    let mut session = session(&database);
    run(&mut session, TABLES);
    run(&mut session, "create index r_k on r (k)");
    for (condition, expected) in [
        (
            "exists (select 1 from q where q.x = p.x)",
            &["Hash Semi Join", "  ->  Seq Scan on p", "  ->  Hash", "        ->  Seq Scan on q"][..],
        ),
        (
            "not exists (select 1 from q where q.x = p.x and q.z = 1 and q.y > p.y)",
            &[
                "Hash Anti Join",
                "  Join Filter: (#6 > #3)",
                "  ->  Seq Scan on p",
                "  ->  Hash",
                "        ->  Seq Scan on q",
                "              Filter: (z = 1)",
            ],
        ),
        (
            "p.id = 3 and exists (select 1 from q where q.x = p.x)",
            &[
                "Hash Semi Join",
                "  ->  Index Scan using p_pkey on p",
                "        Index Cond: (id = 3)",
                "  ->  Hash",
                "        ->  Seq Scan on q",
            ],
        ),
        (
            "id = 1 or exists (select 1 from q where q.x = p.x)",
            &["Materialize", "  Filter: ((#1 = 1) OR EXISTS(hashed SubPlan))", "  ->  Seq Scan on p"],
        ),
        (
            "x not in (select x from q)",
            &["Materialize", "  Filter: (NOT (#2 = ANY (hashed SubPlan)))", "  ->  Seq Scan on p"],
        ),
        // An index finds them, below a query in FROM and an outer join, too.
        (
            "exists (select 1 from (select k as v from r where w > 0) s where s.v = p.x)",
            &["Materialize", "  Filter: EXISTS(SubPlan)", "  ->  Seq Scan on p"],
        ),
        (
            "exists (select 1 from r left join q on q.x = r.w where r.k = p.x)",
            &["Materialize", "  Filter: EXISTS(SubPlan)", "  ->  Seq Scan on p"],
        ),
        (
            "exists (select 1 from r where r.k = p.x)",
            &["Materialize", "  Filter: EXISTS(SubPlan)", "  ->  Seq Scan on p"],
        ),
    ] {
        let lines = query(&mut session, &format!("explain select * from p where {condition}")).0.rows;
        assert_eq!(lines, expected, "{condition}");
    }
}

#[test]
fn recursive_terms_are_checked_as_in_postgresql() {
    let with = |name: &str, step: &str| {
        format!("with recursive {name} as (select 1 as n union all {step}) select * from {name} limit 3")
    };
    let database = database("serial");
    let mut session = session(&database);
    run(&mut session, TABLES);
    let refer = "recursive reference to query \"w\" must not appear";
    for (step, state, message) in [
        (
            "select n + 1 from w for update",
            "0A000",
            "FOR UPDATE/SHARE in a recursive query is not implemented".to_owned(),
        ),
        ("select n + 1 from w order by 1", "0A000", "ORDER BY in a recursive query is not implemented".to_owned()),
        ("select n + 1 from w offset 1", "0A000", "OFFSET in a recursive query is not implemented".to_owned()),
        ("select n + 1 from w limit 1", "0A000", "LIMIT in a recursive query is not implemented".to_owned()),
        (
            "select max(n) + 1 from w",
            "42P19",
            "aggregate functions are not allowed in a recursive query's recursive term".to_owned(),
        ),
        (
            "select 1 from w having count(*) > 0",
            "42P19",
            "aggregate functions are not allowed in a recursive query's recursive term".to_owned(),
        ),
        ("select n from r left join w on w.n = r.k", "42P19", format!("{refer} within an outer join")),
        ("select n from w right join r on w.n = r.k", "42P19", format!("{refer} within an outer join")),
        ("select n from w full join r on w.n = r.k", "42P19", format!("{refer} within an outer join")),
        ("select n from r left join (q join w on w.n = q.x) on true", "42P19", format!("{refer} within an outer join")),
        ("select k from r where k in (select n from w)", "42P19", format!("{refer} within a subquery")),
        ("select w.n from w, w v", "42P19", format!("{refer} more than once")),
        ("(select n from w intersect all select k from r)", "42P19", format!("{refer} within INTERSECT")),
        ("(select k from r except select n from w)", "42P19", format!("{refer} within EXCEPT")),
        ("(select n from w except all select k from r)", "42P19", format!("{refer} within EXCEPT")),
    ] {
        let error = common::error(&mut session, &with("w", step));
        assert_eq!((error.state.as_str(), error.message), (state, message), "{step}");
    }
    for (step, rows) in [
        ("select n + 1 from w left join r on w.n = r.k where n < 3", "1 2 3"),
        ("select n + 1 from r right join w on w.n = r.k where n < 3", "1 2 3"),
        ("(select n + 1 from w where n < 3 intersect select k from r)", "1 2 3"),
        ("(select n + 1 from w where n < 3 except select k from r where k = 3)", "1 2"),
        ("select n + 1 from w where n < 3 group by n", "1 2 3"),
        ("select n + 1 from (select n from w) v where n < 3", "1 2 3"),
        ("select distinct n + (select count(*)::int from r) from w where n < 9", "1 5 9"),
    ] {
        assert_eq!(outcome(&mut session, &with("w", step)), rows, "{step}");
    }
}

#[test]
fn many_rows_are_inserted_and_deleted_at_once() {
    for engine in ["2pl-ordered", "2pl-atomic", "vll", "vll-sca"] {
        let database = database(engine);
        let mut session = session(&database);
        run(&mut session, "create table s (k int primary key, v int); create table t (k int primary key, v int)");
        run(
            &mut session,
            "create index t_v on t (v); create table plain (v int, w int); create index plain_v on plain (v)",
        );
        run(&mut session, "insert into s select i, i % 100 from generate_series(1, 8000) i");
        assert_eq!(outcome(&mut session, "insert into t select * from s"), "INSERT 0 8000", "{engine}");
        assert_eq!(outcome(&mut session, "insert into plain select v, k from s"), "INSERT 0 8000", "{engine}");
        assert_eq!(outcome(&mut session, "insert into t select k, v from s where k > 7999"), "23505", "{engine}");
        assert_eq!(outcome(&mut session, "update t set v = v + 1 where k % 2 = 0"), "UPDATE 4000", "{engine}");
        assert_eq!(outcome(&mut session, "delete from t where k % 2 = 1"), "DELETE 4000", "{engine}");
        assert_eq!(outcome(&mut session, "select count(*), sum(v) from t where v >= 0"), "4000|200000", "{engine}");
        assert_eq!(outcome(&mut session, "select count(*), sum(w) from plain where v = 5"), "80|316400", "{engine}");
        assert_eq!(outcome(&mut session, "delete from plain"), "DELETE 8000", "{engine}");
    }
}

#[test]
fn a_hash_table_looks_at_the_rows_of_the_moment() {
    check(
        TABLES,
        &[
            ("update q set z = z where exists (select 1 from p where p.x = q.x); select count(*) > 0 from q", "t"),
            ("delete from q where not exists (select 1 from p where p.x = q.x)", "DELETE 13"),
            ("select count(*) from q where not exists (select 1 from p where p.x = q.x)", "0"),
            (
                "prepare e as select count(*) from p where exists (select 1 from q where q.x = p.x and q.z <> $1)",
                "PREPARE",
            ),
            ("execute e(100)", "23"),
            ("delete from q; execute e(100)", "0"),
        ],
    );
}
