//! Definitions mean after a restart what they meant when they were written.

use crate::opening::opened_after;
use crate::world::World;

#[test]
fn literals_are_read_in_the_styles_of_the_definition() {
    let mut world = World::new("ilock");
    world.run("set datestyle = 'iso, dmy'; set intervalstyle = 'sql_standard'");
    world.run(
        "create table t (id int primary key, d date default '01/02/2020', i interval default '-1 2:03:04',
            check (d < '03/04/2030'));
        create view v as select id from t where d = '01/02/2020';
        create procedure p(out found bigint, given date default '01/02/2020') begin atomic
            select count(*) into found from t where d = '01/02/2020' and d = given; end",
    );
    world.run("insert into t (id) values (1)");
    let mut world = world.restarted();
    world.check(&[
        ("show datestyle", "ISO, MDY"),
        ("insert into t (id) values (2) returning d, i", "2020-02-01|-1 days -02:03:04"),
        ("insert into t values (3, '2030-04-02')", "INSERT 0 1"),
        ("insert into t values (4, '2030-04-03')", "23514"),
        ("select id from v order by id", "1 2"),
        ("call p(null)", "2"),
    ]);
}

#[test]
fn days_are_those_of_the_definition() {
    let mut world = World::new("ilock");
    world.run(
        "create table t (id int primary key, d date default 'today', m timestamp default 'now', c time default 'now')",
    );
    world.run("insert into t (id) values (1)");
    let mut world = world.restarted();
    world.run("insert into t (id) values (2)");
    world.check(&[(
        "select count(*) from t a, t b where a.id = 1 and b.id = 2 and a.d = b.d and a.m = b.m and a.c = b.c",
        "1",
    )]);
    // The moment is stored: 2000-01-02 00:00:05.
    let moved = |text: &str| {
        let mut parts = text.split("\"moment\":");
        let mut changed = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let rest = part.trim_start_matches(|digit: char| digit.is_ascii_digit());
            changed.push_str(&format!("\"moment\":86405000000{rest}"));
        }
        changed
    };
    let mut moved = opened_after(&world, moved).expect("a sound definition");
    moved.check(&[("insert into t (id) values (3) returning d, m, c", "2000-01-02|2000-01-02 00:00:05|00:00:05")]);
}

#[test]
fn names_in_definitions_keep_their_meaning() {
    let mut world = World::new("ilock");
    world.run(
        "create table t (id int primary key, a int, b int, gone int, check (t.a > 0 and b > a), check (gone > 0 or true));
        alter table t rename a to x; alter table t rename b to a; alter table t rename x to b;
        alter table t rename to u; alter table u drop column gone;
        create schema s; set search_path = s, public; create table only_here (n int primary key);
        create view v as select n from only_here; insert into only_here values (1); reset search_path;
        create table public.only_here (n int primary key);
        create sequence q; create table d (id int default nextval('q') + 100); alter sequence q rename to r;
        create sequence q start 500",
    );
    let mut world = world.restarted();
    world.check(&[
        ("insert into u (id, b, a) values (1, 1, 2)", "INSERT 0 1"),
        ("insert into u (id, b, a) values (2, 2, 1)", "23514"),
        ("insert into u (id, b, a) values (3, -2, 1)", "23514"),
        ("select * from s.v", "1"),
        ("insert into d values (default) returning id", "101"),
        ("select nextval('q')", "500"),
        ("drop sequence r", "2BP01"),
        ("alter table u drop column b", "ALTER TABLE"),
        ("insert into u (id, a) values (3, -2)", "INSERT 0 1"),
    ]);
}

#[test]
fn views_are_written_to_as_before() {
    let mut world = World::new("ilock");
    world.run(
        "create table t (id int primary key, a text default 'table', n int);
        create view v as select id, a, n + 1 as more from t where n > 0 with check option;
        create view w with (security_barrier) as select id, a from v with local check option;
        create function put() returns trigger language plpgsql as $$ begin
            insert into t values (new.id, new.a, new.more - 1); return new; end $$;
        create trigger put instead of insert on v for each row execute function put();
        comment on trigger put on v is 'puts'; create sequence q; alter view v alter id set default nextval('q');
        alter view w alter a set default 'view'; create view sums as select sum(n) from t;
        insert into v (more) values (3)",
    );
    let mut world = world.restarted();
    world.check(&[
        ("insert into v (a, more) values ('x', 5) returning id", "2"),
        ("insert into w (id) values (7) returning a", "view"),
        ("update v set a = 'y' where more = 3", "UPDATE 1"),
        ("select * from t order by id", "1|y|2 2|x|4 7|view|NULL"),
        ("delete from sums", "55000"),
        ("select reloptions from pg_class where relname = 'w'", "{security_barrier=true,check_option=local}"),
        ("select obj_description(oid, 'pg_trigger') from pg_trigger", "puts"),
        ("drop function put()", "2BP01"),
        ("drop sequence q", "2BP01"),
        ("drop trigger put on v", "DROP TRIGGER"),
        ("insert into w (id) values (8)", "44000"),
        ("update w set id = 20 where id = 2", "UPDATE 1"),
    ]);
}

