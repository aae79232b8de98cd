//! The command `hotrow serve`, which serves PostgreSQL clients.

use super::Failure;
use super::data::{self, Recovering, failed, size};
use super::memory::default_limit;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use hotrow::Database;
use hotrow_log::directory::LiveDirectory;
use hotrow_log::recovery::{Recovered, RecoveredTable};
use hotrow_log::writer::Durability;
use hotrow_server::{Execution, Io, Passwords, Server, ServerConfig, ServerError, TlsFiles, raise_descriptor_limit};
use hotrow_sql::MemoryLimit;
use hotrow_storage::{Column, TableSchema, Type};
use hotrow_sync::Arc;
use hotrow_txn::{Isolation, Setting, Settings};
use std::io::{self, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The options of `hotrow serve`.
#[derive(clap::Args)]
pub struct Options {
    /// Address to listen on. An address that is not loopback needs --password-file
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:5442", value_parser = parse_listen)]
    listen: Listen,

    /// Listen also at a Unix socket in this directory, which costs clients on this machine less than TCP: psql -h
    /// DIRECTORY
    #[arg(long, value_name = "DIRECTORY")]
    socket_dir: Option<PathBuf>,

    /// Engine, which determines the concurrency control; `hotrow engines` lists them
    #[arg(long, value_name = "NAME", default_value = "ilock", hide_possible_values = true)]
    #[arg(value_parser = engine_names())]
    engine: String,

    /// Isolation level of transactions that do not set one
    #[arg(long, value_name = "LEVEL", default_value = "read committed", value_parser = hotrow_sql::isolation::parse)]
    isolation: Isolation,

    /// Address at which the server answers GET /metrics for Prometheus, without a password
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = parse_address)]
    metrics: Option<SocketAddr>,

    #[command(flatten)]
    data: DataOptions,

    #[command(flatten)]
    clients: ClientOptions,

    #[command(flatten)]
    running: ExecutionOptions,

    /// Memory that the server may use, such as 512MiB or 4GiB; 0 means no limit. Statements that would exceed it fail
    /// [default: three quarters of the memory of the machine or the control group]
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true, value_parser = parse_memory_limit)]
    memory_limit: Option<MemoryLimit>,

    #[command(flatten)]
    settings: EngineOptions,

    /// Measure how long parts of statements take, for SHOW hotrow.times. This reads a clock around each call of the
    /// lock manager
    #[arg(long)]
    count_times: bool,

    #[command(flatten)]
    access: AccessOptions,

    /// Shut down when standard input ends, for programs that start the server
    #[arg(long)]
    stop_at_eof: bool,
}

/// The options of durability: the data directory, and when a commit is over.
#[derive(clap::Args)]
struct DataOptions {
    /// Data directory, which is made if it does not exist. It does not depend on the engine
    #[arg(long, value_name = "DIR", default_value = "./hotrow-data")]
    data: PathBuf,

    /// Keep everything in memory only; it ends with the server
    #[arg(long, conflicts_with_all = ["data", "durability", "checkpoint_after"])]
    in_memory: bool,

    /// When a commit is over: when its changes are durable (sync), or at once, and then they are durable about 10 ms
    /// later (async) or when the system writes them (off). A session that sets synchronous_commit to off does not wait
    #[arg(long, value_name = "WHEN", default_value = "sync")]
    durability: DurabilityName,

    /// Bytes of log after which a checkpoint begins. A restart reads about as much
    #[arg(long, value_name = "SIZE", default_value = "512MiB", allow_negative_numbers = true, value_parser = parse_checkpoint)]
    checkpoint_after: u64,
}

/// A value of `--durability`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum DurabilityName {
    Sync,
    Async,
    Off,
}

/// The number of clients that may connect, and the time that they may take.
#[derive(clap::Args)]
struct ClientOptions {
    /// Greatest number of sessions at a time
    #[arg(long, value_name = "N", default_value_t = 1000, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    max_connections: u32,

    /// Number of these sessions that are reserved for the administrator [default: 3, but no more than a tenth]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(0..100_000))]
    reserved_connections: Option<u32>,

    /// User for whom sessions are reserved
    #[arg(long, value_name = "USER", default_value = "postgres")]
    administrator: String,

    /// Greatest number of connections at a time that have no session yet. If one more connects, the oldest that has
    /// sent nothing is closed
    #[arg(long, value_name = "N", default_value_t = 256, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    starting_connections: u32,

