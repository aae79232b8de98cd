//! Many clients of a server move money, and are cancelled and killed on the way. Afterwards the sums agree, no
//! acknowledged commit is lost, and nothing is left of clients that are gone: no lock, no connection, no memory.
//!
//! The long form:
//! `HOTROW_SOAK_SECONDS=600 HOTROW_SOAK_CLIENTS=300 cargo test --release -p hotrow --test soak -- --nocapture`.
//! `HOTROW_SOAK_SERVERS=ilock:coroutine,mvo:thread` selects engines and execution models, `HOTROW_SOAK_SEED` the random
//! choices of the clients.

use hotrow::runtime::Random;
use std::collections::BTreeMap;
use std::fs;
use std::future::Future;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tokio::task::{JoinHandle, JoinSet, yield_now};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error, NoTls, SimpleQueryMessage};

/// The number of accounts between which money moves. There are few, so that clients meet.
const ACCOUNTS: u64 = 100;

/// A client that waits longer than this is assumed to hang.
const PATIENCE: Duration = Duration::from_secs(120);

fn set(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text}: expected a number")))
}

/// The load of the clients.
#[derive(Clone, Copy, Debug)]
struct Load {
    clients: u64,
    /// The transactions of each client in each wave, unless `wave` sets a time.
    transactions: u64,
    wave: Option<Duration>,
    seed: u64,
}

impl Load {
    fn chosen() -> Self {
        Self {
            clients: set("HOTROW_SOAK_CLIENTS").unwrap_or(60),
            transactions: 6,
            wave: set("HOTROW_SOAK_SECONDS").map(|seconds| Duration::from_secs(seconds) / WAVES),
            seed: set("HOTROW_SOAK_SEED").unwrap_or(1),
        }
    }
}

/// The number of waves. The state after each wave is compared with the state after the one before.
const WAVES: u32 = 2;

/// The memory by which a later wave may exceed the first: the figure's own error, before and after, and space for other
/// rows.
const USED_KIB: usize = 3 << 10;

/// A server in a separate process.
struct Server {
    child: Child,
    port: u16,
}

/// The resources of a process, as the system reports them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Footprint {
    descriptors: usize,
    threads: usize,
    resident_kib: usize,
}

/// The state of the server after a wave, with only one client connected.
#[derive(Clone, Copy, Debug)]
struct Rest {
    /// `None` if the system does not report it.
    footprint: Option<Footprint>,
    /// The memory that was requested from the allocator and not given back, plus the memory that tables map.
    used_kib: usize,
}

impl Server {
    fn start(engine: &str, execution: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hotrow"));
        let line =
            format!("serve --in-memory --listen 127.0.0.1:0 --stop-at-eof --engine {engine} --execution {execution}");
        command.args(line.split_whitespace()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("a line");
        let address = line.split_whitespace().find_map(|word| word.strip_prefix("127.0.0.1:")).expect("an address");
        let port = address.trim_end_matches(';').parse().expect("a port");
        child.stdout = Some(stdout.into_inner());
        Self { child, port }
    }

    /// The resources of the process; `None` if the system does not report them.
    fn footprint(&self) -> Option<Footprint> {
        let process = format!("/proc/{}", self.child.id());
        let status = fs::read_to_string(format!("{process}/status")).ok()?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse().ok()
        };
        Some(Footprint {
            descriptors: fs::read_dir(format!("{process}/fd")).ok()?.count(),
            threads: field("Threads:")?,
            resident_kib: field("VmRSS:")?,
        })
    }

    async fn connect(&self) -> Visit {
        Visit::begin(self.port).await
    }

