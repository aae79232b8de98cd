//! ALTER TABLE: what becomes of the rows, of who else uses the table, and of the change when it is rolled back.

mod common;

use common::{ENGINES, check, database, outcome, query, run, session};

#[test]
fn columns_come_and_go() {
    check(
        "create table t (id int primary key, a int, b text); insert into t values (1, 10, 'x'), (2, 20, null)",
        &[
            ("alter table t add column c int default 7 not null, add d text", "ALTER TABLE"),
            ("select * from t order by id", "1|10|x|7|NULL 2|20|NULL|7|NULL"),
            ("alter table t add c int", "42701"),
            ("alter table t add column if not exists c int", "ALTER TABLE"),
            ("alter table t add e int not null", "23502"),
            ("alter table t add e serial unique check (e < 9)", "ALTER TABLE"),
            ("select id, e from t order by id", "1|1 2|2"),
            ("insert into t (id, a) values (3, 30) returning c, e", "7|3"),
            ("update t set e = 9 where id = 3", "23514"),
            ("update t set e = 1 where id = 3", "23505"),
            ("alter table t add f int check (f > 0) default 0", "23514"),
            ("alter table t add constraint low check (a < 100), add unique (a, e)", "ALTER TABLE"),
            ("create index t_b on t (b)", "CREATE INDEX"),
            ("alter table t drop column a", "ALTER TABLE"),
            ("select * from t where b = 'x'", "1|x|7|NULL|1"),
            (
                "explain select * from t where b = 'x'",
                "Index Scan using t_b on t   Index Cond: (b = 'x')   Filter: (b = 'x')",
            ),
            ("update t set e = 9 where id = 3", "23514"),
            ("update t set e = 1 where id = 3", "23505"),
            ("select a from t", "42703"),
            ("alter table t drop a", "42703"),
            ("alter table t drop column if exists a, drop column d", "ALTER TABLE"),
            ("alter table t drop column e", "ALTER TABLE"),
            ("select nextval('t_e_seq')", "42P01"),
            ("alter table t drop column id", "ALTER TABLE"),
            ("select * from t order by b", "x|7 NULL|7 NULL|7"),
            ("alter table t add primary key (c)", "23505"),
            ("alter table nope add x int", "42P01"),
            ("alter table if exists nope add x int", "ALTER TABLE"),
        ],
    );
}

#[test]
fn columns_change() {
    check(
        "create table t (id int primary key, a text default '5', b int); insert into t values (1, '10', 1), (2, '20', null)",
        &[
            ("alter table t alter a type int", "42804"),
            ("alter table t alter a type int using length(a)", "42804"),
            ("alter table t alter a drop default, alter a type int using cast(a as int) + b", "ALTER TABLE"),
            ("select a, a + 1 from t order by id", "11|12 NULL|NULL"),
            ("alter table t alter a set data type numeric(10,2), alter a set default 3", "ALTER TABLE"),
            ("insert into t (id) values (3) returning a", "3.00"),
            ("alter table t alter a set not null", "23502"),
            ("update t set a = 0 where a is null", "UPDATE 1"),
            ("alter table t alter a set not null", "ALTER TABLE"),
            ("insert into t (id, a) values (4, null)", "23502"),
            ("alter table t alter a drop not null", "ALTER TABLE"),
            ("insert into t (id, a) values (4, null)", "INSERT 0 1"),
            ("alter table t alter id drop not null", "42P16"),
            ("alter table t alter nope set not null", "42703"),
            ("alter table t alter a set default 'x'", "22P02"),
            ("alter table t alter a drop default", "ALTER TABLE"),
            ("insert into t (id) values (5) returning a", "NULL"),
            ("alter table t alter id type smallint", "ALTER TABLE"),
            ("insert into t (id) values (40000)", "22003"),
            ("select count(*) from t where id = 5", "1"),
            ("alter table t alter id add generated always as identity (start with 6)", "ALTER TABLE"),
            ("insert into t (a) values (1) returning id", "6"),
            ("alter table t alter id set default 1", "42601"),
            ("alter table t alter id drop not null", "42P16"),
            ("alter table t alter id type bigint", "ALTER TABLE"),
            ("alter table t alter id add generated always as identity", "55000"),
            ("alter table t alter b add generated always as identity", "55000"),
            ("alter table t add constraint c check (b > 0)", "ALTER TABLE"),
            ("alter table t alter b type bigint", "0A000"),
        ],
    );
}