    /// Longest time, in seconds, from a client's connection to the start of its session
    #[arg(long, value_name = "SECONDS", default_value_t = 60, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=600))]
    authentication_timeout: u32,

    /// Longest time, in seconds, from a client's connection to its first byte
    #[arg(long, value_name = "SECONDS", default_value_t = 10, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=600))]
    silence_timeout: u32,
}

/// The threads and stacks that run the clients' messages.
#[derive(clap::Args)]
struct ExecutionOptions {
    /// Execution model, which decides what runs a client's messages: a coroutine on one of a few threads, a thread of a
    /// pool (request), or the connection's own thread
    #[arg(long, value_name = "MODEL", default_value = "coroutine", value_parser = execution())]
    execution: Execution,

    /// Threads that read messages and write answers: the worker that also runs the messages, or separate I/O threads
    /// that hand them over to the workers
    #[arg(long, value_name = "WHO", default_value = "worker", value_parser = who_reads())]
    io: Io,

    /// Number of threads that run coroutines, or of requests that run at a time [default: one per core]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,

    /// Size of a coroutine's stack in KiB; only the used part takes memory. A statement that needs more fails
    /// [default: 512]
    #[arg(long, value_name = "KIB", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(MIN_STACK_KIB..=1 << 20))]
    stack_kib: Option<u32>,
}

/// The settings of engines. A setting that the engine does not have is refused.
#[derive(clap::Args)]
struct EngineOptions {
    /// Number of partitions of the database, under engines with partitions [default: one per core]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..))]
    partitions: Option<u32>,

    /// Number of additional threads that do concurrency control for the sessions, under engines with such threads
    /// [default: 0, for which the sessions' threads do it]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(0..1024))]
    cc_threads: Option<u32>,

    /// Locks on rows of a page at which the page is locked as a whole, under engines with such locks; a table is at
    /// four times as many locks in it; 0 for never
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32))]
    escalate_after: Option<u32>,

    /// Per cent of the last requests for a lock that must have met latch contention for transactions to pass the lock
    /// on, under engines that do; with 0 they pass on all that they can
    #[arg(long, value_name = "P", allow_negative_numbers = true, value_parser = clap::value_parser!(u8).range(0..=100))]
    hot_percent: Option<u8>,

    /// Transactions of a thread, one after the other, that may leave a lock unused that was passed on to them before it
    /// is released, under engines that pass locks on; with 0, as in the paper, the first one releases it [default: 16]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u8))]
    momentum: Option<u8>,

    /// End deadlocks by time-out (deadlock_timeout), as in the papers, under engines that would otherwise detect them.
    /// Also turns off admission control for hot rows
    #[arg(long)]
    deadlock_time_outs: bool,

    /// Lock each row when its transaction reaches it, as in the papers, under engines that would otherwise lock all
    /// rows of a known access set at once
    #[arg(long)]
    lock_as_it_goes: bool,

    /// Release hot rows of a transaction block to other transactions while the block waits for its client. They commit
    /// after the block, or fail with it (40001). Sessions can set hotrow.early_release instead
    #[arg(long, value_name = "WHEN", default_value = "off")]
    early_release: EarlyRelease,
}

/// The users that may come in, and the encryption of their connections.
#[derive(clap::Args)]
struct AccessOptions {
    /// File of the users that may connect, with lines `user:password`. Without it every client may connect as any user
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,

    /// File with the certificate chain in PEM format, to offer TLS
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// File with the certificate's private key in PEM format
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

/// The rows that a writer releases to others before it commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum EarlyRelease {
    /// No rows
    Off,
    /// Rows for which other transactions often wait
    Hot,
}

const MIN_STACK_KIB: i64 = (ServerConfig::MIN_STACK_BYTES >> 10) as i64;

const EXECUTIONS: [(&str, Execution); 3] =
    [("coroutine", Execution::Coroutine), ("request", Execution::Request), ("thread", Execution::Thread)];

fn execution() -> impl TypedValueParser<Value = Execution> {
    let named = |name: String| EXECUTIONS.iter().find(|(known, _)| *known == name).map(|&(_, execution)| execution);
    PossibleValuesParser::new(EXECUTIONS.map(|(name, _)| name))
        .map(move |name| named(name).expect("one of the possible"))
}

fn who_reads() -> impl TypedValueParser<Value = Io> {
    PossibleValuesParser::new(["worker", "handoff"])
        .map(|name| if name == "handoff" { Io::Handoff } else { Io::Worker })
}