#[test]
fn plans_and_procedures_are_made_anew() {
    let mut world = World::new("mvo");
    world.run(
        "create table t (id int primary key, n int); insert into t values (1, 10), (2, 20);
        create procedure inner_one(who int) begin atomic update t set n = n + 1 where id = who; end;
        create procedure outer_one(who int) language plpgsql as $$ begin call inner_one(who); call inner_one(who); end $$;
        create view v as select id, n from t; create view w as select sum(n) from v",
    );
    let mut world = world.restarted();
    world.check(&[
        ("call outer_one(1)", "CALL"),
        ("select * from w", "32"),
        ("alter table t drop column n", "2BP01"),
        ("alter table t add column m int default 3", "ALTER TABLE"),
        ("call outer_one(2)", "CALL"),
        ("select * from v order by id", "1|12 2|22"),
        ("drop table t", "2BP01"),
        (
            "create or replace procedure inner_one(who int) begin atomic delete from t where id = who; end",
            "CREATE PROCEDURE",
        ),
        ("call outer_one(2)", "CALL"),
        ("select * from v order by id", "1|12"),
        ("create procedure inner_one(who int) begin atomic call outer_one(1); end", "42723"),
    ]);
}

#[test]
fn functions_of_one_name_and_of_schemas_are_there_again() {
    let mut world = World::new("ilock");
    world.run(
        "create schema s; create schema other; create type mood as enum ('sad', 'glad');
        create function f(n int) returns text language sql as 'select ''int''';
        create function f(t text) returns text language sql as 'select ''text''';
        create function s.f(m mood) returns text language sql as 'select ''mood''';
        create function s.touch() returns trigger language plpgsql as $$ begin new.n := new.n + 1; return new; end $$;
        create table t (id int primary key, n int);
        create trigger touch before insert on t for each row execute function s.touch();
        create view v as select f(id) as i, f(n::text) as t, s.f('sad') as m from t;
        alter function s.touch() set schema other; alter schema s rename to s2; alter function other.touch() rename to t2;
        create function gone(int) returns int language sql as 'select 1'; drop function gone(int);
        create function within() returns text language sql set search_path = s2 as 'select f(''sad'')';
        create function later() returns bigint language plpgsql as $$ begin return (select count(*) from log); end $$;
        create table made (id bigint default later() + 1, at date default 'today', n text default s2.f('glad'));
        create table log (n int); insert into made default values; alter function later() rename to counted",
    );
    let mut world = world.restarted();
    world.check(&[
        ("insert into t values (1, 1) returning n", "2"),
        ("select * from v", "int|text|mood"),
        ("select f(1), f('x'), s2.f('glad')", "int|text|mood"),
        ("drop function f(text)", "2BP01"),
        ("alter function f(text) rename to g", "ALTER FUNCTION"),
        ("select * from v", "int|text|mood"),
        ("create or replace function g(t text) returns text language sql as 'select ''new'''", "CREATE FUNCTION"),
        ("insert into log values (1), (2)", "INSERT 0 2"),
        ("insert into made (at) values (default) returning id, at = current_date, n", "3|t|mood"),
        ("drop function counted()", "2BP01"),
        ("select within()", "mood"),
        ("alter function within() set search_path = public", "ALTER FUNCTION"),
        ("select within()", "22P02"),
        ("drop function other.t2()", "2BP01"),
        ("drop function gone(int)", "42883"),
    ]);
    let mut world = world.restarted();
    world.check(&[
        ("select * from v", "int|new|mood"),
        ("select within()", "22P02"),
        ("alter function within() reset search_path; alter function g(text) rename to f", "ALTER FUNCTION"),
        ("select within()", "new"),
        ("drop schema public cascade", "DROP SCHEMA"),
        ("create table t (id int)", "3F000"),
    ]);
    let mut world = world.restarted();
    world.check(&[
        ("create table t (id int)", "3F000"),
        ("create schema public", "CREATE SCHEMA"),
        ("create table t (id int)", "CREATE TABLE"),
    ]);
    world.restarted().check(&[("select count(*) from t", "0")]);
}

