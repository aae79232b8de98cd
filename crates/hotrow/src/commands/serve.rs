//! `hotrow serve`

use super::Failure;
use super::memory::default_limit;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use hotrow_server::{Execution, Io, Passwords, Server, ServerConfig, ServerError, TlsFiles, raise_descriptor_limit};
use hotrow_sql::MemoryLimit;
use hotrow_storage::{Column, TableSchema, Type};
use hotrow_sync::Arc;
use hotrow_txn::{Isolation, Setting, Settings};
use std::io::{self, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

/// How to serve.
#[derive(clap::Args)]
pub struct Options {
    /// Where to listen. Addresses other than loopback need --password-file
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:5442", value_parser = parse_listen)]
    listen: Listen,

    /// A directory for a Unix socket, which clients of this machine reach with less work: psql -h DIRECTORY
    #[arg(long, value_name = "DIRECTORY")]
    socket_dir: Option<PathBuf>,

    /// The engine; `hotrow engines` says what there is
    #[arg(long, value_name = "NAME", default_value = "ilock", hide_possible_values = true)]
    #[arg(value_parser = engine_names())]
    engine: String,

    /// Isolation level of transactions that name none
    #[arg(long, value_name = "LEVEL", default_value = "read committed", value_parser = hotrow_sql::isolation::parse)]
    isolation: Isolation,

    /// Where Prometheus is told what the server does, at /metrics. Whoever reaches it is answered, and asked for no
    /// password
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = parse_address)]
    metrics: Option<SocketAddr>,

    #[command(flatten)]
    clients: ClientOptions,

    #[command(flatten)]
    running: ExecutionOptions,

    /// Memory that the server may use, such as 512MiB or 4GiB; 0 is as much as there is. Beyond it, what would need
    /// more is refused [default: three quarters of the machine's or the control group's]
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true, value_parser = parse_memory_limit)]
    memory_limit: Option<MemoryLimit>,

    #[command(flatten)]
    settings: EngineOptions,

    /// Count where time goes, for SHOW hotrow.times: a clock is read around each call of the lock manager
    #[arg(long)]
    count_times: bool,

    #[command(flatten)]
    access: AccessOptions,

    /// Stop when standard input ends, for programs that start a server of their own
    #[arg(long)]
    stop_at_eof: bool,
}

/// The number of clients that may connect, and the time that they may take.
#[derive(clap::Args)]
struct ClientOptions {
    /// Most sessions at a time
    #[arg(long, value_name = "N", default_value_t = 1000, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    max_connections: u32,

    /// Of these, sessions that only the administrator may have [default: 3, but no more than a tenth]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(0..100_000))]
    reserved_connections: Option<u32>,

    /// The user for whom sessions are reserved
    #[arg(long, value_name = "USER", default_value = "postgres")]
    administrator: String,

    /// Most connections at a time that have no session yet; beyond it the oldest one that has said nothing is cut off
    #[arg(long, value_name = "N", default_value_t = 256, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    starting_connections: u32,

    /// Seconds that a client has from connecting to the start of its session
    #[arg(long, value_name = "SECONDS", default_value_t = 60, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=600))]
    authentication_timeout: u32,

    /// Seconds that a client has from connecting to its first word
    #[arg(long, value_name = "SECONDS", default_value_t = 10, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=600))]
    silence_timeout: u32,
}

/// The threads and stacks that run the clients' messages.
#[derive(clap::Args)]
struct ExecutionOptions {
    /// Execution model of the clients' messages: a coroutine for messages that have come together, on one of a few
    /// threads; a thread of a pool; or a thread for each connection
    #[arg(long, value_name = "MODEL", default_value = "coroutine", value_parser = execution())]
    execution: Execution,

    /// Threads that read the clients' messages and write the answers: the worker that runs a message, or I/O threads
    /// that hand it over to the worker
    #[arg(long, value_name = "WHO", default_value = "worker", value_parser = who_reads())]
    io: Io,