/// The least `--memory-limit` with which a server can start.
const MIN_MEMORY_BYTES: u64 = 32 << 20;

const UNITS: [(&str, u32); 8] =
    [("kib", 10), ("mib", 20), ("gib", 30), ("tib", 40), ("k", 10), ("m", 20), ("g", 30), ("t", 40)];

/// Parses a number of bytes with a unit; units are powers of 1024.
fn parse_bytes(text: &str) -> Option<u64> {
    let lower = text.trim().to_ascii_lowercase();
    let plain = lower.strip_suffix('b').filter(|rest| !rest.ends_with('i')).unwrap_or(&lower);
    let unit = UNITS.iter().find_map(|&(unit, shift)| Some((plain.strip_suffix(unit)?, shift)));
    let (number, shift) = unit.unwrap_or((plain, 0));
    number.trim().parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift))
}

fn parse_memory_limit(text: &str) -> Result<MemoryLimit, String> {
    if ["0", "none"].contains(&&*text.trim().to_ascii_lowercase()) {
        return Ok(MemoryLimit::NONE);
    }
    match parse_bytes(text).and_then(|bytes| usize::try_from(bytes).ok()) {
        None => Err("expected a number of bytes with a unit, such as 512MiB or 4GiB, or 0 for no limit".to_owned()),
        Some(bytes) if (bytes as u64) < MIN_MEMORY_BYTES => Err(format!(
            "{bytes} bytes are too few: expected {}MiB at the least, or 0 for no limit",
            MIN_MEMORY_BYTES >> 20
        )),
        Some(bytes) => Ok(MemoryLimit::new(bytes)),
    }
}

/// The least `--checkpoint-after`: with fewer bytes the server would only make checkpoints.
const MIN_CHECKPOINT_BYTES: u64 = 64 << 10;

fn parse_checkpoint(text: &str) -> Result<u64, String> {
    let bytes = parse_bytes(text).filter(|bytes| *bytes >= MIN_CHECKPOINT_BYTES);
    bytes.ok_or_else(|| {
        format!("expected a number of bytes with a unit, such as 64MiB, and at least {}KiB", MIN_CHECKPOINT_BYTES >> 10)
    })
}

/// Returns the memory limit of a server whose command line gives none.
fn default_memory_limit() -> MemoryLimit {
    let bytes = default_limit().and_then(|bytes| usize::try_from(bytes.max(MIN_MEMORY_BYTES)).ok());
    bytes.map_or(MemoryLimit::NONE, MemoryLimit::new)
}

/// The addresses of `--listen`: all those of the host name, with the port.
#[derive(Clone, Debug)]
struct Listen(Vec<SocketAddr>);

fn parse_listen(text: &str) -> Result<Listen, String> {
    match text.to_socket_addrs() {
        Ok(addresses) => Ok(Listen(addresses.collect())),
        Err(error) => Err(format!("{error}; expected ADDRESS:PORT, such as 127.0.0.1:5442")),
    }
}

/// Parses a host name and a port. Returns the first address of the host name.
fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let Listen(addresses) = parse_listen(text)?;
    addresses.first().copied().ok_or_else(|| format!("{text} has no address"))
}

/// Returns the parser of engines' names. It accepts engines that do not isolate, so that [`run`] can refuse them with a
/// reason, but hides them from the help.
fn engine_names() -> PossibleValuesParser {
    let value = |engine: &hotrow_txn::EngineInfo| PossibleValue::new(engine.name).hide(!engine.isolates);
    PossibleValuesParser::new(hotrow_protocols::ENGINES.iter().map(value))
}

