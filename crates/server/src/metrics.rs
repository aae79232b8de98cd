//! The server's figures for Prometheus: `GET /metrics`, in the OpenMetrics text format.
//!
//! One thread answers the requests, one after the other. A figure is a counter that the server keeps anyway, or is read
//! when a request comes. No figure is computed by visiting rows or locks.

use crate::shared::Shared;
use crate::socket::{ACCEPT_RETRY, Listener, ListenerStopper};
use crate::{Execution, ServerError};
use hotrow_log::directory::LiveDirectory;
use hotrow_sql::{Contended, SERVER_VERSION};
use hotrow_sync::{Arc, meter, thread};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, text};
use prometheus_client::metrics::TypedMetric;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};
use socket2::Socket;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// How long a client may take to send its request and to take the answer, together. Other clients wait meanwhile, and
/// so does a shutdown.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);

/// The longest head of a request, in bytes. A longer one is refused.
const LONGEST_HEAD: usize = 8 << 10;

/// The most headers of a request.
const HEADERS: usize = 64;

/// The HTTP server for Prometheus: it listens at one address, and answers `GET /metrics` with the server's figures.
pub struct Metrics {
    listener: Listener,
}

impl Metrics {
    /// Listens at an address. Requests get no answer until [`answer`](Self::answer) is called.
    ///
    /// # Errors
    /// [`ServerError::Listen`] if the address is in use, not of this machine, or not allowed.
    pub fn bind(address: SocketAddr) -> Result<Self, ServerError> {
        Ok(Self { listener: Listener::at_address(address)? })
    }

    /// Returns the address at which the metrics can be read, with the port that the system chose for port 0.
    pub fn address(&self) -> Option<SocketAddr> {
        self.listener.address()
    }

    /// Returns a handle that wakes [`answer`](Self::answer) from its wait for a request, so that it sees that the
    /// server shuts down.
    pub fn stopper(&self) -> ListenerStopper {
        self.listener.stopper()
    }

    /// Answers requests, one at a time, until the server shuts down. Blocks the calling thread.
    pub fn answer(&self, shared: &Arc<Shared>) {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Figures(shared.clone())));
        while !shared.clients.is_closing() {
            match self.listener.accept() {
                // A client that has left, or was too slow, asks again.
                Ok(socket) => drop(converse(socket, &registry)),
                // The process is out of descriptors. Clients that leave give some back.
                Err(_) => thread::sleep(ACCEPT_RETRY),
            }
        }
    }
}

fn converse(socket: Socket, registry: &Registry) -> io::Result<()> {
    let mut client = Client { socket, deadline: Instant::now() + REQUEST_TIMEOUT };
    let (status, kind, body) = match read_head(&mut client)? {
        Head::Get(path) if path == "/metrics" => {
            let mut numbers = String::new();
            text::encode(&mut numbers, registry).map_err(io::Error::other)?;
            ("200 OK", "application/openmetrics-text; version=1.0.0; charset=utf-8", numbers)
        }
        Head::Get(_) => ("404 Not Found", "text/plain", "There is /metrics, and nothing else.\n".to_owned()),
        Head::OtherMethod => {
            ("405 Method Not Allowed\r\nAllow: GET", "text/plain", "Expected GET /metrics.\n".to_owned())
        }
        Head::Malformed => ("400 Bad Request", "text/plain", "Expected an HTTP request: GET /metrics.\n".to_owned()),
    };
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    client.write_all(&[head.as_bytes(), body.as_bytes()].concat())?;
    client.socket.shutdown(std::net::Shutdown::Write)
}

/// The connection of one request. Reads and writes fail after the deadline.
struct Client {
    socket: Socket,
    deadline: Instant,
}

impl Client {
    /// Returns the time until the deadline; an error if it has passed.
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

impl Read for Client {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(self.left()?)?;
        self.socket.read(into)
    }
}

