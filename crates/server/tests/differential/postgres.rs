//! A PostgreSQL server of this machine, in a directory of its own, until dropped.

use std::fs;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The version that Hotrow is compared with: messages change from one to the next.
pub const VERSION: u32 = 15;

pub struct Postgres {
    pub address: SocketAddr,
    /// Ends it, unless it ran before.
    _started: Option<Started>,
}

struct Started {
    programs: PathBuf,
    directory: PathBuf,
}

impl Postgres {
    /// Returns the server at `HOTROW_DIFFERENTIAL_POSTGRES` (for a user `postgres` without a password), or starts a new
    /// one. The error says why there is none.
    pub fn find() -> Result<Self, String> {
        if let Ok(address) = std::env::var("HOTROW_DIFFERENTIAL_POSTGRES") {
            let found = address.to_socket_addrs().map_err(|error| format!("{address}: {error}"))?.next();
            let address = found.ok_or_else(|| format!("{address} is nowhere"))?;
            return Ok(Self { address, _started: None });
        }
        let programs = [format!("/usr/lib/postgresql/{VERSION}/bin"), format!("/usr/local/pgsql-{VERSION}/bin")];
        let programs = programs.iter().map(PathBuf::from).find(|programs| programs.join("initdb").exists());
        let programs = programs.ok_or_else(|| format!("PostgreSQL {VERSION} is not installed"))?;
        Self::start(programs)
    }

    fn start(programs: PathBuf) -> Result<Self, String> {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let address = free.map_err(|error| error.to_string())?;
        // Each test of a process may have a server of its own.
        let name = format!("hotrow-differential-{}-{}", std::process::id(), address.port());
        let directory = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
        if is_root() {
            run(Command::new("chown").arg("postgres").arg(&directory))?;
        }
        let data = directory.join("data");
        let started = Started { programs, directory };
        let mut initdb = started.command("initdb");
        run(initdb.arg("-D").arg(&data).args([
            "-A",
            "trust",
            "-U",
            "postgres",
            "-E",
            "UTF8",
            "--locale=C.UTF-8",
            "-N",
        ]))?;
        let options = format!(
            "-p {} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off -c timezone=UTC",
            address.port()
        );
        let log = started.directory.join("log");
        run(started.command("pg_ctl").arg("-D").arg(&data).arg("-l").arg(log).args(["-w", "-o", &options, "start"]))?;
        Ok(Self { address, _started: Some(started) })
    }
}

impl Started {
    /// One of its programs. They refuse to run as root.
    fn command(&self, program: &str) -> Command {
        let program = self.programs.join(program);
        let mut command = match is_root() {
            true => {
                let mut command = Command::new("runuser");
                command.args(["-u", "postgres", "--"]).arg(program);
                command
            }
            false => Command::new(program),
        };
        command.current_dir(&self.directory).env("LC_ALL", "C");
        command
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // It may not have come up.
        let _ =
            run(self.command("pg_ctl").arg("-D").arg(self.directory.join("data")).args(["-m", "immediate", "stop"]));
        let _ = fs::remove_dir_all(&self.directory);
    }
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(Path::new("/proc/self")).is_ok_and(|own| own.uid() == 0)
}

/// Runs a command that must succeed. A server that it starts must not keep our pipes: output goes nowhere.
fn run(command: &mut Command) -> Result<(), String> {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?}: {status}")),
        Err(error) => Err(format!("{command:?}: {error}")),
    }
}
