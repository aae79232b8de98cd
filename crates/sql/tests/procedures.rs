//! Procedures: made, called, replaced and dropped, and what TPC-B and TPC-C's Payment come to as one.

mod common;

use common::{ENGINES, bind, check, database, error, execute, outcome, query, run, session};
use hotrow_sql::{Executed, Session};
use hotrow_storage::{Type, Value};

const ACCOUNTS: &str = "create table a (id int primary key, n int not null); insert into a values (1, 10), (2, 20)";

#[test]
fn statements_run_as_one() {
    check(
        ACCOUNTS,
        &[
            (
                "create procedure move(source int, target int, amount int) language sql begin atomic
                    update a set n = n - amount where id = source;
                    update a set n = n + amount where id = target;
                end; call move(1, 2, 5); select id, n from a order by id",
                "1|5 2|25",
            ),
            ("call move(1, 2, 5)", "CALL"),
            ("call move(target => 1, source => 2, amount => 10)", "CALL"),
            ("select n from a order by id", "10 20"),
            ("begin; call move(1, 2, 1); rollback; select n from a order by id", "10 20"),
            ("begin; call move(1, 2, 1); commit; select n from a order by id", "9 21"),
            // By number, from a string, with a comment in it; the last statement needs no semicolon.
            (
                "create procedure add(int, int) language sql as $$ update a set n = n + $2 where id = $1 -- ; it's
                $$",
                "CREATE PROCEDURE",
            ),
            ("call add(1, 1); select n from a where id = 1", "10"),
            ("call add(1, -1 + 0); select n from a where id = 1", "9"),
            ("create procedure q() language sql as 'update a set n = 0 where ''x'' = ''x'''; call q()", "CALL"),
            ("select sum(n) from a", "0"),
            ("create procedure nothing() language sql begin atomic end; call nothing()", "CALL"),
        ],
    );
}

#[test]
fn variables_take_rows_and_conditions_choose() {
    check(
        ACCOUNTS,
        &[
            (
                "create procedure p(key int, out total bigint, inout word varchar(20) default 'none') language plpgsql as $$
                declare
                    value int;
                    twice bigint := 2 * key;
                begin
                    select n into value from a where id = key;
                    if not found then
                        word := 'absent';
                        return;
                    elsif value > 15 and (case when value = 16 then false else true end) then
                        if key = 2 then word := 'large: ' || word; end if;
                    else
                        set word = 'small';
                    end if;
                    update a set n = n + p.key where id = key returning n into value;
                    total := value + twice;
                end $$",
                "CREATE PROCEDURE",
            ),
            ("call p(1, null, 'x')", "13|small"),
            ("call p(2, null, 'x')", "26|large: x"),
            ("call p(2, null)", "28|large: none"),
            ("call p(3, null)", "NULL|absent"),
            // A column hides a variable of its name.
            (
                "create procedure hidden(id int, inout n int) language sql begin atomic
                    select n into n from a where id = hidden.id;
                end; call hidden(2, 0)",
                "24",
            ),
            // Without a row, NULL; of several rows, the first.
            (
                "create procedure first(inout x int, inout y int) language sql begin atomic
                    declare z int default 7;
                    select id, n into x, y from a where id >= x order by id desc;
                    x = z + x;
                end; call first(1, 5)",
                "9|24",
            ),
            ("call first(9, 5)", "NULL|NULL"),
            ("create procedure all_rows(inout x int) language sql as $$ update a set n = n returning id into x; $$", "CREATE PROCEDURE"),
            ("call all_rows(1)", "P0003"),
            ("create procedure c(inout x varchar(2)) language sql as $$ declare y varchar(2); y := x; x := y $$", "CREATE PROCEDURE"),
            ("call c('ab')", "ab"),
            ("call c('abc')", "22001"),
        ],
    );
}