/// Runs `hotrow serve`: serves clients until Ctrl-C or SIGTERM, which cancel the running statements and end the
/// sessions. A second signal exits at once. Prints on `out` how to connect.
///
/// # Errors
/// [`Failure::Usage`] if options contradict each other or the engine, [`Failure::Failed`] if the server cannot start.
pub fn run(options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let settings = settings(options);
    let engine = hotrow_protocols::open_with(&options.engine, &settings)
        .map_err(|error| Failure::Usage(format!("engine {}: {error}", options.engine)))?;
    if !engine.info().isolates {
        let isolating: Vec<_> =
            hotrow_protocols::ENGINES.iter().filter(|info| info.isolates).map(|info| info.name).collect();
        return Err(Failure::Usage(format!(
            "engine {} does not isolate transactions and is for benchmarks only; serve takes one of: {}",
            options.engine,
            isolating.join(", ")
        )));
    }
    refuse_unheeded_options(options)?;
    let partitioned = engine.admits(&TableSchema::new("t", vec![Column::new("id", Type::Int4)], &[0])).is_err();
    drop(engine);
    let config = config(options)?;
    if let Some(clients) =
        raise_descriptor_limit(config.threads).filter(|&clients| clients < options.clients.max_connections.into())
    {
        // If standard error is closed, the warning is lost.
        let _ = writeln!(
            io::stderr(),
            "warning: --max-connections is {}, but the system lets this process have files open for {clients} only; more clients wait \
             until others leave (ulimit -n)",
            options.clients.max_connections
        );
    }
    let database = open(options, settings)?;
    let server = Server::bind(config, database.sql().clone()).map_err(explain)?;
    let handle = server.handle();
    if options.stop_at_eof {
        let handle = handle.clone();
        hotrow_sync::thread::spawn(move || {
            // An error ends the input, too.
            let _ = io::copy(&mut io::stdin(), &mut io::sink());
            handle.shutdown();
        });
    }
    let mut asked_before = false;
    ctrlc::set_handler(move || {
        if asked_before {
            std::process::exit(1);
        }
        asked_before = true;
        handle.shutdown();
    })
    .map_err(|error| Failure::Failed(format!("the signal handler could not be set: {error}")))?;
    // Printed only now: a program that reads that Ctrl-C stops the server may send the signal at once.
    print_how_to_connect(out, options, &server, partitioned).map_err(Failure::Output)?;
    server.run().map_err(explain)?;
    let failed = |error| Failure::Failed(format!("the last transactions may not be durable: {error}"));
    database.close().map_err(failed)
}

/// Opens the database, and reports on standard error what was in the data directory.
fn open(options: &Options, settings: Settings) -> Result<Database, Failure> {
    let choosing = hotrow_protocols::ENGINES.iter().filter(|info| info.concurrency.is_some());
    let sql = hotrow_sql::Config {
        default_isolation: options.isolation,
        // With time-outs, deadlocks are treated as in the papers, and the papers hold no transaction back.
        holds_back: !options.settings.deadlock_time_outs,
        memory_limit: options.memory_limit.unwrap_or_else(default_memory_limit),
        early_release: options.settings.early_release == EarlyRelease::Hot,
        choosing_engines: choosing.map(|info| info.name).collect(),
        times: options.count_times.then(Arc::default),
        administrator: Some(options.clients.administrator.clone()),
        ..hotrow_sql::Config::default()
    };
    let mut opening = hotrow::Options { engine: options.engine.clone(), settings, sql, ..hotrow::Options::default() };
    let DataOptions { data, in_memory, durability, checkpoint_after } = &options.data;
    if *in_memory {
        return Database::in_memory(&opening).map_err(|error| Failure::Usage(error.to_string()));
    }
    opening.data = opening.data.checkpoint_after(*checkpoint_after);
    opening.data.log.durability = match durability {
        DurabilityName::Sync => Durability::Sync,
        DurabilityName::Async => Durability::Async,
        DurabilityName::Off => Durability::Off,
    };
    let recovering = Recovering::new();
    let opened = Database::open_with(data, &opening, &|progress| recovering.show(progress));
    let database = opened.map_err(|error| failed(data, &error))?;
    // If standard error is closed, nobody wants to know.
    let _ = print_recovered(&mut io::stderr(), data, &database, &recovering);
    if let Some(directory) = database.directory() {
        watch(directory);
    }
    Ok(database)
}

fn print_recovered(out: &mut dyn Write, data: &Path, database: &Database, recovering: &Recovering) -> io::Result<()> {
    let Recovered { checkpoint, end, time, rows, tables: loaded, .. } = database.recovered();
    let tables = database.sql().tables().len();
    let data = data.display();
    let Some(time) = *time else { return writeln!(out, "data in {data}, which has no tables yet") };
    writeln!(
        out,
        "data in {data}: {tables} tables and {rows} rows, recovered in {:.1} s from {} of log behind the checkpoint; the last \
         time in the log is {}",
        recovering.elapsed().as_secs_f64(),
        size(end - checkpoint),
        data::time(time),
    )?;
    let mut long = loaded.iter().filter(|table| table.time >= SHOWN);
    long.try_for_each(|RecoveredTable { name, rows, time }| {
        writeln!(out, "  {name}: {rows} rows in {:.1} s of the threads' time", time.as_secs_f64())
    })
}

/// The least time that the recovery of a table must have taken to be reported.
const SHOWN: Duration = Duration::from_secs(1);

