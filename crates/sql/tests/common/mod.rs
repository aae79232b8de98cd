//! A database with a session whose client writes everything down.

#![allow(dead_code, reason = "each test file uses a part")]

use hotrow_sql::{
    Client, Config, CopyEncoding, Database, Executed, Notice, OutputColumn, Session, SqlError, Statement, types,
};
use hotrow_storage::{Type, Value};
use hotrow_sync::{Arc, Waiter, thread};
use std::time::Duration;

/// The engines that sessions can use.
pub const ENGINES: [&str; 12] = [
    "serial",
    "2pl-timeout",
    "2pl-waitdie",
    "1v",
    "ilock",
    "row-nowait",
    "mvo",
    "mvl",
    "2pl-ordered",
    "2pl-atomic",
    "orthrus",
    "vll",
];

/// Tables of which some rows match and some do not.
pub const MATCHING: &str = "create table a (id int primary key, g int, t text);
    create table b (id int primary key, a_id int, n int8, c text);
    create index b_a on b (a_id);
    create table c (x int, y int, primary key (x, y));
    insert into a values (1, 10, 'one'), (2, 20, 'two'), (3, null, 'three'), (4, 20, null);
    insert into b values (1, 1, 5, 'ab'), (2, 1, 6, 'cd'), (3, 2, 7, null), (4, null, 8, 'ef'), (5, 9, 9, 'gh');
    insert into c values (1, 1), (1, 2), (2, 1), (3, 5);";

/// An empty database.
pub fn database(engine: &str) -> Arc<Database> {
    let engine = hotrow_protocols::open(engine).expect("an engine of this name");
    Database::new(engine, Config { uncertain_wait: Duration::from_millis(200), ..Config::default() })
}

pub fn session(database: &Arc<Database>) -> Session {
    database.session("ada", Waiter::thread(Duration::from_micros(20)))
}

/// A client that keeps what it is told.
#[derive(Debug, Default)]
pub struct Recorder {
    pub columns: Vec<OutputColumn>,
    pub rows: Vec<String>,
    pub tags: Vec<String>,
    pub notices: Vec<String>,
    pub parameters: Vec<(String, String)>,
    /// Data for COPY FROM, in pieces.
    pub input: Vec<Vec<u8>>,
    pub output: Vec<u8>,
}

impl Client for Recorder {
    fn columns(&mut self, columns: &[OutputColumn]) -> Result<(), SqlError> {
        self.columns = columns.to_vec();
        Ok(())
    }

