//! Restarts after each statement: everything that the catalog shows is as before, and statements work.

use crate::world::{ENGINES, PARTITIONED, World};

/// Statements that change definitions, each a transaction of its own or a block.
const SCRIPT: &[&str] = &[
    "create table t (id int primary key, name varchar(20) not null default 'none', n numeric(12, 2) default 1.5)",
    "insert into t (id, name) values (1, 'one'), (2, 'two')",
    "create table s (id serial primary key, b bigserial, \"Odd \"\"name\" text default 'it''s')",
    "insert into s default values",
    "create table i (id int generated always as identity (start 10 increment 5) primary key, x int)",
    "insert into i (x) values (1), (2)",
    "create table h (a int, b text[] default '{x,y}', c char(3), d timestamptz)",
    "insert into h (a) values (1), (1), (2)",
    "create index h_a on h (a)",
    "create index h_hash on h using hash (c)",
    "create unique index t_name on t (name)",
    "create index h_low on h (lower(c) desc nulls last, a) include (b) where d is null and a > 0",
    "alter table t alter column name type varchar(40)",
    "alter table t add column extra jsonb default '{\"a\": 1}'",
    "alter table t add constraint small check (n < 1000 and name <> 'bad' or true)",
    "alter table t add check (length(t.name) > 1)",
    "alter table t rename column name to title",
    "alter table t rename column n to amount",
    "alter table t rename to things",
    "alter table things rename constraint small to tiny",
    "alter index t_name rename to things_title",
    "alter table things alter column amount type numeric(14, 3)",
    "alter table things alter column amount set default 2 + 3",
    "alter table things alter column title drop default",
    "alter table things alter column extra set not null",
    "create table p (a int, b int, primary key (a, b))",
    "create table c (id int primary key, a int, b int, things_id int references things on delete cascade on update set null,
        foreign key (a, b) references p match full deferrable initially deferred)",
    "insert into p values (1, 2); insert into c values (1, 1, 2, 1)",
    "alter table c add constraint self foreign key (a) references c (id) not valid",
    "alter table p rename column b to bb",
    "alter table c drop constraint self",
    "create schema shop",
    "create schema \"Odd schema\"",
    "create table shop.item (id int primary key, price numeric check (price > 0), unique (price))",
    "insert into shop.item values (1, 9.99)",
    "create table \"Odd schema\".\"T\" (\"A\" int unique)",
    "alter table shop.item set schema \"Odd schema\"",
    "create domain priced as numeric(8, 2) default 1 not null check (value > 0 and value <> 13)",
    "create domain cheaply as priced constraint low check (value < 100)",
    "create table offers (id int primary key, p priced, c cheaply default 2.5)",
    "insert into offers (id) values (1)",
    "alter domain priced add constraint \"it's not 5\" check (value <> 5) not valid",
    "alter domain cheaply rename to cheap_price",
    "comment on domain cheap_price is 'cheap'",
    "create view cheap as select * from things where amount < 100",
    "create view shop.both (x, y) as select t.id, i.price from things t join \"Odd schema\".item i on i.id = t.id",
    "create or replace view cheap as select *, amount * 2 as twice from things where amount < 100",
    "create view ranked as with w as (select id, row_number() over (order by id desc) as r from things)
        select id, r, case when r between 1 and 2 then interval '1 day' * r else null end as d from w
        where exists (select 1 from i where i.x = r) or r in (1, 2, 3)",
    "create view sums as select sum(id) over (order by id rows between 1 preceding and current row exclude current row)
        from things",
    "create materialized view prices (p) as select price from \"Odd schema\".item",
    "create materialized view later as select x + 1 as q from i with no data",
    "create unique index prices_p on prices (p)",
    "comment on materialized view prices is 'of items'",
    "refresh materialized view later",
    "alter materialized view later set schema shop",
    "alter materialized view prices rename column p to price",
    "alter materialized view prices rename to price_list",
    "create view both_prices as select * from price_list, shop.later",
    "create sequence plain",
    "create sequence \"Odd schema\".odd as smallint increment -2 minvalue -10 maxvalue 10 start 8 cycle",
    "create table uses (id int default nextval('plain'), at int default nextval('\"Odd schema\".odd'::regclass))",
    "insert into uses default values",
    "alter sequence plain rename to renamed",
    "alter sequence renamed increment 3 owned by uses.id",
    "insert into uses default values",
    "create procedure pay(who int, amount numeric default 1 + 1, inout left_over numeric default 0) language plpgsql as $$
        declare v numeric := 0;
        begin
            if amount > 0 then update things set amount = things.amount - pay.amount where id = who; end if;
            select things.amount into left_over from things where id = who;
        end $$",
    "create procedure note(in text) begin atomic insert into h (a, c) values (7, $1); end",
    "create function half(n int, out h int) language plpgsql immutable strict as $$ begin h := n / 2; end $$",
    "create function portion(least int) returns table (id int, \"odd name\" text) language sql stable as
        'select id, title from things where id >= least'",
    "create function whole() returns setof things language plpgsql as
        $$ begin return query select * from things; end $$",
    "create function total() returns numeric return (select sum(amount) from things)",
    "create function stamp() returns trigger language plpgsql as $$
        begin new.title := new.title || ' ' || tg_argv[0]; return new; end $$",
    "create trigger stamped before insert or update of title on things for each row when (new.amount > 100)
        execute function stamp('it''s')",
    "create trigger other after delete on things execute function stamp()",
    "alter table things disable trigger other",
    "alter trigger stamped on things rename to \"Stamped\"",
    "alter function half(int) rename to halved",
    "comment on table things is 'the ''things'''",
    "comment on column things.title is 'how it is called'",
    "comment on view cheap is 'not much'",
    "comment on function total() is 'all of it'",
    "comment on trigger \"Stamped\" on things is 'stamps'",
    "alter trigger \"Stamped\" on things rename to stamps",
    "comment on sequence renamed is 'numbers'",
    "comment on schema shop is 'a shop'",
    "comment on schema public is 'for all'",
    "comment on constraint tiny on things is 'not too much'",
    "comment on index things_title is 'by title'",
    "truncate uses restart identity",
    "begin; create table both (id int primary key); insert into both values (1), (2);
        alter table both add column more int default 5; commit",
    "begin; create table never (id int); insert into never values (1); drop table s; rollback",
    "begin; create table kept (id int); savepoint a; create table lost (id int); drop table kept;
        rollback to a; insert into kept values (3); commit",
    "drop view cheap, ranked, sums, shop.both",
    "begin; alter table things rename to swap; alter table both rename to things; alter table swap rename to both; commit",
    "alter table both drop column extra",
    "alter table h add primary key (a, b, c, d)",
    "drop index h_hash",
    "drop procedure note(text)",
    "drop sequence \"Odd schema\".odd cascade",
    "drop view both_prices; drop materialized view shop.later",
    "drop table s, i",
    "drop table p cascade",
    "drop schema \"Odd schema\" cascade",
];