/// The time between two looks at the state of the log.
const LOOK: Duration = Duration::from_millis(500);

/// Starts a thread that warns on standard error when the log fails, when its disk is full, and when a checkpoint fails.
/// The thread ends soon after the directory is closed.
fn watch(directory: &Arc<LiveDirectory>) {
    let directory = Arc::downgrade(directory);
    hotrow_sync::thread::spawn(move || {
        let mut said = String::new();
        while let Some(directory) = directory.upgrade() {
            let log = directory.log();
            let text = match (log.failure(), directory.checkpoint_failure()) {
                (Some(why), _) => {
                    format!("the log has failed: {why}; nothing can be changed until the server is started again")
                }
                (None, _) if log.statistics().is_full => {
                    "the disk of the data directory is full; nothing can be changed until there is room".to_owned()
                }
                (None, Some(why)) => format!("a checkpoint failed, and is tried again: {why}"),
                (None, None) => String::new(),
            };
            drop(directory);
            if text != said {
                let line = if text.is_empty() { "the log is well again" } else { &text };
                // If standard error is closed, the warning is lost.
                let _ = writeln!(io::stderr(), "warning: {line}");
                said = text;
            }
            // Nothing announces these events: the thread looks at counters.
            hotrow_sync::thread::sleep(LOOK);
        }
    });
}

/// Refuses options that have no meaning for the execution model or the engine, or together. A setting that the engine
/// heeds only in a pool is refused, too, because sessions do not run in a pool.
fn refuse_unheeded_options(options: &Options) -> Result<(), Failure> {
    let meaningless = match options.running.execution {
        Execution::Thread | Execution::Request if options.running.io == Io::Handoff => {
            Some("--io handoff means nothing without coroutines: it is for --execution coroutine")
        }
        Execution::Thread if options.running.threads.is_some() => Some("--threads means nothing to --execution thread"),
        Execution::Thread | Execution::Request if options.running.stack_kib.is_some() => {
            Some("--stack-kib means nothing without coroutines: it is for --execution coroutine")
        }
        _ => None,
    };
    let releases_early = options.settings.early_release == EarlyRelease::Hot;
    let meaningless = meaningless.or_else(|| {
        (releases_early && options.settings.deadlock_time_outs).then_some(
            "--early-release hot means nothing with --deadlock-time-outs: who waits for whom has to be known",
        )
    });
    if let Some(message) = meaningless {
        return Err(Failure::Usage(message.to_owned()));
    }
    let given = [
        ("--partitions", Setting::Partitions, options.settings.partitions.is_some()),
        ("--cc-threads", Setting::CcThreads, options.settings.cc_threads.is_some()),
        ("--escalate-after", Setting::Escalation, options.settings.escalate_after.is_some()),
        ("--hot-percent", Setting::HotPercent, options.settings.hot_percent.is_some()),
        ("--momentum", Setting::Momentum, options.settings.momentum.is_some()),
        ("--deadlock-time-outs", Setting::DeadlockTimeOuts, options.settings.deadlock_time_outs),
        ("--lock-as-it-goes", Setting::LockAsItGoes, options.settings.lock_as_it_goes),
        ("--early-release hot", Setting::EarlyRelease, releases_early),
    ];
    for (option, setting, _) in given.into_iter().filter(|&(_, _, is_given)| is_given) {
        // The additional threads have a role, as workers of a pool have.
        let in_pool = setting == Setting::CcThreads;
        hotrow_protocols::refuse_unheeded(option, setting, &[&options.engine], |_| in_pool)
            .map_err(|error| Failure::Usage(error.to_string()))?;
    }
    Ok(())
}

/// Returns the settings of the engine. Partitions have no workers of their own and send each other no messages, because
/// a session's thread works in any partition.
fn settings(options: &Options) -> Settings {
    let partitions = options.settings.partitions.map(|partitions| partitions as usize);
    // Sessions have no workers of their own, so that all workers but the additional ones are only counted.
    let cc_threads = options.settings.cc_threads.unwrap_or(0) as usize;
    Settings {
        workers: Settings::default().workers.max(partitions.unwrap_or(1)) + cc_threads,
        partitions,
        blocked_limit: None,
        cc_threads: Some(cc_threads),
        deadlock_time_outs: options.settings.deadlock_time_outs,
        lock_as_it_goes: options.settings.lock_as_it_goes,
        escalation: options.settings.escalate_after.map(|locks| locks as usize),
        hot_percent: options.settings.hot_percent,
        momentum: options.settings.momentum,
        network_delay: Duration::ZERO,
    }
}