    fn row(&mut self, values: &[Value<'_>]) -> Result<(), SqlError> {
        let shown: Vec<_> = values
            .iter()
            .enumerate()
            .map(|(at, value)| {
                let ty = self.columns.get(at).map_or(Type::Text, |column| column.ty);
                show(value, ty)
            })
            .collect();
        self.rows.push(shown.join("|"));
        Ok(())
    }

    fn complete(&mut self, tag: &str) -> Result<(), SqlError> {
        self.tags.push(tag.to_owned());
        Ok(())
    }

    fn empty(&mut self) -> Result<(), SqlError> {
        self.tags.push("(empty)".to_owned());
        Ok(())
    }

    fn notice(&mut self, notice: Notice) {
        self.notices.push(format!("{}: {}", notice.severity, notice.error.message));
    }

    fn parameter(&mut self, name: &str, value: &str) {
        self.parameters.push((name.to_owned(), value.to_owned()));
    }

    fn copy_in(&mut self, _encoding: CopyEncoding, _columns: usize) -> Result<(), SqlError> {
        Ok(())
    }

    fn copy_data(&mut self, buffer: &mut Vec<u8>) -> Result<bool, SqlError> {
        buffer.clear();
        if self.input.is_empty() {
            return Ok(false);
        }
        *buffer = self.input.remove(0);
        Ok(true)
    }

    fn copy_out(&mut self, _encoding: CopyEncoding, _columns: usize) -> Result<(), SqlError> {
        Ok(())
    }

    fn copy_piece(&mut self, bytes: &[u8]) -> Result<(), SqlError> {
        self.output.extend_from_slice(bytes);
        Ok(())
    }
}

fn show(value: &Value<'_>, ty: Type) -> String {
    if value.is_null() {
        return "NULL".to_owned();
    }
    let mut out = bytes::BytesMut::new();
    types::encode_text(value, ty, types::Styles::default(), &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// A client that looks at each row, and at nothing else.
pub struct EachRow<F>(pub F);

impl<F: FnMut(&[Value<'_>])> Client for EachRow<F> {
    fn columns(&mut self, _columns: &[OutputColumn]) -> Result<(), SqlError> {
        Ok(())
    }

    fn row(&mut self, values: &[Value<'_>]) -> Result<(), SqlError> {
        (self.0)(values);
        Ok(())
    }

    fn complete(&mut self, _tag: &str) -> Result<(), SqlError> {
        Ok(())
    }

    fn empty(&mut self) -> Result<(), SqlError> {
        Ok(())
    }

    fn notice(&mut self, _notice: Notice) {}

    fn parameter(&mut self, _name: &str, _value: &str) {}
}

/// Runs a query string. At each of its rows, while its transaction may be open, another session runs statements, each
/// of which comes to what is expected. How many rows there were.
pub fn meanwhile(session: &mut Session, sql: &str, other: &mut Session, statements: &[(&str, &str)]) -> usize {
    let mut rows = 0;
    let mut client = EachRow(|_: &[Value<'_>]| {
        rows += 1;
        for (statement, expected) in statements {
            assert_eq!(outcome(other, statement), *expected, "{statement}");
        }
    });
    session.simple_query(sql, &mut client).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    rows
}

/// Runs a query string.
pub fn query(session: &mut Session, sql: &str) -> (Recorder, Result<(), SqlError>) {
    let mut recorder = Recorder::default();
    let result = session.simple_query(sql, &mut recorder);
    (recorder, result)
}

/// Runs a query string and returns its outcome in one line: the rows or the last tag, or the error's code.
pub fn outcome(session: &mut Session, sql: &str) -> String {
    let (recorder, result) = query(session, sql);
    match result {
        Err(error) => error.state.as_str().to_owned(),
        Ok(()) if recorder.columns.is_empty() => recorder.tags.last().cloned().unwrap_or_default(),
        Ok(()) => recorder.rows.join(" "),
    }
}

/// Runs a query string on a thread of its own, and returns when its session waits and its blockers are certain.
pub fn waiting(
    database: &Arc<Database>,
    mut session: Session,
    sql: &str,
) -> (Waiter, thread::JoinHandle<(Session, String)>) {
    let (id, waiter) = (session.id(), session.waiter().clone());
    let sql = sql.to_owned();
    let thread = thread::spawn(move || {
        let outcome = outcome(&mut session, &sql);
        (session, outcome)
    });
    let mut watcher = self::session(database);
    let asked =
        format!("select 1 where exists (select 1 from hotrow_blocking where waiting_pid = {id} and is_certain)");
    while outcome(&mut watcher, &asked) != "1" {
        thread::yield_now();
    }
    (waiter, thread)
}

/// Runs statements that must succeed.
pub fn run(session: &mut Session, sql: &str) {
    let (_, result) = query(session, sql);
    result.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
}

/// The error of a query string.
pub fn error(session: &mut Session, sql: &str) -> SqlError {
    query(session, sql).1.expect_err(sql)
}

/// Checks query strings one after the other in one session, on every engine.
pub fn check(setup: &str, cases: &[(&str, &str)]) {
    for engine in ENGINES {
        let database = database(engine);
        let mut session = session(&database);
        if !setup.is_empty() {
            run(&mut session, setup);
        }
        for (sql, expected) in cases {
            assert_eq!(outcome(&mut session, sql), *expected, "{engine}: {sql}");
        }
    }
}

/// Binds a statement to the unnamed portal.
pub fn bind(session: &mut Session, statement: &Arc<Statement>, values: &[Value<'static>]) -> Result<(), SqlError> {
    session.bind("", statement, &mut |params| {
        params.extend_from_slice(values);
        Ok(())
    })
}

/// Executes the unnamed portal.
pub fn execute(session: &mut Session, max_rows: usize) -> (Recorder, Result<Executed, SqlError>) {
    let mut recorder = Recorder::default();
    let result = session.execute("", max_rows, &mut recorder);
    (recorder, result)
}

/// Checks that each of these changes of a type waits for a transaction with one of these definitions that use the type,
/// and succeeds after it.
pub fn change_waits_for_definitions(setup: &str, users: &[&str], changes: &[&str]) {
    for user in users {
        for change in changes {
            let (mut first, mut second) = beside_each_other(setup, user);
            assert_eq!(outcome(&mut second, change), "55P03", "{user}: {change}");
            run(&mut first, "rollback");
            let kind = change.split(' ').nth(1).expect("the kind of the object").to_uppercase();
            let done = outcome(&mut second, change);
            assert!(done.ends_with(&format!(" {kind}")), "{user}: {change}: {done}");
        }
    }
}

/// Checks that each of these definitions waits for a transaction with a change of a type that it uses, and succeeds
/// after it.
pub fn definition_waits_for_change(setup: &str, users: &[&str], change: &str) {
    for user in users {
        let (mut first, mut second) = beside_each_other(setup, change);
        assert_eq!(outcome(&mut second, user), "55P03", "{user}");
        run(&mut first, "commit");
        run(&mut second, user);
    }
}

/// Returns a session that has run `setup` and begun a transaction with `statement`, and one that waits for locks no
/// longer than 10 ms.
fn beside_each_other(setup: &str, statement: &str) -> (Session, Session) {
    let database = database("ilock");
    let (mut first, mut second) = (session(&database), session(&database));
    run(&mut first, setup);
    run(&mut first, &format!("begin; {statement}"));
    run(&mut second, "set lock_timeout = '10ms'");
    (first, second)
}