#[test]
fn a_restart_after_any_statement_leaves_everything_as_it_was() {
    for engine in ENGINES {
        let mut world = World::new(engine);
        for sql in SCRIPT {
            let outcome = world.outcome(sql);
            // One statement fails on purpose: its rows have NULLs.
            let fails = sql.starts_with("alter table h add primary key");
            assert_eq!(
                outcome.len() == 5 && outcome.as_bytes()[0].is_ascii_digit(),
                fails,
                "{engine}: {sql}: {outcome}"
            );
            let before = world.dump();
            assert!(!before.contains('\0'), "{engine}: {sql}: {before}");
            world = world.restarted();
            assert_eq!(world.dump(), before, "{engine}, after: {sql}");
        }
        world.check(&STATEMENTS);
    }
}

/// Statements at the end of the script.
const STATEMENTS: [(&str, &str); 9] = [
    ("select id, title, amount from both order by id", "1|one|1.500 2|two|1.500"),
    ("insert into both values (1, 'again', 1)", "23505"),
    ("insert into both values (5, 'two', 1)", "23505"),
    ("insert into both values (5, 'x', 1)", "23514"),
    ("insert into both (id, title) values (5, 'five') returning amount", "5.000"),
    ("insert into uses default values returning id, at", "1|NULL"),
    ("insert into c values (9, null, null, 77)", "23503"),
    // Its body means the table that has the name `things` now.
    ("call pay(5, left_over => 0)", "42703"),
    ("select halved(9), total()", "42703"),
];

#[test]
fn each_engine_opens_what_another_one_has_left() {
    let mut world = World::new("ilock");
    SCRIPT.iter().for_each(|sql| drop(world.outcome(sql)));
    let before = world.dump();
    for engine in ENGINES {
        world = world.reopened(engine);
        assert_eq!(world.dump(), before, "{engine}");
        world.run("create table more (id int primary key); insert into more values (1)");
        world = world.reopened("serial");
        world.check(&[("select * from more", "1"), ("drop table more", "DROP TABLE")]);
    }
}

#[test]
fn engines_with_partitions_open_what_they_have_left() {
    let script = [
        "create table t (part int not null, id int, name text, check (id > 0), primary key (part, id)) partition by hash (part)",
        "insert into t values (1, 1, 'a'), (2, 2, 'b')",
        "create table h (part int not null, x int) partition by hash (part)",
        "insert into h values (3, 1), (3, 1), (8, 2)",
        "create sequence s",
        "comment on table t is 'parts'",
        "begin; create index on t (name); insert into t values (9, 9, 'c'); commit",
        "alter table t rename column name to title",
        "create view v as select * from t",
        "create schema x",
    ];
    for engine in PARTITIONED {
        let mut world = World::new(engine);
        for sql in script {
            world.run(sql);
            let before = world.dump();
            world = world.restarted();
            assert_eq!(world.dump(), before, "{engine}, after: {sql}");
        }
        world.check(&[
            ("insert into t values (1, 1, 'again')", "23505"),
            ("insert into t values (1, 0, 'small')", "23514"),
            ("insert into h values (8, 3), (1, 4)", "INSERT 0 2"),
            ("select count(*) from h", "5"),
            ("select part, title from v order by part", "1|a 2|b 9|c"),
            ("select nextval('s')", "1"),
        ]);
    }
}