impl Write for Client {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(self.left()?)?;
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The head of a request.
#[derive(Debug, PartialEq, Eq)]
enum Head {
    /// A GET of this path, without a query after a question mark.
    Get(String),
    /// Another method than GET.
    OtherMethod,
    /// The bytes are not HTTP, or the head is too long.
    Malformed,
}

fn read_head(from: &mut impl Read) -> io::Result<Head> {
    let mut bytes = Vec::new();
    let mut piece = [0; 1024];
    loop {
        let read = from.read(&mut piece)?;
        bytes.extend_from_slice(&piece[..read]);
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(&bytes) {
            Ok(httparse::Status::Complete(_)) if request.method == Some("GET") => {
                let path = request.path.unwrap_or_default();
                return Ok(Head::Get(path.split('?').next().unwrap_or_default().to_owned()));
            }
            Ok(httparse::Status::Complete(_)) => return Ok(Head::OtherMethod),
            Ok(httparse::Status::Partial) if read > 0 && bytes.len() < LONGEST_HEAD => {}
            _ => return Ok(Head::Malformed),
        }
    }
}

/// The collector that reads the server's figures anew for each request.
struct Figures(Arc<Shared>);

impl fmt::Debug for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Figures")
    }
}

impl Collector for Figures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut to = Writer(&mut encoder);
        let (database, config) = (&self.0.database, &self.0.config);
        let (engine, totals) = (database.engine(), database.totals());
        let execution = match config.execution {
            Execution::Thread => "thread",
            Execution::Request => "request",
            Execution::Coroutine => "coroutine",
        };
        let about = [("version", SERVER_VERSION), ("engine", engine.info().name), ("execution", execution)];
        let one = ConstGauge::new(1u64);
        let mut into = to.0.encode_descriptor("hotrow_server", "The server that says this", None, one.metric_type())?;
        one.encode(into.encode_family(&about)?)?;
        to.gauge("hotrow_sessions", "Sessions that there are", None, self.0.clients.session_count() as u64)?;
        to.gauge("hotrow_sessions_limit", "Sessions that there may be", None, config.max_connections as u64)?;
        let help = "Connections that went to another worker because of a long statement, or back after it";
        to.counter("hotrow_connection_moves", help, self.0.moves())?;
        to.counter("hotrow_statements", "Statements run, whatever came of them", totals.statements)?;
        let outcomes = [("committed", totals.committed), ("rolled_back", totals.rolled_back)];
        to.counters("hotrow_transactions", "Transactions ended", "outcome", outcomes)?;
        to.counters("hotrow_aborts", "Transactions that the engine gave up", "reason", totals.aborts())?;
        to.counter("hotrow_retries", "Attempts at statements after the first", totals.retries)?;
        to.counter("hotrow_locks_granted", "Locks granted to transactions that have ended", totals.locks)?;
        to.counter("hotrow_lock_waits", "Requests of theirs that had to wait", totals.waits)?;
        to.seconds("hotrow_lock_wait", "Time that transactions that have ended have waited for locks", totals.wait_ns)?;
        let admission = database.admission();
        let states = [("admitted", admission.admitted), ("held_back", admission.held_back)];
        let help = "Transactions that have a ticket for hot rows, or are held back for want of one";
        to.gauges("hotrow_admission_transactions", help, "state", states)?;
        let help = "Transactions that may work on hot rows at once: fewer, the more of them fail";
        to.gauge("hotrow_admission_limit", help, None, admission.limit)?;
        let help = "Locks that are hot: waited for while there was a deadlock, not long ago";
        to.gauge("hotrow_admission_hot_locks", help, None, admission.hot)?;
        let help = "Transactions that were held back from hot rows for a while";
        to.counter("hotrow_admission_held_back", help, admission.held_back_ever)?;
        if let Some(early) = database.engine().early_release() {
            let help = "Rows that are waited for so often that they are let go early by who asks for that";
            to.gauge("hotrow_early_release_hot_rows", help, None, early.hot)?;
            let help = "Changes of rows that others may have before they are committed";
            to.gauge("hotrow_early_release_rows", help, None, early.released)?;
            let help = "Changes of rows that others could have before they were committed";
            to.counter("hotrow_early_releases", help, early.released_ever)?;
            let help = "How often a transaction had such a row, and had to commit after another one";
            to.counter("hotrow_early_release_followers", help, early.followed_ever)?;
        }
        let help = "Memory in use: asked of the allocator and not given back, and mapped by tables";
        to.gauge("hotrow_memory", help, Some(&Unit::Bytes), meter::used_bytes() as u64)?;
        if let Some(limit) = database.memory_limit().bytes() {
            to.gauge("hotrow_memory_limit", "Memory that may be in use", Some(&Unit::Bytes), limit as u64)?;
        }
        if let Some(versions) = engine.versions() {
            let states = [("alive", versions.alive), ("garbage", versions.garbage), ("held", versions.held)];
            to.gauges("hotrow_versions", "Versions of rows; garbage and held are alive, too", "state", states)?;
        }
        if let Some(directory) = database.directory() {
            encode_log(&mut to, &directory.log().statistics())?;
            encode_checkpoint(&mut to, directory)?;
        }
        let databases = database.names().into_iter().filter_map(|name| database.named(&name));
        let tables: Vec<_> =
            databases.map(|database| (database.name().to_owned(), database.tables_in_numbers())).collect();
        encode_tables(&mut to, &tables)
    }
}

