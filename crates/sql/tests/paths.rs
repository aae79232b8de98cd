//! Ways to a table's rows: what an index serves, and that it finds what walking the whole table would.

mod common;

use common::{ENGINES, bind, database, execute, outcome, query, run, session};
use hotrow_sql::Session;
use hotrow_storage::{Value, mix};

/// Tables with the same rows; `plain` has no index that a condition could be served by.
const TABLES: &str = "create table t (a int, b int, c int, d int, e text, primary key (a, b));
    create index t_c on t (c, d); create index t_d on t (d); create index t_e on t (e);
    create table plain (a int, b int, c int, d int, e text);";

/// The rows of both tables, in which small numbers meet often and some are NULL.
fn fill(session: &mut Session) {
    run(session, TABLES);
    run(
        session,
        "insert into t select i / 8, i % 8, nullif(i % 5, 4), nullif(i * 7 % 11, 3), substr('abcabdaab', i % 7 + 1, i % 4)
         from generate_series(0, 63) i; insert into plain select * from t",
    );
}

/// Numbers that follow from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = mix(self.0.wrapping_add(0x9E37_79B9_7F4A_7C15));
        self.0 % limit
    }

    fn pick<'p>(&mut self, list: &[&'p str]) -> &'p str {
        list[self.below(list.len() as u64) as usize]
    }

    fn number(&mut self) -> String {
        match self.below(12) {
            0 => "NULL::int".to_owned(),
            1 => "3000000000".to_owned(),
            2 => "-5".to_owned(),
            _ => self.below(9).to_string(),
        }
    }

    fn numbers(&mut self) -> String {
        (0..self.below(4) + 1).map(|_| self.number()).collect::<Vec<_>>().join(", ")
    }

    /// A condition on one column, or on two as a row.
    fn atom(&mut self) -> String {
        let column = self.pick(&["a", "a", "b", "b", "c", "d"]);
        let (x, y) = (self.number(), self.number());
        match self.below(12) {
            0..=2 => format!("{column} = {x}"),
            3 => format!("{column} {} {x}", self.pick(&["<", "<=", ">", ">=", "<>"])),
            4 => format!("{column} BETWEEN {x} AND {y}"),
            5 => format!("{column} NOT BETWEEN {x} AND {y}"),
            6 => format!("{column} IN ({})", self.numbers()),
            7 => format!("{column} = ANY (ARRAY[{}]::int8[])", self.numbers()),
            8 => format!(
                "{} {} ({x}, {y})",
                self.pick(&["(a, b)", "(c, d)", "(b, a)"]),
                self.pick(&["<", ">", ">=", "="])
            ),
            9 => {
                let rows: Vec<_> =
                    (0..self.below(4) + 1).map(|_| format!("({}, {})", self.number(), self.number())).collect();
                format!("{} IN ({})", self.pick(&["(a, b)", "(c, d)", "(b, c)"]), rows.join(", "))
            }
            10 => format!("{column} IS {}NULL", self.pick(&["", "NOT "])),
            _ => format!(
                "e {}LIKE '{}'",
                self.pick(&["", "", "NOT "]),
                self.pick(&["a%", "ab%", "abc", "b_", "%b", "c%a", ""])
            ),
        }
    }

    fn condition(&mut self, depth: u64) -> String {
        match self.below(6) {
            _ if depth == 0 => self.atom(),
            0 => self.atom(),
            1 => format!("NOT ({})", self.condition(depth - 1)),
            2 | 3 => format!("({} AND {})", self.condition(depth - 1), self.condition(depth - 1)),
            _ => format!("({} OR {})", self.condition(depth - 1), self.condition(depth - 1)),
        }
    }
}

#[test]
fn any_condition_finds_the_rows_that_a_walk_over_all_finds() {
    for (number, engine) in ENGINES.into_iter().enumerate() {
        let database = database(engine);
        let mut session = session(&database);
        fill(&mut session);
        let mut random = Random(number as u64);
        for _ in 0..250 {
            let condition = random.condition(3);
            let order = random.pick(&["a, b", "a DESC, b DESC", "b, a", "c, d, a, b", "d DESC, a, b", "a, b LIMIT 5"]);
            let columns = "a, b, c, d, e";
            let rows = |session: &mut Session, table: &str| {
                outcome(session, &format!("SELECT {columns} FROM {table} WHERE {condition} ORDER BY {order}"))
            };
            assert_eq!(rows(&mut session, "t"), rows(&mut session, "plain"), "{engine}: {condition} ORDER BY {order}");
            let change = match random.below(3) {
                0 => format!("DELETE FROM * WHERE {condition}"),
                1 => format!("UPDATE * SET c = c + 1, d = d - c WHERE {condition}"),
                _ => format!("UPDATE * SET b = b + 100 WHERE {condition}"),
            };
            let mut changed = |table: &str| {
                let tag = outcome(&mut session, &format!("BEGIN; {}", change.replace('*', table)));
                let rows = outcome(&mut session, &format!("SELECT {columns} FROM {table} ORDER BY a, b"));
                run(&mut session, "ROLLBACK");
                (tag, rows)
            };
            assert_eq!(changed("t"), changed("plain"), "{engine}: {change}");
        }
    }
}