    /// Threads that run coroutines, or requests at a time [default: one per core]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,

    /// KiB of a coroutine's stack; memory is taken as it is used. A statement that would need more is refused [default:
    /// 512]
    #[arg(long, value_name = "KIB", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(MIN_STACK_KIB..=1 << 20))]
    stack_kib: Option<u32>,
}

/// The settings of engines. A setting that the engine does not have is refused.
#[derive(clap::Args)]
struct EngineOptions {
    /// Partitions of the database, under engines that keep partitions apart [default: one per core]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..))]
    partitions: Option<u32>,

    /// Additional threads that do concurrency control for the sessions, under engines with such threads [default: 0,
    /// which means that the sessions' threads do it themselves]
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

    /// End deadlocks by time-out, as in the papers (deadlock_timeout), under engines that would find them, and hold
    /// nobody back from hot rows
    #[arg(long)]
    deadlock_time_outs: bool,

    /// Lock each row when its transaction comes to it, as in the papers, under engines that lock an access set when it
    /// is known
    #[arg(long)]
    lock_as_it_goes: bool,

    /// Let others have hot rows of a block while it waits for its client: they commit after it, or fail with it
    /// (40001). Sessions set it as hotrow.early_release
    #[arg(long, value_name = "WHEN", default_value = "off")]
    early_release: EarlyRelease,
}

/// The users that may come in, and the encryption of their connections.
#[derive(clap::Args)]
struct AccessOptions {
    /// Lines `user:password`: who may come in. Without it everybody may, under any name
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,

    /// Certificate chain in PEM, to offer TLS
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// The certificate's private key in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

/// The rows that a writer releases to others before it commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum EarlyRelease {
    /// No rows
    Off,
    /// Rows for which others wait again and again
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
fn parse_memory_limit(text: &str) -> Result<MemoryLimit, String> {
    let lower = text.trim().to_ascii_lowercase();
    if ["0", "none"].contains(&&*lower) {
        return Ok(MemoryLimit::NONE);
    }
    let plain = lower.strip_suffix('b').filter(|rest| !rest.ends_with('i')).unwrap_or(&lower);
    let unit = UNITS.iter().find_map(|&(unit, shift)| Some((plain.strip_suffix(unit)?, shift)));
    let (number, shift) = unit.unwrap_or((plain, 0));
    let bytes = number.trim().parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
    match bytes.and_then(|bytes| usize::try_from(bytes).ok()) {
        None => Err("expected a number of bytes with a unit, such as 512MiB or 4GiB, or 0 for no limit".to_owned()),
        Some(bytes) if (bytes as u64) < MIN_MEMORY_BYTES => Err(format!(
            "{bytes} bytes are too few: expected {}MiB at the least, or 0 for no limit",
            MIN_MEMORY_BYTES >> 20
        )),
        Some(bytes) => Ok(MemoryLimit::new(bytes)),
    }
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

/// Serves until Ctrl-C or SIGTERM, which let running statements end. A second signal exits at once.
pub fn run(options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let engine = hotrow_protocols::open_with(&options.engine, &settings(options))
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
    let choosing = hotrow_protocols::ENGINES.iter().filter(|info| info.concurrency.is_some());
    let sql = hotrow_sql::Config {
        default_isolation: options.isolation,
        // With time-outs, deadlocks are treated as in the papers, and the papers hold no transaction back.
        holds_back: !options.settings.deadlock_time_outs,
        memory_limit: options.memory_limit.unwrap_or_else(default_memory_limit),
        early_release: options.settings.early_release == EarlyRelease::Hot,
        choosing_engines: choosing.map(|info| info.name).collect(),
        times: options.count_times.then(Arc::default),
        ..hotrow_sql::Config::default()
    };
    let database = hotrow_sql::Database::new(engine, sql);
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
    let server = Server::bind(config, database).map_err(explain)?;
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
    server.run().map_err(explain)
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
    writeln!(out, "Everything is in memory only and ends with this process. Ctrl-C stops it.")?;
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