fn config(options: &Options) -> Result<ServerConfig, Failure> {
    let passwords = options.access.password_file.as_deref().map(Passwords::read).transpose().map_err(explain)?;
    let tls = options.access.tls_cert.clone().zip(options.access.tls_key.clone());
    let max_connections = options.clients.max_connections as usize;
    let reserved_connections = options.clients.reserved_connections.map(|reserved| reserved as usize);
    if let Some(reserved) = reserved_connections.filter(|&reserved| reserved >= max_connections) {
        return Err(Failure::Usage(format!(
            "--reserved-connections is {reserved}, and --max-connections {max_connections}: expected fewer, so that others than the \
             administrator may come"
        )));
    }
    Ok(ServerConfig {
        listen: options.listen.0.clone(),
        socket_dir: options.socket_dir.clone(),
        metrics: options.metrics,
        max_connections,
        reserved_connections,
        administrator: options.clients.administrator.clone(),
        starting_connections: options.clients.starting_connections as usize,
        startup_timeout: Duration::from_secs(options.clients.authentication_timeout.into()),
        silence_timeout: Duration::from_secs(options.clients.silence_timeout.into()),
        passwords,
        execution: options.running.execution,
        io: options.running.io,
        threads: options.running.threads.map_or_else(hotrow_sync::cores, |threads| threads as usize),
        stack_bytes: options.running.stack_kib.map_or(ServerConfig::DEFAULT_STACK_BYTES, |kib| (kib as usize) << 10),
        tls: tls.map(|(certificate, key)| TlsFiles { certificate, key }),
        ..ServerConfig::default()
    })
}

/// Turns an error of the server into the failure of the command: an address on which the server may not listen is a
/// wrong command line, and every other error is a failed start.
fn explain(error: ServerError) -> Failure {
    match error {
        ServerError::NoAddress | ServerError::Unprotected(_) => Failure::Usage(error.to_string()),
        error => Failure::Failed(error.to_string()),
    }
}

/// Prints how clients connect. `partitioned` says that the engine needs a partition key for each table, which pgbench
/// does not give to all its tables.
fn print_how_to_connect(out: &mut dyn Write, options: &Options, server: &Server, partitioned: bool) -> io::Result<()> {
    let address = server.local_addresses()[0];
    let (host, port) = match address.ip() {
        ip if ip.is_unspecified() => ("127.0.0.1".to_owned(), address.port()),
        ip => (ip.to_string(), address.port()),
    };
    let user = if options.access.password_file.is_some() { "USER" } else { "postgres" };
    let target = format!("-h {host} -p {port} -U {user} postgres");
    let isolation = hotrow_sql::isolation::name(options.isolation);
    writeln!(out, "hotrow listens on {address}; engine {}, {isolation}", options.engine)?;
    writeln!(out, "  psql {target}")?;
    if let Some(directory) = &options.socket_dir {
        writeln!(out, "  psql -h {} -p {port} -U {user} postgres", directory.display())?;
    }
    if let Some(address) = server.metrics_address() {
        writeln!(out, "  curl http://{address}/metrics")?;
    }
    if partitioned {
        writeln!(
            out,
            "Each table needs a partition key: CREATE TABLE … (id int PRIMARY KEY, …) PARTITION BY HASH (id)"
        )?;
    } else {
        writeln!(out, "  pgbench -i -s 10 {target}")?;
        writeln!(out, "  pgbench -c 8 -j 2 -T 10 -M prepared {target}")?;
    }
    if options.data.in_memory {
        writeln!(out, "Everything is in memory only and ends with this process. Ctrl-C stops it.")?;
    } else {
        writeln!(out, "Ctrl-C stops it.")?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_limits_are_numbers_with_units() {
        let bytes = |text| parse_memory_limit(text).map(MemoryLimit::bytes);
        for (text, expected) in [
            ("0", None),
            ("none", None),
            ("512MiB", Some(512 << 20)),
            ("512mb", Some(512 << 20)),
            ("512 M", Some(512 << 20)),
            ("4G", Some(4 << 30)),
            ("65536k", Some(64 << 20)),
            ("1TiB", Some(1 << 40)),
            ("67108864", Some(64 << 20)),
            ("67108864B", Some(64 << 20)),
        ] {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        for text in ["", "MiB", "512X", "1.5G", "0x10M", "12 Mi B", "18446744073709551615G", "31M"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