#[test]
fn names_change() {
    check(
        "create table t (id serial primary key, a int unique, constraint low check (a < 9)); insert into t (a) values (1)",
        &[
            ("alter table t rename column a to b", "ALTER TABLE"),
            ("select b from t where b = 1", "1"),
            ("select a from t", "42703"),
            ("insert into t (b) values (9)", "23514"),
            ("alter table t rename b to id", "42701"),
            ("alter table t rename nope to x", "42703"),
            ("alter table t rename to u", "ALTER TABLE"),
            ("select * from t", "42P01"),
            ("insert into u (b) values (2) returning *", "3|2"),
            ("create table t (id int)", "CREATE TABLE"),
            ("alter table u rename to t", "42P07"),
            ("alter table u rename constraint low to small", "ALTER TABLE"),
            ("alter table u rename constraint low to x", "42704"),
            ("alter table u drop constraint small", "ALTER TABLE"),
            ("alter table u rename constraint t_pkey to t", "42P07"),
            ("alter table u rename constraint t_pkey to u_key", "ALTER TABLE"),
            ("alter index t_a_key rename to u_b", "ALTER INDEX"),
            ("alter index t_a_key rename to u_b", "42P01"),
            ("explain select * from u where id = 1", "Index Scan using u_key on u   Index Cond: (id = 1)"),
            ("insert into u (b) values (3) on conflict on constraint u_b do nothing", "INSERT 0 1"),
            ("alter table u drop constraint u_b", "ALTER TABLE"),
            ("insert into u (b) values (3)", "INSERT 0 1"),
            ("alter table u rename id to n", "ALTER TABLE"),
            ("select pg_get_serial_sequence('u', 'n')", "public.t_id_seq"),
            ("drop table u", "DROP TABLE"),
            ("select nextval('t_id_seq')", "42P01"),
        ],
    );
}

#[test]
fn definitions_mean_what_they_meant() {
    check(
        "create sequence s start 5; create table t (z int, a int default nextval('s'), c smallint default 3, \
         check (t.a > 0 and a < 9))",
        &[
            ("alter sequence s rename to r", "ALTER SEQUENCE"),
            ("create sequence s", "CREATE SEQUENCE"),
            ("alter table t rename column a to b", "ALTER TABLE"),
            ("alter table t rename to u", "ALTER TABLE"),
            ("alter table u drop column z", "ALTER TABLE"),
            ("alter table u alter c type bigint", "ALTER TABLE"),
            ("alter table u alter c type text", "ALTER TABLE"),
            ("insert into u default values returning *", "5|3"),
            ("insert into u (c) values ('x') returning *", "6|x"),
            ("update u set b = default where b = 5 returning b", "7"),
            ("update u set b = 9", "23514"),
            ("insert into u (b) values (0)", "23514"),
            ("select check_clause from information_schema.check_constraints", "((b > 0) AND (b < 9))"),
            ("drop sequence r", "2BP01"),
            ("drop sequence s", "DROP SEQUENCE"),
        ],
    );
}

#[test]
fn checks_may_mention_columns_that_do_not_matter() {
    check(
        "create table t (a int, b int, check (b > 0 and (a > 5 or true)), check (pg_typeof(a) = 'integer'), \
         check (a <> null), check (nullif(null, a) is null))",
        &[
            ("insert into t values (1, 1) returning *", "1|1"),
            ("insert into t values (1, 0)", "23514"),
            ("alter table t add check (1 = 1 or a > 0)", "ALTER TABLE"),
            ("alter table t add column c int check (c = null)", "ALTER TABLE"),
            ("alter table t rename b to x", "ALTER TABLE"),
            ("update t set x = -1", "23514"),
        ],
    );
}

