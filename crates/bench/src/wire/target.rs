//! A server to be driven: one of ours in a process of its own, or one that a URL leads to.

use super::failure::explain;
use super::session::connect;
use crate::machine::{cpu_of_process_tree, parent_of};
use crate::options::names::{engine_of, execution_of};
use crate::options::{RunOptions, Url, WireOptions};
use std::io::{BufRead, BufReader};
use std::net::IpAddr;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::time::timeout;
use tokio_postgres::config::Host;
use tokio_postgres::{Client, Config};

/// The text of a server's first line before its address.
const LISTENS: &str = "hotrow listens on ";

/// How long a server may take to answer the first connection.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// A server on which a workload runs, and a connection to it for all work that is not measured.
pub(super) struct Target {
    pub config: Config,
    pub admin: Client,
    /// The version that the server reports.
    pub version: String,
    /// Whether the server is one at a URL, which was not started here.
    pub is_foreign: bool,
    /// The server's process, if it is known. CPU time of the process's children is counted with it.
    pub process: Option<u32>,
    _server: Option<ServerProcess>,
}

impl Target {
    /// Starts the server called `name`, ENGINE or ENGINE:MODEL, in a process of its own, and connects to it.
    pub(super) fn start(name: &str, options: &RunOptions, runtime: &Runtime) -> Result<Self, String> {
        // A few more connections load, check and measure.
        let clients = options.wire.clients() + 16;
        let mut serve_options = vec![format!("--max-connections={clients}")];
        serve_options.extend(options.wire.serve_options.iter().cloned());
        serve_options.extend(options.report.breakdown.then(|| "--count-times".to_owned()));
        let server = ServerProcess::start(name, &serve_options)?;
        let (host, port) = server.address.rsplit_once(':').ok_or("the server has no port")?;
        let mut config = Config::new();
        config.host(host).port(port.parse().map_err(|_| "the server has no port")?);
        config.user("postgres").dbname("postgres");
        Self::open(config, Some(server), None, runtime)
    }

    /// Connects to the server that `url` leads to.
    pub(super) fn find(url: &Url, options: &WireOptions, runtime: &Runtime) -> Result<Self, String> {
        Self::open(url.config.clone(), None, options.server_pid, runtime)
    }

    fn open(
        mut config: Config,
        server: Option<ServerProcess>,
        process: Option<u32>,
        runtime: &Runtime,
    ) -> Result<Self, String> {
        config.application_name("hotrow bench");
        let answer = runtime.block_on(async { timeout(ANSWER_LIMIT, connect(&config)).await });
        let admin = match answer {
            Ok(connected) => connected.map_err(|error| explain(&error))?,
            Err(_) => return Err(format!("nobody has answered within {} s", ANSWER_LIMIT.as_secs())),
        };
        let row = runtime.block_on(admin.query_one("SHOW server_version", &[]));
        let version = row.and_then(|row| row.try_get(0)).map_err(|error| explain(&error))?;
        let process = process
            .or(server.as_ref().map(|server| server.child.id()))
            .or_else(|| postmaster(&config, &admin, runtime));
        Ok(Self { config, admin, version, is_foreign: server.is_none(), process, _server: server })
    }

    /// Returns the CPU time of the server so far, if its process is known.
    pub(super) fn cpu(&self) -> Option<Duration> {
        cpu_of_process_tree(self.process?)
    }
}

/// Returns the number of a PostgreSQL's first process on this machine: the parent of the process that serves our
/// connection. Returns `None` if the server is another one, or on another machine.
fn postmaster(config: &Config, admin: &Client, runtime: &Runtime) -> Option<u32> {
    let is_here = config.get_hosts().iter().all(|host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()),
    });
    if !is_here {
        return None;
    }
    let row = runtime.block_on(admin.query_one("SELECT pg_backend_pid()", &[])).ok()?;
    let backend: i32 = row.try_get(0).ok()?;
    parent_of(u32::try_from(backend).ok()?, "postgres")
}

/// A `hotrow serve` that was started here. It ends when it is dropped, and when this process ends.
struct ServerProcess {
    child: Child,
    address: String,
    /// Kept open, so that the server may write.
    _stdout: BufReader<ChildStdout>,
}

impl ServerProcess {
    fn start(name: &str, options: &[String]) -> Result<Self, String> {
        let program = std::env::current_exe().map_err(|error| format!("this program is not to be found: {error}"))?;
        let mut command = Command::new(program);
        command.args(["serve", "--listen", "127.0.0.1:0", "--engine", engine_of(name)]);
        command.args(execution_of(name).map(|model| format!("--execution={model}")));
        command.args(["--in-memory", "--stop-at-eof"]).args(options);
        // The server has a process group of its own, so that Ctrl-C on the terminal reaches this process only. It ends
        // the server once the run has been checked.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut child = command.spawn().map_err(|error| format!("the server could not be started: {error}"))?;
        let stdout = child.stdout.take().expect("it was asked for");
        let mut server = Self { child, address: String::new(), _stdout: BufReader::new(stdout) };
        let mut line = String::new();
        let read = server._stdout.read_line(&mut line);
        match line.strip_prefix(LISTENS).and_then(|rest| rest.split(';').next()) {
            Some(address) if read.is_ok() => server.address = address.to_owned(),
            _ => return Err("the server did not start: what it says is above".to_owned()),
        }
        Ok(server)
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // All its data is in memory and not needed any more. It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