#[test]
fn the_least_and_the_greatest_value_are_at_an_end_of_an_index() {
    for engine in ENGINES {
        let database = database(engine);
        let mut session = session(&database);
        fill(&mut session);
        for column in ["a", "b", "c", "d", "e"] {
            for condition in
                ["true", "a = 3", "a > 2 and b < 5", "c = 1", "d is null", "c is null", "a > 100", "e like 'a%'"]
            {
                let rows = |session: &mut Session, table: &str| {
                    let columns = ["min", "max"].map(|function| {
                        outcome(session, &format!("select {function}({column}) from {table} where {condition}"))
                    });
                    columns.join(" ")
                };
                assert_eq!(
                    rows(&mut session, "t"),
                    rows(&mut session, "plain"),
                    "{engine}: {column} where {condition}"
                );
            }
        }
        assert_eq!(
            plan(&mut session, "select min(d) from t"),
            "Aggregate; ->  Limit; ->  Index Scan using t_d on t",
            "{engine}"
        );
        assert_eq!(
            plan(&mut session, "select max(d) from t where c = 1"),
            "Aggregate; ->  Limit; ->  Index Scan Backward using t_c on t; Index Cond: (c = 1); Filter: ((d IS NOT NULL) AND (c = 1))",
            "{engine}"
        );
    }
}

/// The plan of a query, as EXPLAIN shows it.
fn plan(session: &mut Session, sql: &str) -> String {
    let rows = query(session, &format!("explain {sql}")).0.rows;
    rows.iter().map(|line| line.trim_start()).collect::<Vec<_>>().join("; ")
}

#[test]
fn alternatives_are_ranges_of_an_index() {
    let database = database("serial");
    let mut session = session(&database);
    run(&mut session, TABLES);
    run(&mut session, "create table k (k int primary key, n int); create table h (x int8, y int, primary key (x, y))");
    for (condition, expected) in [
        (
            "t where (a, b) in ((1, 1), (1, 2))",
            "Index Scan using t_pkey on t; Index Cond: (((a = 1) AND (b = 1)) OR ((a = 1) AND (b = 2)))",
        ),
        ("t where (a, b) = (1, 1)", "Index Scan using t_pkey on t; Index Cond: ((a = 1) AND (b = 1))"),
        (
            "t where (a, b) > (1, 2) order by a, b limit 3",
            "Limit; ->  Index Scan using t_pkey on t; Index Cond: ((a > 1) OR ((a = 1) AND (b > 2)))",
        ),
        (
            "t where (a, b) < (1, 2) order by a desc, b desc limit 3",
            "Limit; ->  Index Scan Backward using t_pkey on t; Index Cond: ((a < 1) OR ((a = 1) AND (b < 2)))",
        ),
        (
            "k where k between 1 and 5 or k between 9 and 12 or k = 7",
            "Index Scan using k_pkey on k; Index Cond: (((k >= 1) AND (k <= 5)) OR ((k >= 9) AND (k <= 12)) OR (k = 7))",
        ),
        (
            "k where k = 1 or k = 2 and n > 5",
            "Index Scan using k_pkey on k; Index Cond: ((k = 1) OR (k = 2)); Filter: ((k = 1) OR ((k = 2) AND (n > 5)))",
        ),
        ("k where not (k < 5 or k > 9)", "Index Scan using k_pkey on k; Index Cond: ((k >= 5) AND (k <= 9))"),
        (
            "k where (k = 1 or k = 3) and k > 2",
            "Index Scan using k_pkey on k; Index Cond: ((k = 1) OR (k = 3)); Filter: (k > 2)",
        ),
        (
            "t where a = 3 and (b < 2 or b > 5) order by b",
            "Index Scan using t_pkey on t; Index Cond: (((a = 3) AND (b < 2)) OR ((a = 3) AND (b > 5)))",
        ),
        (
            "t where a in (1, 2) and b in (3, 4)",
            "Index Scan using t_pkey on t; Index Cond: ((a IN (1, 2)) AND (b IN (3, 4))); Filter: ((a IN (1, 2)) AND (b IN (3, 4)))",
        ),
        (
            "t where d = 1 or c = 2",
            "Index Scan using t_d, t_c on t; Index Cond: ((d = 1) OR (c = 2)); Filter: ((d = 1) OR (c = 2))",
        ),
        (
            "t where d = 1 or e = 'x' and b = 1",
            "Index Scan using t_d, t_e on t; Index Cond: ((d = 1) OR (e = 'x')); Filter: ((d = 1) OR ((e = 'x') AND (b = 1)))",
        ),
        ("t where d is null", "Index Scan using t_d on t; Index Cond: (d IS NULL); Filter: (d IS NULL)"),
        (
            "t where c is null and d > 3",
            "Index Scan using t_c on t; Index Cond: ((c IS NULL) AND (d > 3)); Filter: ((c IS NULL) AND (d > 3))",
        ),
        (
            "t where e like 'ab%'",
            "Index Scan using t_e on t; Index Cond: ((e >= 'ab') AND (e < 'ac')); Filter: (e ~~ 'ab%')",
        ),
        ("t where b = 1 or d = 2", "Seq Scan on t; Filter: ((b = 1) OR (d = 2))"),
        ("t where e like '%b'", "Seq Scan on t; Filter: (e ~~ '%b')"),
    ] {
        let sql = format!("select 1 from {condition}");
        assert_eq!(plan(&mut session, &sql), expected, "{sql}");
    }
    // No key follows one of all ones.
    run(&mut session, "insert into h values (1, 1), (9223372036854775807, 2147483647)");
    assert_eq!(outcome(&mut session, "select x from h where x > 9223372036854775807"), "");
    assert_eq!(outcome(&mut session, "select x from h where (x, y) > (9223372036854775807, 2147483647)"), "");
}

