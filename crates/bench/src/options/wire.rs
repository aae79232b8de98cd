//! The options of runs over the network.

use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// The options by which a workload is run over the network.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Options over the wire")]
pub struct WireOptions {
    /// Send transactions as prepared statements over the network, from many clients, to a server of each engine
    #[arg(long)]
    pub over_wire: bool,

    /// Connections, each with one transaction after the other [default: 8]
    #[arg(long, value_name = "N", requires = "over_wire", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(CLIENTS_MAX)))]
    pub clients: Option<u32>,

    /// How transactions are sent [default: statements]
    #[arg(long, value_name = "HOW", requires = "over_wire")]
    pub by: Option<By>,

    /// Transactions that a connection has under way: each is sent before the answers to those before it have come, and
    /// is a transaction of its own. With --by call [default: 1]
    #[arg(long, value_name = "N", requires = "over_wire", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(PIPELINE_MAX)))]
    pub pipeline: Option<u32>,

    /// Also run on the server at this URL, or only there if no engine is named. It may be any server with PostgreSQL's
    /// protocol. May be given again
    #[arg(long = "url", value_name = "postgres://…", requires = "over_wire", value_parser = parse_url)]
    pub urls: Vec<Url>,

    /// Process of the server at --url; its CPU time includes that of its children [default: found if the server is a
    /// PostgreSQL on this machine]
    #[arg(long, value_name = "PID", requires = "urls")]
    pub server_pid: Option<u32>,

    /// Drop tables of the server at --url that have the names of the workload's tables; without this they are an error
    #[arg(long, requires = "urls")]
    pub replace_tables: bool,

    /// An option of `hotrow serve` for the servers of the engines, without its dashes, such as isolation=serializable.
    /// May be given again
    #[arg(long = "serve-option", value_name = "NAME[=VALUE]", requires = "over_wire")]
    #[arg(value_parser = parse_serve_option)]
    pub serve_options: Vec<String>,

    /// A setting of the clients' sessions, such as deadlock_timeout=100ms. May be given again
    #[arg(long = "set", value_name = "NAME=VALUE", requires = "over_wire", value_parser = parse_setting)]
    pub settings: Vec<String>,
}

/// The most clients: a client machine has no ports for more.
const CLIENTS_MAX: u32 = 20_000;

/// The greatest number of transactions that a connection may have under way.
const PIPELINE_MAX: u32 = 16_384;

/// The greatest number of transactions that all connections together may have under way.
pub(crate) const UNDER_WAY_MAX: usize = 1_000_000;

/// The number of clients if the command line does not say it.
const CLIENTS: u32 = 8;

/// How clients send transactions over the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum By {
    /// Each statement of a transaction is a request of its own
    #[default]
    Statements,
    /// A transaction is one CALL of a procedure, for workloads that have one
    Call,
}

impl By {
    /// Returns the name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            By::Statements => "statements",
            By::Call => "call",
        }
    }
}

/// The address of a server that the benchmark does not start itself.
#[derive(Clone, Debug)]
pub struct Url {
    /// The server's name in reports: host and port, without the password.
    pub name: String,
    /// The parameters of a connection.
    pub config: Config,
}

impl std::str::FromStr for Url {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parse_url(text)
    }
}

fn parse_url(text: &str) -> Result<Url, String> {
    let expected = "expected postgres://USER:PASSWORD@HOST:PORT/DATABASE";
    let config: Config = match text.split_once("://") {
        Some(("postgres" | "postgresql", _)) => text.parse().map_err(|error| format!("{error}; {expected}"))?,
        _ => return Err(expected.to_owned()),
    };
    let host = match config.get_hosts() {
        [Host::Tcp(host)] => host.clone(),
        [Host::Unix(path)] => path.display().to_string(),
        hosts => return Err(format!("it names {} hosts; {expected}", hosts.len())),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432);
    Ok(Url { name: format!("{host}:{port}"), config })
}

fn parse_serve_option(text: &str) -> Result<String, String> {
    let name = text.split('=').next().unwrap_or_default();
    match name {
        "" => Err("expected NAME or NAME=VALUE".to_owned()),
        _ if name.starts_with('-') => Err(format!("expected it without dashes: {}", text.trim_start_matches('-'))),
        "listen" | "engine" | "max-connections" => {
            Err(format!("--{name} is not to be set: it is chosen for each server"))
        }
        "execution" => Err("--execution is said with each engine: --engine NAME:MODEL".to_owned()),
        _ => Ok(format!("--{text}")),
    }
}

/// Turns NAME=VALUE into the SET statement for it.
fn parse_setting(text: &str) -> Result<String, String> {
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'))
    };
    match text.split_once('=') {
        Some((name, value)) if is_name(name) => Ok(format!("SET {name} = '{}'", value.replace('\'', "''"))),
        _ => Err("expected NAME=VALUE, such as deadlock_timeout=100ms".to_owned()),
    }
}

impl WireOptions {
    /// Returns the number of connections.
    pub fn clients(&self) -> usize {
        self.clients.unwrap_or(CLIENTS) as usize
    }

    /// Returns how transactions are sent.
    pub fn by(&self) -> By {
        self.by.unwrap_or_default()
    }

    /// Returns the number of transactions that each connection has under way.
    pub fn pipeline(&self) -> usize {
        self.pipeline.unwrap_or(1) as usize
    }

    /// Returns the URL whose server has this name in reports, or `None` if there is none.
    pub(crate) fn url(&self, name: &str) -> Option<&Url> {
        self.urls.iter().find(|url| url.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_named_by_host_and_port() {
        for (text, expected) in [
            ("postgres://postgres:secret@127.0.0.1:5499/db", Ok("127.0.0.1:5499")),
            ("postgresql://me@localhost", Ok("localhost:5432")),
            ("postgres://me@/db?host=/tmp", Ok("/tmp:5432")),
            ("mysql://localhost", Err("expected postgres://USER")),
            ("127.0.0.1:5432", Err("expected postgres://USER")),
            ("postgres://me@host:port/db", Err("expected postgres://USER")),
            ("postgres://me@a,b/db", Err("it names 2 hosts")),
        ] {
            let parsed = parse_url(text).map(|url| url.name);
            match expected {
                Ok(name) => assert_eq!(parsed.as_deref(), Ok(name), "{text}"),
                Err(why) => assert!(parsed.clone().is_err_and(|error| error.contains(why)), "{text}: {parsed:?}"),
            }
        }
    }

    #[test]
    fn settings_are_statements() {
        for (text, expected) in [
            ("deadlock_timeout=100ms", Some("SET deadlock_timeout = '100ms'")),
            ("hotrow.concurrency=it's a=b", Some("SET hotrow.concurrency = 'it''s a=b'")),
            ("a", None),
            ("=b", None),
            ("a b=c", None),
        ] {
            assert_eq!(parse_setting(text).ok().as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn options_of_servers_are_named_without_dashes() {
        for (text, expected) in [
            ("isolation=serializable", Ok("--isolation=serializable")),
            ("flag", Ok("--flag")),
            ("--io=handoff", Err("without dashes: io=handoff")),
            ("=3", Err("expected NAME or NAME=VALUE")),
            ("engine=serial", Err("--engine is not to be set")),
            ("execution=thread", Err("--engine NAME:MODEL")),
        ] {
            let parsed = parse_serve_option(text);
            match expected {
                Ok(option) => assert_eq!(parsed.as_deref(), Ok(option), "{text}"),
                Err(why) => assert!(parsed.clone().is_err_and(|error| error.contains(why)), "{text}: {parsed:?}"),
            }
        }
    }
}