    /// Ends the server in order, and checks that it has printed no complaint.
    fn stop(mut self) {
        drop(self.child.stdin.take());
        let mut complaints = String::new();
        let mut stderr = self.child.stderr.take().expect("a pipe");
        stderr.read_to_string(&mut complaints).expect("text");
        let status = self.child.wait().expect("the program ends");
        assert!(status.success() && complaints.is_empty(), "{status}: {complaints}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection. Dropping it closes the socket at once.
struct Visit {
    client: Client,
    connection: JoinHandle<()>,
}

impl Visit {
    async fn begin(port: u16) -> Self {
        let config = format!(
            "host=127.0.0.1 port={port} user=postgres dbname=postgres options='-c deadlock_timeout=50ms -c lock_timeout=10s'"
        );
        let (client, connection) = tokio_postgres::connect(&config, NoTls).await.expect("the server lets everybody in");
        // If a connection is closed in the middle, an error is expected.
        let connection = tokio::spawn(async move { drop(connection.await) });
        Self { client, connection }
    }

    /// Returns the rows of a query, as text.
    async fn rows(&self, sql: &str) -> Result<Vec<Vec<String>>, Error> {
        let mut rows = Vec::new();
        for message in self.client.simple_query(sql).await? {
            if let SimpleQueryMessage::Row(row) = message {
                rows.push((0..row.len()).map(|column| row.get(column).unwrap_or("NULL").to_owned()).collect());
            }
        }
        Ok(rows)
    }

    async fn run(&self, sql: &str) -> Vec<Vec<String>> {
        self.rows(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"))
    }

    async fn value(&self, sql: &str) -> String {
        self.run(sql).await.concat().concat()
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

/// The outcome of one client's transactions.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    /// The commits that were acknowledged.
    committed: u64,
    /// The commits that were sent before the client was gone.
    unknown: u64,
    aborted: u64,
    cancelled: u64,
    /// How often the client vanished in the middle of a statement, and between two.
    vanished: [u64; 2],
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        self.committed += other.committed;
        self.unknown += other.unknown;
        self.aborted += other.aborted;
        self.cancelled += other.cancelled;
        self.vanished[0] += other.vanished[0];
        self.vanished[1] += other.vanished[1];
    }
}

/// The reason why a client did not continue a transaction.
enum Broken {
    /// The transaction was aborted, and may be retried.
    Aborted,
    /// The client is gone.
    Vanished,
}

/// A client that comes again each time after it has vanished.
struct Patron {
    number: u64,
    port: u16,
    random: Random,
    tally: Tally,
}

impl Patron {
    async fn run(mut self, load: Load) -> (u64, Tally) {
        let end = load.wave.map(|wave| Instant::now() + wave);
        let done = |patron: &Self, ended: u64| match end {
            Some(end) => Instant::now() >= end,
            None => ended >= load.transactions && patron.tally.committed > 0,
        };
        let mut ended = 0;
        while !done(&self, ended) {
            let visit = Visit::begin(self.port).await;
            while !done(&self, ended) {
                ended += 1;
                match self.transfer(&visit).await {
                    Ok(()) => {}
                    Err(Broken::Vanished) => break,
                    Err(Broken::Aborted) => {
                        self.tally.aborted += 1;
                        // A late cancel request may hit the rollback.
                        while let Err(error) = visit.rows("ROLLBACK").await {
                            assert_eq!(error.code(), Some(&SqlState::QUERY_CANCELED), "{error:?}");
                        }
                    }
                }
            }
        }
        (self.number, self.tally)
    }

    /// Moves money from one account to another, and records that in the books: the client's page has one line, the
    /// last.
    async fn transfer(&mut self, visit: &Visit) -> Result<(), Broken> {
        let (number, amount) = (self.number, 1 + self.random.below(100));
        let (one, other) = (self.random.below(ACCOUNTS), self.random.below(ACCOUNTS));
        // Most transfers lock accounts in one order; the others may be in a deadlock.
        let in_order = (one < other) != self.random.chance(3);
        let (from, to) = if in_order { (one, other) } else { (other, one) };
        self.step(visit, "BEGIN").await?;
        self.step(visit, &format!("UPDATE patron SET transfers = transfers + 1 WHERE id = {number}")).await?;
        self.step(visit, &format!("DELETE FROM book WHERE patron = {number}")).await?;
        self.step(visit, &format!("UPDATE account SET balance = balance - {amount} WHERE id = {from}")).await?;
        self.step(visit, &format!("UPDATE account SET balance = balance + {amount} WHERE id = {to}")).await?;
        let line = self.random.below(1 << 30);
        self.step(visit, &format!("INSERT INTO book VALUES ({line}, {number}, {amount})")).await?;
        let vanished = self.tally.vanished[0];
        let committed = self.step(visit, "COMMIT").await;
        self.tally.unknown += self.tally.vanished[0] - vanished;
        committed?;
        self.tally.committed += 1;
        Ok(())
    }

    /// Executes a statement, unless the client is killed before its end, or cancels it.
    async fn step(&mut self, visit: &Visit, sql: &str) -> Result<(), Broken> {
        let statement = visit.rows(sql);
        let moments = self.random.below(8);
        match self.random.below(1000) {
            0..5 => {
                self.tally.vanished[0] += 1;
                leave_after(moments, statement).await;
                Err(Broken::Vanished)
            }
            5..10 => {
                self.tally.vanished[1] += 1;
                Err(Broken::Vanished)
            }
            10..20 => {
                let token = visit.client.cancel_token();
                let cancel = async {
                    moments_later(moments).await;
                    token.cancel_query(NoTls).await.expect("the server takes cancel requests");
                };
                let pauses = moments.is_multiple_of(2);
                // Most statements are over when the request arrives; a pause is not.
                let statement = async {
                    if pauses {
                        visit.rows("SELECT pg_sleep(0.1)").await?;
                    }
                    statement.await
                };
                let (outcome, ()) = tokio::join!(statement, cancel);
                self.judge(sql, outcome)
            }
            _ => {
                let outcome = tokio::time::timeout(PATIENCE, statement).await;
                self.judge(sql, outcome.unwrap_or_else(|_| panic!("{sql} hangs")))
            }
        }
    }

    fn judge(&mut self, sql: &str, outcome: Result<Vec<Vec<String>>, Error>) -> Result<(), Broken> {
        let Err(error) = outcome else { return Ok(()) };
        match error.code() {
            Some(code) if *code == SqlState::QUERY_CANCELED => self.tally.cancelled += 1,
            Some(code) if code.code().starts_with("40") || *code == SqlState::LOCK_NOT_AVAILABLE => {}
            _ => panic!("{sql}: {error:?}"),
        }
        Err(Broken::Aborted)
    }
}

async fn moments_later(moments: u64) {
    for _ in 0..moments {
        yield_now().await;
    }
}

/// Gives a statement up after `moments` moments, if it has not ended by then.
async fn leave_after<T>(moments: u64, statement: impl Future<Output = T>) {
    tokio::select! {
        biased;
        _ = statement => {}
        () = moments_later(1 + moments) => {}
    }
}

/// Makes and fills the tables. Returns the resources that the server had before, with one connection.
async fn fill(server: &Server, load: Load) -> Option<Footprint> {
    let visit = server.connect().await;
    let fresh = server.footprint();
    visit.run("CREATE TABLE account (id int PRIMARY KEY, balance int8 NOT NULL)").await;
    visit.run("CREATE TABLE patron (id int PRIMARY KEY, transfers int8 NOT NULL)").await;
    // The lines of many pages lie side by side, so inserts and deletes meet in the gaps.
    visit.run("CREATE TABLE book (line int8, patron int, amount int8, PRIMARY KEY (line, patron))").await;
    visit.run("CREATE INDEX page ON book (patron)").await;
    for id in 0..ACCOUNTS {
        visit.run(&format!("INSERT INTO account VALUES ({id}, 0)")).await;
    }
    for id in 0..load.clients {
        visit.run(&format!("INSERT INTO patron VALUES ({id}, 0)")).await;
    }
    fresh
}

/// Waits until the server has noticed that all clients but one are gone. Returns its state then. `fresh` is its state
/// with one client before.
async fn at_rest(server: &Server, fresh: Option<Footprint>) -> Rest {
    let (visit, deadline) = (server.connect().await, Instant::now() + PATIENCE);
    loop {
        let now = server.footprint();
        if now.map(|now| now.descriptors) == fresh.map(|fresh| fresh.descriptors) {
            let used = visit.value("SHOW hotrow.memory").await;
            let used_kib = used.trim_end_matches(" kB").parse().expect("a number of kB");
            return Rest { footprint: now, used_kib };
        }
        assert!(Instant::now() < deadline, "connections are left: {now:?}, {fresh:?} with one");
        visit.run("SELECT 1").await;
    }
}

/// Checks what must hold when no client is left: the sums agree, all that was acknowledged is there, and nothing is
/// locked.
async fn check(server: &Server, engine: &str, tallies: &BTreeMap<u64, Tally>) {
    let visit = server.connect().await;
    let mut locks = visit.value("SHOW hotrow.locks").await;
    let mut versions = visit.value("SHOW hotrow.versions").await;
    let deadline = Instant::now() + PATIENCE;
    let left = |locks: &str, versions: &str| {
        !(locks.starts_with("held 0, waiting 0") || locks.starts_with("none are counted"))
            || locks.contains("admitted") && !(locks.contains("admitted 0 of") && locks.contains(", held back 0,"))
            || !(versions.ends_with("transactions 0") || versions == "none beside the rows")
    };
    // A client is gone before its transaction has been rolled back.
    while left(&locks, &versions) {
        assert!(Instant::now() < deadline, "{engine}: locks: {locks}; versions: {versions}");
        locks = visit.value("SHOW hotrow.locks").await;
        versions = visit.value("SHOW hotrow.versions").await;
    }
    assert_eq!(visit.value("SELECT sum(balance) FROM account").await, "0", "{engine}");
    let pages = visit.run("SELECT patron, count(*) FROM book GROUP BY patron ORDER BY patron").await;
    let patrons = visit.run("SELECT id, transfers FROM patron ORDER BY id").await;
    let mut expected = Vec::new();
    for (patron, (number, tally)) in patrons.iter().zip(tallies) {
        let transfers: u64 = patron[1].parse().expect("a number");
        let possible = tally.committed..=tally.committed + tally.unknown;
        assert!(patron[0] == number.to_string() && possible.contains(&transfers), "{engine}: {patron:?}: {tally:?}");
        if transfers > 0 {
            expected.push(vec![patron[0].clone(), "1".to_owned()]);
        }
    }
    assert_eq!(pages, expected, "{engine}: a line for each client that has moved money");
    // Anything that a client that is gone might still have locked.
    for sql in [
        "BEGIN ISOLATION LEVEL SERIALIZABLE",
        "UPDATE account SET balance = balance",
        "UPDATE patron SET transfers = transfers",
        "DELETE FROM book",
        "ROLLBACK",
    ] {
        visit.run(sql).await;
    }
}

#[allow(clippy::print_stdout, reason = "the long form tells what has happened")]
async fn soak(engine: &str, execution: &str) {
    let (server, load) = (Server::start(engine, execution), Load::chosen());
    let fresh = fill(&server, load).await;
    let name = format!("{engine}, {execution}, {load:?}");
    let (mut tallies, mut all): (BTreeMap<u64, Tally>, _) = (BTreeMap::new(), Tally::default());
    let mut rests = Vec::new();
    for wave in 0..WAVES {
        let mut clients = JoinSet::new();
        for number in 0..load.clients {
            let random = Random::new(load.seed << 32 | u64::from(wave) << 16 | number);
            let patron = Patron { number, port: server.port, random, tally: Tally::default() };
            clients.spawn(patron.run(load));
        }
        while let Some(ended) = clients.join_next().await {
            let (number, tally) = ended.expect("a client met something that it did not expect");
            tallies.entry(number).or_default().add(&tally);
            all.add(&tally);
        }
        check(&server, &name, &tallies).await;
        rests.push(at_rest(&server, fresh).await);
    }
    println!("{name}: {all:?}, {rests:?}");
    let happened = [all.committed, all.vanished[0], all.vanished[1], all.cancelled + all.aborted];
    assert!(!happened.contains(&0), "{name}: {all:?}");
    let (first, last) = (rests[0], rests[rests.len() - 1]);
    assert!(last.used_kib <= first.used_kib + USED_KIB, "{name}: memory is left: {rests:?}");
    if let (Some(first), Some(last)) = (first.footprint, last.footprint) {
        // The threads of a pool stay, as many as were needed at the same time, and so does the memory that the
        // allocator keeps for threads that are gone.
        assert!(last.threads <= load.clients as usize + 16, "{name}: threads are left: {rests:?}");
        let allowed_kib = first.resident_kib + first.resident_kib / 4 + ((16 + load.clients as usize) << 10);
        assert!(last.resident_kib <= allowed_kib, "{name}: memory is left: {rests:?}");
    }
    server.stop();
}

#[test]
fn nothing_is_left_of_clients_that_are_cancelled_and_killed() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let all =
        "ilock:coroutine,ilock:coroutine --io handoff,ilock:request,ilock:thread,mvo:coroutine,mvo:request,mvo:thread";
    let chosen = std::env::var("HOTROW_SOAK_SERVERS");
    for server in chosen.as_deref().unwrap_or(all).split(',') {
        let (engine, execution) = server.split_once(':').expect("an engine and an execution model, as in ilock:thread");
        runtime.block_on(soak(engine, execution));
    }
}