#[test]
fn lists_of_values_come_from_parameters() {
    for engine in ENGINES {
        let database = database(engine);
        let mut session = session(&database);
        fill(&mut session);
        let sql = "select a, b from t where (a, b) in (($1, $2), ($1, $3), ($4, 0)) or a = 7 and b > $2 order by a, b";
        let statement = session.parse("", sql, &[None; 4]).expect("a statement");
        for (values, expected) in [
            ([Some(1), Some(2), Some(3), Some(5)], "1|2 1|3 5|0 7|3 7|4 7|5 7|6 7|7"),
            ([Some(1), None, Some(3), Some(5)], "1|3 5|0"),
            ([Some(7), Some(6), Some(7), None], "7|6 7|7"),
            ([None, None, None, None], ""),
        ] {
            let values = values.map(|value| value.map_or(Value::Null, Value::Int4));
            bind(&mut session, &statement, &values).expect("values");
            let (recorder, result) = execute(&mut session, 0);
            result.expect("rows");
            assert_eq!(recorder.rows.join(" "), expected, "{engine}: {values:?}");
        }
    }
}

#[test]
fn at_serializable_a_range_of_rows_leaves_others_alone() {
    for engine in ["2pl-timeout", "ilock", "1v", "mvl"] {
        let database = database(engine);
        let (mut one, mut other) = (session(&database), session(&database));
        fill(&mut one);
        run(&mut other, "set lock_timeout = 100; set default_transaction_isolation = serializable");
        for condition in
            ["(a, b) in ((1, 1), (1, 2))", "a = 1 or a = 2 and b > 3", "(a, b) < (2, 2)", "a in (1, 2) and b in (1, 2)"]
        {
            run(&mut one, "begin isolation level serializable");
            run(&mut one, &format!("update t set c = 0 where {condition}"));
            assert_eq!(
                outcome(&mut other, "update t set c = 1 where a = 6 and b = 6"),
                "UPDATE 1",
                "{engine}: {condition}"
            );
            run(&mut one, "commit");
        }
    }
}

#[test]
fn a_boolean_column_alone_is_looked_for_in_an_index() {
    for engine in ENGINES {
        let database = database(engine);
        let mut session = session(&database);
        run(
            &mut session,
            "create table f (id int primary key, active bool); create index f_active on f (active);
             insert into f select i, nullif(i % 3, 2) = 1 from generate_series(0, 99) i",
        );
        let cases = [
            ("active", "33"),
            ("not active", "34"),
            ("active and id < 10", "3"),
            ("not (active or id > 5)", "2"),
            ("active or id = 0", "34"),
            ("active and not active", "0"),
        ];
        for (condition, expected) in cases {
            let sql = format!("select count(*) from f where {condition}");
            assert_eq!(outcome(&mut session, &sql), expected, "{engine}: {condition}");
        }
        for condition in ["active", "not active"] {
            let plan = query(&mut session, &format!("explain select * from f where {condition}")).0.rows.join("\n");
            assert!(plan.contains("f_active"), "{engine}: {condition}: {plan}");
        }
    }
}