/// The tables of a database: their names, numbers of rows and contention.
type Tables = Vec<(String, u64, Contended)>;

/// Writes the metrics of all tables. `databases` has the name and the tables of each database.
fn encode_tables(to: &mut Writer<'_, '_>, databases: &[(String, Tables)]) -> fmt::Result {
    let all = || {
        databases.iter().flat_map(|(database, tables)| {
            tables.iter().map(move |(table, rows, contended)| {
                ([("database", database.as_str()), ("table", table.as_str())], *rows, contended)
            })
        })
    };
    let rows = all().map(|(labels, rows, _)| (labels, ConstGauge::new(rows)));
    to.labelled("hotrow_table_rows", "Rows of a table, approximately", rows)?;
    let waits = all().map(|(labels, _, contended)| (labels, ConstCounter::new(contended.waits)));
    to.labelled("hotrow_table_waits", "Calls of a table's rows that waited", waits)?;
    let conflicts = all().map(|(labels, _, contended)| (labels, ConstCounter::new(contended.conflicts)));
    to.labelled("hotrow_table_conflicts", "Calls of a table's rows that failed because of others", conflicts)
}

fn encode_log(to: &mut Writer<'_, '_>, log: &hotrow_log::writer::Statistics) -> fmt::Result {
    let help = "Position of the log up to which something has happened to it, in bytes since the first one";
    let positions = [("forgotten", log.oldest), ("durable", log.durable), ("appended", log.newest)];
    to.gauges("hotrow_log_position", help, "state", positions)?;
    to.gauge("hotrow_log_files", "Files of the log, those for later use included", None, log.files)?;
    to.counter("hotrow_log_records", "Records that were written: commits, and changes of tables", log.records)?;
    to.counter("hotrow_log_flushes", "Writes of the log", log.flushes)?;
    let written = ConstCounter::new(log.written_bytes);
    let help = "Bytes that were written to the log, with the rest of the last page of each write";
    written.encode(to.0.encode_descriptor("hotrow_log_written", help, Some(&Unit::Bytes), written.metric_type())?)?;
    to.seconds("hotrow_log_flush", "Time that the writes of the log took", log.flush_ns)?;
    let classes: Vec<_> = (0..log.flush_times.len()).map(|class| (2_u64 << class).to_string()).collect();
    let times = classes.iter().zip(log.flush_times).map(|(below, count)| (&**below, count));
    to.counters(
        "hotrow_log_flush_times",
        "Writes that took less than so many us, and half of it or more",
        "us",
        times,
    )?;
    to.gauge("hotrow_log_full", "1 while nothing can be changed because the disk is full", None, log.is_full.into())?;
    to.gauge("hotrow_log_failed", "1 once nothing can be changed because the log failed", None, log.has_failed.into())
}

fn encode_checkpoint(to: &mut Writer<'_, '_>, directory: &LiveDirectory) -> fmt::Result {
    let checkpoint = directory.checkpoints().statistics();
    let help = "Position of the log up to which the checkpoint has everything";
    to.gauge("hotrow_checkpoint_position", help, None, checkpoint.position)?;
    let age = ConstGauge::new(directory.checkpoint_age().as_secs_f64());
    let help = "Age of the oldest change that the checkpoint does not have";
    age.encode(to.0.encode_descriptor("hotrow_checkpoint_age", help, Some(&Unit::Seconds), age.metric_type())?)?;
    to.gauge("hotrow_checkpoint_files", "Files of the checkpoint", None, checkpoint.files)?;
    to.gauge("hotrow_checkpoint", "Rows and deletions in the checkpoint", Some(&Unit::Bytes), checkpoint.bytes)?;
    let written = ConstCounter::new(checkpoint.written_bytes);
    let help = "Bytes that were written to files of checkpoints";
    let unit = Some(&Unit::Bytes);
    written.encode(to.0.encode_descriptor("hotrow_checkpoint_written", help, unit, written.metric_type())?)?;
    to.counter("hotrow_checkpoints", "Steps of checkpoints that were completed", checkpoint.published)?;
    let failed = directory.checkpoint_failure().is_some();
    to.gauge("hotrow_checkpoint_failed", "1 if the last step of a checkpoint failed", None, failed.into())
}

