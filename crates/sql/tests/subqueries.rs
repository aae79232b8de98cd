//! Queries within queries: in expressions, in FROM, in WITH, side by side. What they answer is what PostgreSQL answers.

mod common;

use common::{MATCHING, check};

#[test]
fn subqueries_of_expressions_have_postgresqls_values() {
    check(
        MATCHING,
        &[
            ("select a.id, (select count(*) from b where b.a_id = a.id) from a order by 1", "1|2 2|1 3|0 4|0"),
            ("select a.id from a where exists (select 1 from b where b.a_id = a.id) order by 1", "1 2"),
            ("select a.id from a where not exists (select from b where b.a_id = a.id) order by 1", "3 4"),
            ("select a.id from a where id in (select a_id from b) order by 1", "1 2"),
            ("select a.id from a where id not in (select a_id from b) order by 1", ""),
            ("select a.id from a where id not in (select a_id from b where a_id is not null) order by 1", "3 4"),
            ("select a.id from a where id = (select max(a_id) from b where a_id < 5)", "2"),
            ("select a.id from a where id = (select id from b)", "21000"),
            ("select a.id from a where id = (select id, n from b)", "42601"),
            ("select id from a where id in (select id, n from b)", "42601"),
            ("select id from a where (id, g) in (select a_id, n + 5 from b) order by 1", "1"),
            ("select id from a where g > any (select n from b) order by 1", "1 2 4"),
            ("select id from a where g > all (select n + 3 from b) order by 1", "2 4"),
            ("select id from a where g <> all (select n from b) order by 1", "1 2 4"),
            ("select id from a where g = any (select n * 2 from b) order by 1", "1"),
            ("select (select 1), (select null), (select 'x'), exists(select 1 where false)", "1|NULL|x|f"),
            (
                "select case when id = 1 then (select t from a y where y.id = x.id) else 'no' end from a x order by id",
                "one no no no",
            ),
            ("select (select id from b where n = 100)", "NULL"),
            ("select * from a, (select * from b where b.a_id = a.id) s", "42P01"),
        ],
    );
}

#[test]
fn subqueries_in_from_have_postgresqls_rows() {
    check(
        MATCHING,
        &[
            ("select d.s from (select sum(n) as s, a_id from b group by a_id) d where d.a_id = 1", "11"),
            ("select d.q, d.id from (select id, t from a) as d (q) ", "42703"),
            ("select d.q, d.t from (select id, t from a) as d (q) where q = 2", "2|two"),
            ("select * from (values (1, 'x'), (2, 'y')) v (n, s) order by 1", "1|x 2|y"),
            ("select * from (select 1)", "42601"),
            ("select * from (values (1)) as v (a, b)", "42P10"),
            (
                "select a.id, l.m from a, lateral (select max(n) as m from b where b.a_id = a.id) l order by 1",
                "1|6 2|7 3|NULL 4|NULL",
            ),
            (
                "select a.id, l.n from a left join lateral (select n from b where b.a_id = a.id order by n desc limit 1) l on true order by 1",
                "1|6 2|7 3|NULL 4|NULL",
            ),
            (
                "select a.id, l.n from a cross join lateral (select n from b where b.a_id = a.id) l order by 1, 2",
                "1|5 1|6 2|7",
            ),
        ],
    );
}

