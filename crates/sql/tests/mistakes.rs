//! Broken and nonsensical statements: every one gets an answer, and the session lives on.

mod common;

use common::{database, outcome, query, run, session};
use hotrow_storage::mix;

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = mix(self.0.wrapping_add(0x9E37_79B9_7F4A_7C15));
        (self.0 >> 33) as usize % sides
    }
}

const WORDS: &str = "select insert into update delete from where values set t u id n name day * ( ) , ; = <> < > <= + - / % || \
    'a' '' '1' '2020-01-01' 1 0 -1 2147483648 99999999999999999999 1.5 1e400 null true false and or not in is like between case \
    when then else end as order by group having limit offset count sum avg min max distinct coalesce nullif abs length substring \
    round extract year now :: int int2 text numeric(3,1) date uuid bytea char(2) $1 begin commit rollback savepoint to a release \
    create table primary key unique check default index on drop alter add constraint truncate copy stdin stdout with csv explain \
    prepare execute deallocate returning for update join left full lateral using on exists any union except with \" ' /* -- E'\\x' $$ . [ ] ^ & | # ~ ! @";

const STATEMENTS: [&str; 24] = [
    "select id, n + 1 as m, name || 'x' from t where id = 1 and n > 2 order by m desc limit 3 offset 1",
    "select name, count(*), sum(n), avg(n) from t where day is not null group by name having count(*) > 0 order by 1",
    "insert into t (id, n, name) values (1, 2, 'a'), (2, default, null) returning id, name",
    "insert into t select n, id, name, day from t where id between 1 and 5",
    "update t set n = n * 2 + 1, name = upper(name) where id in (1, 2, 3) returning *",
    "delete from t where name like 'a%' or day < date '2020-01-01' returning id",
    "select case when n = 1 then 'one' else name end, coalesce(n, 0), cast(id as text) from t",
    "create table u (id int primary key, v varchar(3) not null default 'x' unique, check (id > 0))",
    "create unique index i on t (n, name)",
    "create table u (id int, v int not null, primary key (v, id)) partition by hash (v)",
    "create table u partition of t for values with (modulus 4, remainder 0)",
    "alter table t add constraint c check (n > 0)",
    "select substring(name from 2 for 1), extract(year from day), round(n::numeric / 3, 2) from t",
    "begin; savepoint a; insert into t values (7); rollback to a; commit",
    "copy t (id, n) to stdout with (format csv, header)",
    "prepare p (int) as select * from t where id = $1; execute p(1); deallocate p",
    "select a.id , b.n from t a left join t b on a.id = b.n and b.n > 1 where a.name is null order by 1 , 2",
    "select id , ( select max ( n ) from t x where x.id = t.n ) from t where exists ( select 1 from t y where y.n = t.id )",
    "with w as ( select id , n from t ) select * from w join w v using ( id ) where w.n in ( select n from t )",
    "select id from t union all select n from t except select 1 order by 1 limit 2",
    "update t set n = x.n + 1 from t x where x.id = t.id and x.n = any ( select n from t ) returning t.id , x.n",
    "select id , sum ( n ) over ( partition by name order by id rows between 1 preceding and current row exclude ties ) from t",
    "select rank ( ) over w , lag ( n , 1 , 0 ) over ( w order by id ) from t window w as ( partition by n ) order by ntile ( 2 ) over w",
    "delete from t using ( values ( 1 ) , ( 2 ) ) v ( k ) , lateral ( select k + 1 as m ) l where t.id = l.m",
];

#[test]
fn no_statement_panics_or_ends_the_session() {
    let database = database("2pl-timeout");
    let mut dice = Dice(42);
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    for round in 0..6000 {
        let mut session = session(&database);
        if round % 50 == 0 {
            run(&mut session, "drop table if exists t, u; drop table if exists u");
            run(&mut session, "create table t (id int primary key, n int, name text, day date)");
            run(
                &mut session,
                "insert into t values (1, 1, 'a', '2020-01-01'), (2, null, null, null), (3, 3, 'c', null)",
            );
        }
        let mut tokens: Vec<&str> = if round % 3 == 0 {
            (0..dice.roll(15)).map(|_| words[dice.roll(words.len())]).collect()
        } else {
            STATEMENTS[dice.roll(STATEMENTS.len())].split(' ').collect()
        };
        for _ in 0..dice.roll(5) {
            let at = dice.roll(tokens.len().max(1)).min(tokens.len());
            match dice.roll(3) {
                0 if at < tokens.len() => drop(tokens.remove(at)),
                1 => tokens.insert(at, words[dice.roll(words.len())]),
                _ if at < tokens.len() => tokens[at] = words[dice.roll(words.len())],
                _ => {}
            }
        }
        let sql = tokens.join(" ");
        let (_, result) = query(&mut session, &sql);
        if let Err(error) = result {
            assert_ne!(error.state.as_str(), "XX000", "{sql}: {error}");
            assert!(!error.message.is_empty(), "{sql}");
            assert!(error.position.is_none_or(|at| at as usize <= sql.chars().count() + 1), "{sql}: {error:?}");
        }
        let _ = query(&mut session, "rollback");
        assert_eq!(outcome(&mut session, "select 1"), "1", "after {sql}");
        if round % 7 == 0 {
            let statement = session.parse("", &sql, &[]);
            assert!(
                statement.is_err_and(|error| error.state.as_str() != "XX000") || session.statement("").is_ok(),
                "{sql}"
            );
            session.sync().expect("nothing to commit");
        }
    }
}