#[test]
fn alterations_are_part_of_their_transaction() {
    for engine in ENGINES {
        let database = database(engine);
        let mut session = session(&database);
        run(&mut session, "create table t (id int primary key, a int); insert into t values (1, 1)");
        run(&mut session, "begin; alter table t add b int default 5; insert into t values (2, 2, 2)");
        assert_eq!(outcome(&mut session, "select * from t order by id"), "1|1|5 2|2|2", "{engine}");
        run(&mut session, "savepoint s; alter table t rename to u; alter table u drop a; insert into u values (3, 3)");
        assert_eq!(outcome(&mut session, "select * from u order by id"), "1|5 2|2 3|3", "{engine}");
        run(&mut session, "rollback to s");
        assert_eq!(outcome(&mut session, "select * from t order by id"), "1|1|5 2|2|2", "{engine}");
        run(&mut session, "rollback");
        assert_eq!(outcome(&mut session, "select * from t"), "1|1", "{engine}");
        run(
            &mut session,
            "begin; alter table t rename to x; create table t (z int); alter table x rename to y; commit",
        );
        assert_eq!(outcome(&mut session, "select * from t"), "", "{engine}");
        assert_eq!(outcome(&mut session, "select * from y"), "1|1", "{engine}");
    }
}

#[test]
fn prepared_plans_follow() {
    for engine in ENGINES {
        let database = database(engine);
        let (mut one, mut two) = (session(&database), session(&database));
        run(&mut one, "create table t (id int primary key, a int); insert into t values (1, 10)");
        run(
            &mut two,
            "prepare p as select a from t where id = $1; prepare q as select * from t; prepare i as insert into t values ($1, 0)",
        );
        assert_eq!(outcome(&mut two, "execute p(1)"), "10", "{engine}");
        run(&mut one, "alter table t add b int default 3; alter table t drop constraint t_pkey");
        assert_eq!(outcome(&mut two, "execute p(1)"), "10", "{engine}");
        assert_eq!(outcome(&mut two, "execute i(2)"), "INSERT 0 1", "{engine}");
        let (_, refused) = query(&mut two, "execute q");
        let refused = refused.expect_err("another column");
        assert_eq!(
            (refused.state.as_str(), &*refused.message),
            ("0A000", "cached plan must not change result type"),
            "{engine}"
        );
        run(&mut one, "alter table t rename a to z");
        assert_eq!(outcome(&mut two, "execute p(1)"), "42703", "{engine}");
    }
}

#[test]
fn a_default_of_a_new_column_may_tell_notices_and_add_no_rows() {
    for engine in ENGINES {
        let database = database(engine);
        let mut session = session(&database);
        run(&mut session, "create table t (id int primary key, n int); insert into t values (1, 0), (2, 0)");
        run(
            &mut session,
            "create function tells() returns int language plpgsql as $$ begin raise notice 'told'; return 7; end $$",
        );
        run(
            &mut session,
            "create function adds() returns int language plpgsql as $$ begin insert into t select max(id) + 1 from t; return 7; end $$",
        );
        let (told, added) = query(&mut session, "alter table t add column a int default tells()");
        assert_eq!((added.is_ok(), told.notices), (true, vec!["NOTICE: told".to_owned(); 2]), "{engine}");
        assert_eq!(outcome(&mut session, "alter table t add column b int default adds()"), "55006", "{engine}");
        assert_eq!(outcome(&mut session, "select * from t order by id"), "1|0|7 2|0|7", "{engine}");
        assert_eq!(database.engine().audit(), Ok(()), "{engine}");
    }
}