#[test]
fn procedures_call_each_other_and_themselves() {
    check(
        ACCOUNTS,
        &[
            (
                "create procedure leaf(key int, out v int) language sql as $$ select n into v from a where id = key $$",
                "CREATE PROCEDURE",
            ),
            (
                "create procedure sum(out v bigint) language sql as $$
                    declare x int; declare y bigint;
                    call leaf(1, x); call leaf(key => 2, v => y);
                    v := x + y $$; call sum(null)",
                "30",
            ),
            ("create procedure bad() language sql as $$ call leaf(1, 2) $$", "42601"),
            ("create procedure self() language sql begin atomic call self(); end", "CREATE PROCEDURE"),
            ("call self()", "54001"),
            (
                "create procedure down(n int, inout sum int) language sql as $$
                    if n > 0 then sum := sum + n; call down(n - 1, sum); end if $$; call down(5, 0)",
                "15",
            ),
            ("create or replace procedure self() language sql begin atomic call other(); end", "42883"),
            ("create procedure other() language sql begin atomic end", "CREATE PROCEDURE"),
            (
                "create or replace procedure self() language sql begin atomic if true then call other(); end if; end",
                "CREATE PROCEDURE",
            ),
            ("create or replace procedure other() language sql begin atomic call self(); end", "CREATE PROCEDURE"),
            ("call self()", "54001"),
            ("call other()", "54001"),
            ("drop procedure other", "DROP PROCEDURE"),
            ("call self()", "42883"),
            ("create procedure other() language sql begin atomic call self(); end", "CREATE PROCEDURE"),
            // What a call leads to is looked at anew.
            (
                "create or replace procedure leaf(key int, out v int) language sql as $$ v := key $$; call sum(null)",
                "3",
            ),
            ("drop procedure leaf(int)", "DROP PROCEDURE"),
            ("call sum(null)", "42883"),
            ("create procedure leaf(key int, out v int) language sql as $$ v := 2 * key $$; call sum(null)", "6"),
        ],
    );
    let database = database("serial");
    let mut session = session(&database);
    run(&mut session, "create procedure p0() language sql begin atomic end");
    let made = |session: &mut Session, at: usize| {
        outcome(session, &format!("create procedure p{at}() language sql begin atomic call p{}(); end", at - 1))
    };
    for at in 1..32 {
        assert_eq!(made(&mut session, at), "CREATE PROCEDURE", "{at}");
    }
    assert_eq!(outcome(&mut session, "call p31()"), "CALL");
    assert_eq!(made(&mut session, 32), "54001");
    // A chain that grew from below is found out when it is called.
    run(&mut session, "create procedure q() language sql begin atomic end");
    run(&mut session, "create or replace procedure p0() language sql begin atomic call q(); end");
    assert_eq!(outcome(&mut session, "call p31()"), "54001");
}

#[test]
fn definitions_are_part_of_their_transaction() {
    check(
        ACCOUNTS,
        &[
            ("begin; create procedure p() language sql as $$ delete from a $$; call p(); rollback", "ROLLBACK"),
            ("call p()", "42883"),
            ("select count(*) from a", "2"),
            ("create procedure p() language sql as $$ delete from a where id = 1 $$", "CREATE PROCEDURE"),
            ("begin; drop procedure p", "DROP PROCEDURE"),
            ("savepoint s; call p()", "42883"),
            ("rollback; call p(); select count(*) from a", "1"),
            ("begin; savepoint s; drop procedure p; rollback to s; call p(); commit", "COMMIT"),
            (
                "begin; create table b (x int); create procedure q() language sql as $$ insert into b values (1) $$",
                "CREATE PROCEDURE",
            ),
            ("call q(); commit; call q(); select count(*) from b", "2"),
            ("drop procedure p, q", "DROP PROCEDURE"),
            ("drop procedure if exists p(int), q", "DROP PROCEDURE"),
            ("begin read only; create procedure p() language sql as $$ $$", "25006"),
            ("rollback; create procedure w() language sql as $$ delete from a $$; begin read only; call w()", "25006"),
            ("rollback", "ROLLBACK"),
        ],
    );
}