#[test]
fn tables_of_other_tables_and_views_of_all_types_are_there_again() {
    let mut world = World::new("ilock");
    world.run(
        "create table t (id int generated always as identity (sequence name numbers start with 5) primary key,
            m timestamp(3) default '2020-01-02 03:04:05.6789', c time(0), n name, o oid, a timestamptz(1)[],
            check (o > 1));
        insert into t (c, n, o) values ('10:00:00.6', 'first', 7);
        create table made as select id, m, n from t; alter table made alter column n set default 'other';
        create table likewise (like t including all);
        create view v as select 't'::regclass as r, 'int'::regtype as k, 'public'::regnamespace as s, m, n, o from t",
    );
    let mut world = world.restarted();
    world.check(&[
        ("select * from v", "t|integer|public|2020-01-02 03:04:05.679|first|7"),
        ("insert into t (m, o) values ('2020-01-02 03:04:05.0006', 2) returning id, m", "6|2020-01-02 03:04:05.001"),
        ("insert into made (id) values (1) returning m, n", "NULL|other"),
        ("insert into likewise (o) values (2) returning id, m", "5|2020-01-02 03:04:05.679"),
        ("insert into likewise (o) values (0)", "23514"),
        ("select last_value, is_called from numbers", "6|t"),
    ]);
}

#[test]
fn domains_and_what_uses_them_are_there_again() {
    let mut world = World::new("ilock");
    world.run(
        "create schema s; create type mood as enum ('sad', 'ok');
        create domain s.few as int default 5 check (value < 10);
        create domain fewer as s.few not null constraint \"it's more\" check (value > 2);
        create domain good as mood default 'ok' check (value <> 'sad'); create domain pair as varchar(3)[];
        create table t (id int primary key default 1::s.few, f s.few, g fewer default 4, h good, p pair,
            check (id::s.few > 0));
        insert into t default values;
        create view v as select f, 3::fewer as three from t;
        create function half(x s.few, out h fewer) language plpgsql as 'begin h := x / 2; end';
        create domain gone as text; create table went (g gone); drop domain gone cascade;
        alter domain s.few add constraint odd check (value % 2 = 1) not valid;
        comment on domain s.few is 'few'; comment on constraint odd on domain s.few is 'odd'",
    );
    world.run("begin; create domain never as int; alter domain s.few drop constraint odd; rollback");
    let shown =
        "select oid, typname, typbasetype, typnotnull, typdefault from pg_type where typtype = 'd' order by oid";
    let constraints =
        "select oid, conname, convalidated, pg_get_constraintdef(oid), obj_description(oid, 'pg_constraint')
        from pg_constraint where contypid <> 0 order by oid";
    let before = (world.outcome(shown), world.outcome(constraints));
    let mut world = world.restarted();
    assert_eq!((world.outcome(shown), world.outcome(constraints)), before);
    world.check(&[
        ("select *, pg_typeof(f), pg_typeof(h) from t", "1|5|4|ok|NULL|s.few|good"),
        ("select pg_typeof(f), pg_typeof(three) from v", "s.few|fewer"),
        ("insert into t (id, f) values (2, 4)", "23514"),
        ("insert into t (id, g) values (3, null)", "23502"),
        ("insert into t (id, g) values (3, 1)", "23514"),
        ("insert into t (id, g, p) values (3, 5, '{long}')", "22001"),
        ("insert into t (id, g, h) values (3, 5, 'sad')", "23514"),
        ("insert into t (id, g) values (8, 5)", "23514"),
        ("insert into t (id, g) values (7, 9) returning f, g, h", "5|9|ok"),
        ("select half(7), pg_typeof(half(7))", "3|fewer"),
        ("select half(9)", "23514"),
        ("select 1::never", "42704"),
        ("select obj_description('s.few'::regtype)", "few"),
        ("alter domain s.few validate constraint odd", "23514"),
        ("alter domain s.few drop constraint odd", "ALTER DOMAIN"),
        ("drop function half", "DROP FUNCTION"),
        ("alter domain s.few set schema public", "ALTER DOMAIN"),
        ("insert into t (id) values (8) returning id", "8"),
        ("drop domain few", "2BP01"),
    ]);
    let mut world = world.restarted();
    world.check(&[
        ("select pg_typeof(f), pg_typeof(three) from v limit 1", "few|fewer"),
        ("insert into t (id) values (10)", "23514"),
        ("alter table t drop constraint t_id_check; alter table t alter id drop default", "ALTER TABLE"),
        ("drop domain few cascade", "DROP DOMAIN"),
        ("select * from t order by id", "1|ok|NULL 7|ok|NULL 8|ok|NULL"),
    ]);
}