#[test]
fn sets_of_rows_are_united_intersected_and_taken_away() {
    check(
        MATCHING,
        &[
            ("select 1 union select 2 union select 1 order by 1", "1 2"),
            ("select 1 union all select 1", "1 1"),
            ("select id from a intersect select a_id from b order by 1", "1 2"),
            ("select id from a except select a_id from b order by 1", "3 4"),
            ("select a_id from b except all select id from a order by 1", "1 9 NULL"),
            ("select g from a intersect all select g from a order by 1", "10 20 20 NULL"),
            ("select 1 union select 'a'", "22P02"),
            ("select 1 union select '2' order by 1", "1 2"),
            ("select null union select 2 order by 1", "2 NULL"),
            ("select 'x' union select null order by 1", "x NULL"),
            ("select 1, 2 union select 1", "42601"),
            ("select id from a union select t from a", "42804"),
            (
                "select id, t from a union select n, c from b order by t, id",
                "5|ab 6|cd 8|ef 9|gh 1|one 3|three 2|two 4|NULL 7|NULL",
            ),
            ("select id from a union select id from b order by id + 1", "0A000"),
            ("select id from a union select id from b order by nope", "42703"),
            (
                "(select id from a order by id desc limit 2) union all (select id from b order by id limit 1) order by 1",
                "1 3 4",
            ),
            ("select 1 union select 2 intersect select 2 order by 1", "1 2"),
            ("select 1::int2 union select 2.5 order by 1", "1 2.5"),
            ("values (3), (1), (2) order by 1", "1 2 3"),
            ("values (3, 'a'), (1, 'b') order by column2 desc limit 1", "1|b"),
        ],
    );
}

#[test]
fn queries_have_names_in_with() {
    check(
        MATCHING,
        &[
            ("with w as (select id, g from a where g = 20) select * from w order by id", "2|20 4|20"),
            (
                "with w as (select id, g from a) select x.id, y.id from w x join w y on x.g = y.g order by 1, 2",
                "1|1 2|2 2|4 4|2 4|4",
            ),
            ("with w (q) as (select 1), v as (select q + 1 as r from w) select q, r from w, v", "1|2"),
            ("with w as (select 1), w as (select 2) select 1", "42712"),
            ("with w (a, b) as (select 1) select * from w", "42P10"),
            (
                "with recursive r (n) as (select 1 union all select n + 1 from r where n < 5) select n from r order by n",
                "1 2 3 4 5",
            ),
            ("with recursive r (n) as (select 1 union select (n % 3) + 1 from r) select n from r order by n", "1 2 3"),
            ("with recursive r as (select n + 1 from r) select * from r", "42P19"),
            ("with recursive r (n) as (select n from r union all select 1) select * from r", "42P19"),
            (
                "with recursive r (n) as (select 1 union all select n + 1 from r where n in (select n from r)) select * from r",
                "42P19",
            ),
            ("with recursive r (n) as (select 1 union all select x.n from r x, r y) select * from r", "42P19"),
            ("with recursive r (n) as (select 1 union all select n + 1.5 from r where n < 5) select * from r", "42804"),
            ("with recursive r (n) as (select 1 union all select n + 1 from r) select n from r limit 4", "1 2 3 4"),
            (
                "with recursive tree (id, path) as (select id, t from a where id = 1 union all select b.id + 10, path || '/' || b.n from tree join b on b.a_id = tree.id) select * from tree order by id",
                "1|one 11|one/5 12|one/6",
            ),
        ],
    );
}

#[test]
fn groups_and_subqueries_go_together() {
    check(
        MATCHING,
        &[
            ("select sum(b.n), a.g from a join b on b.a_id = a.id group by a.g order by 2", "11|10 7|20"),
            (
                "select a.g, count(*) from a left join b on b.a_id = a.id group by a.g having count(*) > 1 order by 1",
                "10|2 20|2",
            ),
            ("select a.t, sum(n) from a join b on b.a_id = a.id group by a.g", "42803"),
            ("select g, (select count(*) from b where b.n = a.g) from a group by g order by 1", "10|0 20|0 NULL|0"),
            ("select g, (select count(*) from b where b.n = a.id) from a group by g order by 1", "42803"),
            ("select max((select n from b where b.id = a.id)) from a", "8"),
            ("select count(*) filter (where exists (select 1 from b where b.a_id = a.id)) from a", "2"),
            ("select distinct a.g from a join b on true order by 1", "10 20 NULL"),
        ],
    );
}