#[test]
fn plans_follow_the_tables() {
    check(
        ACCOUNTS,
        &[
            (
                "create procedure get(key int, out v bigint) language sql as $$ select n into v from a where id = key $$",
                "CREATE PROCEDURE",
            ),
            ("call get(1, null)", "10"),
            ("alter table a drop constraint a_pkey; call get(1, null)", "10"),
            ("truncate a; call get(1, null)", "NULL"),
            ("drop table a", "DROP TABLE"),
            ("call get(1, null)", "42P01"),
            ("create table a (id int primary key, n bigint); insert into a values (1, 7)", "INSERT 0 1"),
            ("call get(1, null)", "7"),
            ("drop table a; create table a (id int); call get(1, null)", "42703"),
        ],
    );
}

/// A statement, and its error's code, message and position.
type Mistake = (&'static str, &'static str, &'static str, Option<u32>);

const WRONG_CALLS: &[Mistake] = &[
    ("call nope()", "42883", "procedure nope() does not exist", Some(6)),
    ("call pay(1)", "42883", "procedure pay(integer) does not exist", Some(6)),
    ("call pay(1, 2, 3, 4)", "42883", "procedure pay(integer, integer, integer, integer) does not exist", Some(6)),
    ("call pay(true, 2, null)", "42883", "procedure pay(boolean, integer, unknown) does not exist", Some(6)),
    ("call pay(5000000000, 2, null)", "42883", "procedure pay(bigint, integer, unknown) does not exist", Some(6)),
    ("call pay('x', 2, null)", "22P02", "invalid input syntax for type integer: \"x\"", Some(10)),
    (
        "call pay(nobody => 1, amount => 2, left_over => null)",
        "42883",
        "procedure pay(integer, integer, unknown) does not exist",
        Some(6),
    ),
    ("call pay", "42601", "syntax error: CALL needs parentheses", None),
    ("call pay(x, 1, 2)", "42703", "column \"x\" does not exist", Some(10)),
    (
        "create procedure pay(int, numeric) language sql as $$ $$",
        "42723",
        "function \"pay\" already exists with same argument types",
        None,
    ),
];

const WRONG_DEFINITIONS: &[Mistake] = &[
    (
        "create procedure p(a int, a int) language sql as $$ $$",
        "42P13",
        "parameter name \"a\" used more than once",
        None,
    ),
    (
        "create procedure p(a int default 1, b int) language sql as $$ $$",
        "42P13",
        "input parameters after one with a default value must also have defaults",
        None,
    ),
    ("create procedure p(a wrong) language sql as $$ $$", "42704", "type \"wrong\" does not exist", None),
    ("create procedure p(a int) language c as $$ $$", "42704", "language \"c\" does not exist", None),
    ("create procedure p() as $$ $$", "42P13", "no language specified", None),
    ("create procedure p() language sql", "42P13", "no function body specified", None),
    (
        "create procedure p() language sql as $$ select nope from a $$",
        "42703",
        "column \"nope\" does not exist",
        Some(48),
    ),
    (
        "create procedure p() language sql as $é$ select 'é', nope from a $é$",
        "42703",
        "column \"nope\" does not exist",
        Some(54),
    ),
    (
        "create procedure p() language sql begin atomic delete from nope; end",
        "42P01",
        "relation \"nope\" does not exist",
        Some(60),
    ),
    ("create procedure p() language sql as $$ selec 1 $$", "42601", "syntax error at or near \"selec\"", Some(41)),
    ("create procedure p() language sql as $$ select 1 + $$", "42601", "syntax error at end of input", Some(51)),
    ("create procedure p() language sql begin atomic delete from a", "42601", "syntax error at end of input", Some(61)),
    (
        "create procedure p() language sql begin atomic if true then delete from a; end",
        "42601",
        "syntax error at end of input",
        Some(79),
    ),
    (
        "create procedure p(x int) language sql as $$ if x then delete from a; end if $$",
        "42804",
        "argument of IF must be type boolean, not type integer",
        Some(49),
    ),
    (
        "create procedure p() language sql as $$ select n into x from a $$",
        "42601",
        "\"x\" is not a known variable",
        None,
    ),
    (
        "create procedure p() language sql as $$ declare x int; x date; begin end $$",
        "42601",
        "duplicate declaration at or near \"x\"",
        Some(56),
    ),
    (
        "create procedure p(x date) language sql as $$ select n into x from a $$",
        "42804",
        "variable \"x\" is of type date but expression is of type integer",
        None,
    ),
    (
        "create procedure p(x int) language sql as $$ select n, id into x from a $$",
        "42601",
        "INTO has 1 variable for 2 columns",
        None,
    ),
    (
        "create procedure p(x int) language sql as $$ delete from a where id = $2 $$",
        "42P02",
        "there is no parameter $2",
        Some(71),
    ),
    ("create procedure p() language sql as $$ commit $$", "0A000", "COMMIT in a procedure is not supported", Some(41)),
    (
        "create procedure p() language sql as $$ create table t (x int) $$",
        "0A000",
        "CREATE in a procedure is not supported",
        Some(41),
    ),
    (
        "create procedure p() language sql as $$ rollback; $$",
        "0A000",
        "ROLLBACK in a procedure is not supported",
        Some(41),
    ),
    ("drop procedure nope", "42883", "could not find a procedure named \"nope\"", None),
    ("drop procedure pay(int)", "42883", "procedure pay(integer) does not exist", None),
];

#[test]
fn mistakes_are_explained() {
    let database = database("serial");
    let mut session = session(&database);
    run(&mut session, ACCOUNTS);
    run(
        &mut session,
        "create procedure pay(who int, amount numeric, out left_over int) language sql as $$
        select n into left_over from a where id = who;
        update a set n = n / (amount::int - 5) where id = who $$",
    );
    run(
        &mut session,
        "create procedure twice(who int, amount numeric) language sql begin atomic
        declare x int;
        call pay(who, amount, x);
    end",
    );
    for (sql, state, message, position) in WRONG_CALLS.iter().chain(WRONG_DEFINITIONS) {
        let error = error(&mut session, sql);
        assert_eq!(
            (error.state.as_str(), error.message.as_str(), error.position),
            (*state, *message, *position),
            "{sql}"
        );
    }
    let error = error(&mut session, "call twice(1, 5)");
    assert_eq!((error.state.as_str(), error.position), ("22012", None));
    assert_eq!(error.context.as_deref(), Some("SQL function \"pay\" statement 2\nSQL function \"twice\" statement 1"));
    assert_eq!(outcome(&mut session, "select n from a where id = 1"), "10");
    let detail = common::error(&mut session, "call pay(1)").detail;
    assert_eq!(detail.as_deref(), Some("There is pay(who integer, amount numeric, OUT left_over integer)."));
    let (recorder, _) = query(&mut session, "drop procedure if exists nope(int)");
    assert_eq!(recorder.notices, ["NOTICE: procedure nope(integer) does not exist, skipping"]);
    let deep = |depth: usize| {
        let (open, close) = ("if true then ".repeat(depth), "end if; ".repeat(depth));
        format!("create or replace procedure deep() language sql as $$ {open} {close} $$; call deep()")
    };
    assert_eq!(outcome(&mut session, &deep(128)), "CALL");
    assert_eq!(outcome(&mut session, &deep(2000)), "54001");
    // So long a body is not read at all.
    assert_eq!(outcome(&mut session, &deep(100_000)), "54000");
}

#[test]
fn calls_come_through_the_extended_protocol() {
    for engine in ENGINES {
        let database = database(engine);
        let mut session = session(&database);
        run(&mut session, ACCOUNTS);
        run(
            &mut session,
            "create procedure add(key int, by int8, inout v int8 default 0) language sql as $$
            update a set n = n + by where id = key returning n + v into v $$",
        );
        let statement = session.parse("c", "call add($1, $2, $3)", &[]).expect("a statement");
        assert_eq!(statement.param_types(), [Type::Int4, Type::Int8, Type::Int8]);
        assert_eq!(statement.columns().map(|columns| columns[0].name.as_str()), Some("v"));
        for round in 1..=3 {
            bind(&mut session, &statement, &[Value::Int4(1), Value::Int8(5), Value::Int8(100)]).expect("bound");
            let (recorder, executed) = execute(&mut session, usize::from(round == 3));
            assert!(executed.is_ok(), "{executed:?}");
            assert_eq!(recorder.rows, [(110 + 5 * round).to_string()]);
            if round < 3 {
                assert_eq!((executed, &recorder.tags[..]), (Ok(Executed::Complete), &["CALL".to_owned()][..]));
            }
            session.sync().expect("committed");
        }
        run(
            &mut session,
            "create or replace procedure add(key int, by int8, inout v int8 default 0) language sql as $$
            v := 1 $$",
        );
        bind(&mut session, &statement, &[Value::Int4(1), Value::Int8(5), Value::Int8(100)]).expect("bound");
        assert_eq!(execute(&mut session, 0).0.rows, ["1"], "the new body");
        session.sync().expect("committed");
        run(&mut session, "drop procedure add");
        bind(&mut session, &statement, &[Value::Int4(1), Value::Int8(5), Value::Int8(100)]).expect("bound");
        let error = execute(&mut session, 0).1.expect_err("it is gone");
        assert_eq!(error.state.as_str(), "42883");
        session.sync().expect("nothing to commit");
    }
}

const TPC_B: &str = "
    create table pgbench_accounts (aid int primary key, bid int, abalance int, filler char(84));
    create table pgbench_tellers (tid int primary key, bid int, tbalance int, filler char(84));
    create table pgbench_branches (bid int primary key, bbalance int, filler char(88));
    create table pgbench_history (tid int, bid int, aid int, delta int, mtime timestamp, filler char(22));
    insert into pgbench_branches values (1, 0, ''), (2, 0, '');
    insert into pgbench_tellers values (1, 1, 0, ''), (2, 1, 0, ''), (3, 2, 0, '');
    insert into pgbench_accounts values (1, 1, 0, ''), (2, 1, 0, ''), (3, 2, 0, ''), (4, 2, 0, '')";

const TPC_B_STATEMENTS: &str = "
    update pgbench_accounts set abalance = abalance + :delta where aid = :aid;
    select abalance from pgbench_accounts where aid = :aid;
    update pgbench_tellers set tbalance = tbalance + :delta where tid = :tid;
    update pgbench_branches set bbalance = bbalance + :delta where bid = :bid;
    insert into pgbench_history (tid, bid, aid, delta, mtime) values (:tid, :bid, :aid, :delta, current_timestamp)";

const TPC_B_PROCEDURE: &str = "
    create procedure tpcb(account int, branch int, teller int, delta int, out balance int) language plpgsql as $$
    begin
        update pgbench_accounts set abalance = abalance + delta where aid = account returning abalance into balance;
        update pgbench_tellers set tbalance = tbalance + delta where tid = teller;
        update pgbench_branches set bbalance = bbalance + delta where bid = branch;
        insert into pgbench_history (tid, bid, aid, delta, mtime)
            values (teller, branch, account, delta, current_timestamp);
    end $$";

#[test]
fn tpc_b_is_a_procedure() {
    const ROWS: [&str; 4] = [
        "select aid, abalance from pgbench_accounts order by aid",
        "select tid, tbalance from pgbench_tellers order by tid",
        "select bid, bbalance from pgbench_branches order by bid",
        "select tid, bid, aid, delta from pgbench_history",
    ];
    let transactions = [(1, 1, 1, 100), (2, 1, 2, -50), (3, 2, 3, 7), (1, 2, 1, -4999), (9, 9, 9, 1)];
    for engine in ENGINES {
        let databases = [database(engine), database(engine)];
        let [mut by_statement, mut by_call] = [session(&databases[0]), session(&databases[1])];
        run(&mut by_statement, TPC_B);
        run(&mut by_call, TPC_B);
        run(&mut by_call, TPC_B_PROCEDURE);
        for (aid, bid, tid, delta) in transactions {
            let mut statements = TPC_B_STATEMENTS.to_owned();
            for (name, value) in [(":aid", aid), (":bid", bid), (":tid", tid), (":delta", delta)] {
                statements = statements.replace(name, &value.to_string());
            }
            run(&mut by_statement, &statements);
            let balance =
                outcome(&mut by_statement, &format!("select abalance from pgbench_accounts where aid = {aid}"));
            let balance = if balance.is_empty() { "NULL" } else { &balance };
            assert_eq!(
                outcome(&mut by_call, &format!("call tpcb({aid}, {bid}, {tid}, {delta}, null)")),
                balance,
                "{engine}"
            );
        }
        for sql in ROWS {
            assert_eq!(outcome(&mut by_call, sql), outcome(&mut by_statement, sql), "{engine}: {sql}");
        }
    }
}

const TPC_C: &str = "
    create table warehouse (w_id int primary key, w_ytd numeric(12,2) not null, w_name varchar(10) not null);
    create table district (d_w_id int, d_id int, d_ytd numeric(12,2) not null, d_name varchar(10) not null,
        primary key (d_w_id, d_id));
    create table customer (c_w_id int, c_d_id int, c_id int, c_credit char(2) not null, c_last varchar(16) not null,
        c_first varchar(16) not null, c_balance numeric(12,2) not null, c_ytd_payment float not null,
        c_payment_cnt int not null, c_data varchar(500) not null, primary key (c_w_id, c_d_id, c_id));
    create index customer_name on customer (c_w_id, c_d_id, c_last, c_first);
    create table history (h_c_id int, h_c_d_id int, h_c_w_id int, h_d_id int, h_w_id int, h_date timestamp,
        h_amount numeric(6,2), h_data varchar(24));
    insert into warehouse values (1, 300, 'Eastgate'), (2, 300, 'Westgate');
    insert into district values (1, 1, 30, 'Old Town'), (2, 1, 30, 'Harbour');
    insert into customer values
        (1, 1, 1, 'GC', 'BARBARBAR', 'c', -10, 10, 1, 'first'), (1, 1, 2, 'BC', 'BARBARBAR', 'a', -10, 10, 1, 'second'),
        (1, 1, 3, 'BC', 'BARBARBAR', 'b', -10, 10, 1, 'third'), (1, 1, 4, 'GC', 'OUGHTOUGHT', 'x', -10, 10, 1, 'fourth'),
        (2, 1, 1, 'GC', 'BARBARBAR', 'd', -10, 10, 1, 'fifth'), (2, 1, 2, 'GC', 'BARBARBAR', 'e', -10, 10, 1, 'sixth')";

const PAYMENT: &str = "
    create procedure payment(warehouse_id int, district_id int, home_warehouse int, home_district int, name varchar(16),
        amount numeric, paid timestamp, inout customer_id int, out balance numeric, out data varchar(500))
    language plpgsql as $$
    declare
        warehouse_name varchar(10);
        district_name varchar(10);
        credit char(2);
        namesakes bigint;
    begin
        update warehouse set w_ytd = w_ytd + amount where w_id = warehouse_id returning w_name into warehouse_name;
        update district set d_ytd = d_ytd + amount where d_w_id = warehouse_id and d_id = district_id
            returning d_name into district_name;
        if customer_id is null then
            select count(*) into namesakes from customer
                where c_w_id = home_warehouse and c_d_id = home_district and c_last = name;
            namesakes := (namesakes - 1) / 2;
            select c_id into customer_id from customer
                where c_w_id = home_warehouse and c_d_id = home_district and c_last = name
                order by c_first limit 1 offset namesakes;
        end if;
        update customer
            set c_balance = c_balance - amount, c_ytd_payment = c_ytd_payment + amount, c_payment_cnt = c_payment_cnt + 1
            where c_w_id = home_warehouse and c_d_id = home_district and c_id = customer_id
            returning c_balance, c_credit into balance, credit;
        if credit = 'BC' then
            update customer set c_data = left(concat(customer_id, ' ', home_district, ' ', home_warehouse, ' ',
                    district_id, ' ', warehouse_id, ' ', amount, '|', c_data), 500)
                where c_w_id = home_warehouse and c_d_id = home_district and c_id = customer_id
                returning c_data into data;
        end if;
        insert into history values (customer_id, home_district, home_warehouse, district_id, warehouse_id, paid, amount,
            concat(warehouse_name, '    ', district_name));
    end $$";

/// Payment as a terminal does it, one statement after the other; what it shows.
fn pay(
    session: &mut Session,
    (w, d, c_w, c_d): (i32, i32, i32, i32),
    name: &str,
    amount: &str,
    id: Option<i32>,
) -> String {
    run(session, "begin");
    let warehouse =
        outcome(session, &format!("update warehouse set w_ytd = w_ytd + {amount} where w_id = {w} returning w_name"));
    let district = outcome(
        session,
        &format!("update district set d_ytd = d_ytd + {amount} where d_w_id = {w} and d_id = {d} returning d_name"),
    );
    let id = id.unwrap_or_else(|| {
        let whose = format!("c_w_id = {c_w} and c_d_id = {c_d} and c_last = '{name}'");
        let namesakes = outcome(session, &format!("select c_id from customer where {whose} order by c_first"));
        let namesakes: Vec<_> = namesakes.split(' ').collect();
        namesakes[namesakes.len().div_ceil(2) - 1].parse().expect("a number")
    });
    let which = format!("c_w_id = {c_w} and c_d_id = {c_d} and c_id = {id}");
    let set = format!("c_balance = c_balance - {amount}, c_ytd_payment = c_ytd_payment + {amount}");
    let paid = outcome(
        session,
        &format!(
            "update customer set {set}, c_payment_cnt = c_payment_cnt + 1 where {which} returning c_balance, c_credit"
        ),
    );
    let (balance, credit) = paid.split_once('|').expect("two columns");
    let mut data = "NULL".to_owned();
    if credit == "BC" {
        let more = format!("'{id} {c_d} {c_w} {d} {w} {amount}|' || c_data");
        data =
            outcome(session, &format!("update customer set c_data = left({more}, 500) where {which} returning c_data"));
    }
    let history = format!("{id}, {c_d}, {c_w}, {d}, {w}, '2020-02-29', {amount}, '{warehouse}    {district}'");
    run(session, &format!("insert into history values ({history}); commit"));
    format!("{id}|{balance}|{data}")
}

#[test]
fn tpc_cs_payment_is_a_procedure() {
    let payments = [
        ((1, 1, 1, 1), "", "12.50", Some(1)),
        ((1, 1, 1, 1), "BARBARBAR", "7.25", None),
        ((2, 1, 1, 1), "OUGHTOUGHT", "100.00", None),
        ((1, 1, 2, 1), "BARBARBAR", "3.75", None),
        ((2, 1, 1, 1), "", "5000.00", Some(2)),
        ((2, 1, 1, 1), "", "1.00", Some(2)),
    ];
    for engine in ENGINES {
        let databases = [database(engine), database(engine)];
        let [mut by_statement, mut by_call] = [session(&databases[0]), session(&databases[1])];
        run(&mut by_statement, TPC_C);
        run(&mut by_call, TPC_C);
        run(&mut by_call, PAYMENT);
        for (places @ (w, d, c_w, c_d), name, amount, id) in payments {
            let shown = id.map_or("null".to_owned(), |id| id.to_string());
            let arguments = format!("{w}, {d}, {c_w}, {c_d}, '{name}', {amount}, '2020-02-29', {shown}");
            let called = outcome(&mut by_call, &format!("call payment({arguments}, null, null)"));
            assert_eq!(called, pay(&mut by_statement, places, name, amount, id), "{engine}: {arguments}");
        }
        for table in [
            "warehouse order by 1",
            "district order by d_w_id",
            "customer order by c_w_id, c_id",
            "history order by 1, 7",
        ] {
            let sql = format!("select * from {table}");
            assert_eq!(outcome(&mut by_call, &sql), outcome(&mut by_statement, &sql), "{engine}: {table}");
        }
        assert_eq!(outcome(&mut by_call, "select count(*), sum(c_payment_cnt) from customer"), "6|12");
    }
}