#[test]
fn a_domain_whose_expressions_a_renamed_schema_has_changed_is_there_again() {
    let mut world = World::new("ilock");
    world.run(
        "create schema s; create type s.mood as enum ('sad', 'ok');
        create domain s.good as s.mood default 'ok'::s.mood check (value <> 'sad'::s.mood);
        alter schema s rename to s2; create table t (id int primary key, g s2.good)",
    );
    let mut world = world.restarted();
    world.check(&[
        ("insert into t values (1, 'sad')", "23514"),
        ("insert into t (id) values (2) returning g", "ok"),
        ("alter type s2.mood rename to feeling", "ALTER TYPE"),
    ]);
    let mut world = world.restarted();
    world.check(&[("insert into t (id) values (3) returning g, pg_typeof(g)", "ok|s2.good")]);
}

#[test]
fn enumerated_types_and_what_uses_them_are_there_again() {
    let mut world = World::new("ilock");
    world.run(
        "create schema s; create type s.state as enum ('draft', 'open', 'closed');
        create table t (id int primary key, a s.state default 'open'::s.state,
            b s.state[] default array['draft', 'closed']::s.state[], c s.state[] default '{draft}',
            check (a <> 'closed'::s.state or id > 10), check (a in ('open', 'closed') or id < 100));
        create table k (a s.state primary key default 'draft'); insert into k values ('closed'), (default);
        insert into t (id) values (1); set search_path = s;
        create view public.v as select id, a, 'closed'::state as d from public.t where a >= 'open'; reset search_path;
        create procedure p(given s.state, out found bigint) begin atomic
            select count(*) into found from t where a = given; end;
        create type gone as enum ('x'); create table changed (g gone); insert into changed values ('x');
        alter table changed alter column g type text; drop type gone;
        alter type s.state add value 'seen' before 'open'; alter type s.state rename value 'draft' to 'it''s, new';
        create type \"The Other\" as enum ('it''s', 'B b')",
    );
    world.run("begin; create type never as enum ('y'); alter type s.state add value 'never'; rollback");
    world.check(&[("alter type s.state rename value 'closed' to 'shut'", "0A000")]);
    let mut world = world.restarted();
    world.check(&[
        ("select enum_range(null::s.state), enum_last(null::\"The Other\")", "{\"it's, new\",seen,open,closed}|B b"),
        ("select 'y'::never", "42704"),
        ("select id, a, b, c from t", "1|open|{\"it's, new\",closed}|{\"it's, new\"}"),
        ("select a from k order by a", "it's, new closed"),
        ("select * from v", "1|open|closed"),
        ("insert into t (id, a) values (2, 'closed')", "23514"),
        ("insert into t (id, a) values (101, 'seen')", "23514"),
        ("insert into t (id, a) values (2, 'seen') returning b", "{\"it's, new\",closed}"),
        ("insert into t (id) values (3) returning a", "open"),
        ("delete from k", "DELETE 2"),
        ("insert into k default values returning a", "it's, new"),
        ("call p('open', null)", "2"),
        ("select * from changed", "x"),
        ("alter schema s rename to r", "0A000"),
        ("drop procedure p", "DROP PROCEDURE"),
        ("alter schema s rename to r", "ALTER SCHEMA"),
        ("alter type r.state rename to \"State\"", "ALTER TYPE"),
        ("drop type r.\"State\"", "2BP01"),
    ]);
    let oids = "select oid, typarray, typname from pg_type where typtype = 'e' order by oid";
    let before = world.outcome(oids);
    let mut world = world.restarted();
    assert_eq!(world.outcome(oids), before);
    world.check(&[
        ("select * from v order by id", "1|open|closed 3|open|closed"),
        ("insert into t (id) values (4) returning a, c", "open|{\"it's, new\"}"),
        ("insert into t (id, a) values (5, 'closed')", "23514"),
        ("create type last as enum ()", "CREATE TYPE"),
        ("select count(*) - count(distinct oid) from pg_type", "0"),
        ("drop type r.\"State\" cascade", "DROP TYPE"),
        ("select * from t where id = 1", "1"),
        ("select * from v", "42P01"),
    ]);
    let mut world = world.restarted();
    world.check(&[("select 'it''s, new'::r.\"State\"", "42704"), ("select 'B b'::\"The Other\"", "B b")]);
}