/// Writes families of figures, each with its name and its description.
struct Writer<'a, 'e>(&'a mut DescriptorEncoder<'e>);

impl Writer<'_, '_> {
    fn counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        let value = ConstCounter::new(value);
        value.encode(self.0.encode_descriptor(name, help, None, value.metric_type())?)
    }

    fn seconds(&mut self, name: &str, help: &str, ns: u64) -> fmt::Result {
        let value = ConstCounter::new(ns as f64 / 1e9);
        value.encode(self.0.encode_descriptor(name, help, Some(&Unit::Seconds), value.metric_type())?)
    }

    fn counters<'l>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: impl IntoIterator<Item = (&'l str, u64)>,
    ) -> fmt::Result {
        self.family((name, help, label), values.into_iter().map(|(of, value)| (of, ConstCounter::new(value))))
    }

    fn gauge(&mut self, name: &str, help: &str, unit: Option<&Unit>, value: u64) -> fmt::Result {
        let value = ConstGauge::new(value);
        value.encode(self.0.encode_descriptor(name, help, unit, value.metric_type())?)
    }

    fn gauges<'l>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: impl IntoIterator<Item = (&'l str, u64)>,
    ) -> fmt::Result {
        self.family((name, help, label), values.into_iter().map(|(of, value)| (of, ConstGauge::new(value))))
    }

    /// Writes a metric with one label: a figure for each value of the label.
    fn family<'l, M: EncodeMetric + TypedMetric>(
        &mut self,
        (name, help, label): (&str, &str, &str),
        values: impl Iterator<Item = (&'l str, M)>,
    ) -> fmt::Result {
        self.labelled(name, help, values.map(|(of, value)| ([(label, of)], value)))
    }

    /// Writes a metric with several labels: a figure for each combination of the labels' values.
    fn labelled<'l, M: EncodeMetric + TypedMetric, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        values: impl Iterator<Item = ([(&'l str, &'l str); N], M)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, M::TYPE)?;
        for (labels, value) in values {
            value.encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_in_pieces_and_what_is_none_is_refused() {
        let check = |bytes: &[u8], expected: Head| assert_eq!(read_head(&mut { bytes }).expect("bytes"), expected);
        check(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", Head::Get("/metrics".to_owned()));
        check(b"GET /metrics?name=x HTTP/1.0\r\n\r\n", Head::Get("/metrics".to_owned()));
        check(b"POST /metrics HTTP/1.1\r\n\r\n", Head::OtherMethod);
        check(b"GET /metrics HTTP/1.1\r\n", Head::Malformed);
        check(b"", Head::Malformed);
        check(&[0, 0, 0, 8, 4, 210, 22, 47], Head::Malformed);
        let long = [b"GET / HTTP/1.1\r\n".to_vec(), b"x: y\r\n".repeat(HEADERS + 1), b"\r\n".to_vec()].concat();
        check(&long, Head::Malformed);
        let longer = [b"GET / HTTP/1.1\r\nx: ".to_vec(), vec![b'y'; LONGEST_HEAD]].concat();
        check(&longer, Head::Malformed);
    }

    #[test]
    fn who_has_had_its_time_is_heard_no_more_and_told_no_more() {
        let pair = Socket::pair(socket2::Domain::UNIX, socket2::Type::STREAM, None);
        let (socket, mut other) = pair.expect("two ends");
        other.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").expect("it is taken");
        let mut client = Client { socket, deadline: Instant::now() };
        let timed_out = |result: io::Result<()>| result.map_err(|error| error.kind()) == Err(io::ErrorKind::TimedOut);
        assert!(timed_out(read_head(&mut client).map(drop)));
        assert!(timed_out(client.write_all(b"x")));
        client.deadline += REQUEST_TIMEOUT;
        assert_eq!(read_head(&mut client).expect("it was sent before"), Head::Get("/metrics".to_owned()));
    }
}