#[test]
fn generated_columns_are_computed_as_before() {
    let mut world = World::new("ilock");
    world.run(
        "set datestyle = 'iso, dmy';
        create table t (a int primary key, gone int, b int generated always as (a * 2 + t.gone) stored,
            d date generated always as (date '01/02/2020' + a) stored unique, n int generated always as (a + 1) stored);
        alter table t alter b drop expression; alter table t drop column gone; alter table t rename a to x;
        alter table t rename b to a; alter table t rename to u; alter table u alter n type text;
        alter table u add column late int not null generated always as (x * 10) stored check (late < 50)",
    );
    world.run("insert into u (x, a) values (1, 7)");
    let mut world = world.restarted();
    world.check(&[
        ("select * from u", "1|7|2020-02-02|2|10"),
        ("insert into u (x, n) values (2, 'x')", "428C9"),
        ("insert into u (x) values (2) returning *", "2|NULL|2020-02-03|3|20"),
        ("insert into u (x) values (5)", "23514"),
        ("alter table u drop column x", "2BP01"),
        ("update u set x = 4 where x = 2 returning d, late", "2020-02-05|40"),
    ]);
}

#[test]
fn indexes_with_expressions_and_conditions_are_there_again() {
    let mut world = World::new("ilock");
    world.run(
        "set datestyle = 'iso, dmy';
        create table t (id int primary key, gone int, email text, born date, dropped timestamp, n int);
        create unique index on t (lower(email)) where dropped is null;
        create index by_age on t ((born - '01/02/2020'::date) desc) include (n);
        create unique index on t ((n / id)) where id <> 0 and t.born > '01/02/2019';
        alter table t drop column gone; alter table t rename email to mail; alter table t rename to u;
        alter table u alter mail type varchar(20); create table k (like u including indexes)",
    );
    world.run("insert into u values (1, 'A', '2020-02-03', null, 5), (2, 'a', null, '2020-01-01', 10)");
    let indexes = "select indexdef from pg_indexes order by 1";
    let before = world.outcome(indexes);
    let mut world = world.restarted();
    assert_eq!(world.outcome(indexes), before);
    world.check(&[
        ("insert into u values (3, 'a')", "23505"),
        ("insert into u values (3, 'a', '2020-02-02', '2020-01-01', 15)", "23505"),
        ("insert into u values (0, 'a', '2020-02-02', '2020-01-01', 15)", "INSERT 0 1"),
        ("select id from u where born - '2020-02-01'::date = 2", "1"),
        (
            "explain select id from u where lower(mail) = 'a' and dropped is null",
            "Index Scan using t_lower_idx on u   Index Cond: (lower(mail) = 'a')   \
             Filter: ((dropped IS NULL) AND (lower(mail) = 'a'))",
        ),
        ("select * from u where id = 1", "1|A|2020-02-03|NULL|5"),
        ("insert into k values (1, 'x'), (2, 'X')", "23505"),
        ("drop index t_lower_idx", "DROP INDEX"),
        ("insert into u values (3, 'a')", "INSERT 0 1"),
    ]);
    let mut world = world.restarted();
    world.check(&[("insert into u values (4, 'a')", "INSERT 0 1"), ("alter table u drop column mail", "ALTER TABLE")]);
}

#[test]
fn temporary_relations_are_gone_after_a_restart() {
    for engine in crate::world::ENGINES {
        let mut world = World::new(engine);
        world.run("create table t (id int primary key); insert into t values (1)");
        let before = world.log.records();
        world.run("create temp table t (id serial primary key, n int); insert into t (n) values (1), (2)");
        world.run("create temp sequence s; create temp view v as select * from t");
        world.check(&[("select nextval('s'), nextval('s')", "1|2"), ("select count(*) from v", "2")]);
        assert_eq!(world.log.records(), before, "{engine}");
        world.run("insert into public.t select n + 1 from v where n > 1");
        let mut world = world.restarted();
        world.check(&[
            ("select id from t order by id", "1 3"),
            ("select * from v", "42P01"),
            ("select count(*) from pg_class where relname in ('t', 's', 'v')", "1"),
            ("create temp table t (id int); select count(*) from t", "0"),
        ]);
    }
}
