//! Clients that come through a socket file.

mod common;

use common::client::{Client, packet};
use common::{ENGINE_OF_ALL_MODELS, Running, settings};
use hotrow_server::{Server, ServerConfig, ServerError};
use hotrow_sql::{Config, Database};
use socket2::SockRef;
use std::fs;
use std::mem::MaybeUninit;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::Duration;

/// A directory of the test's own, removed at the end.
struct Directory(PathBuf);

impl Directory {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("hotrow-{}-{test}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn config(&self) -> ServerConfig {
        let listen = vec![([127, 0, 0, 1], 0).into()];
        ServerConfig { listen, socket_dir: Some(self.0.clone()), ..ServerConfig::default() }
    }

    fn file(&self, port: u16) -> PathBuf {
        self.0.join(format!(".s.PGSQL.{port}"))
    }

    fn client(&self, server: &Running) -> Client<UnixStream> {
        let stream = UnixStream::connect(self.file(server.address.port())).expect("the server listens");
        Client::over(stream).begin("postgres").expect("the session begins")
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn bind(config: ServerConfig) -> Result<Server, ServerError> {
    Server::bind(config, Database::new(hotrow_protocols::open("serial").unwrap(), Config::default()))
}

fn refusal(config: ServerConfig) -> String {
    bind(config).err().expect("it is refused").to_string()
}

#[test]
fn sessions_through_the_file_and_the_address_see_one_database() {
    let directory = Directory::new("sessions");
    for (engine, config) in settings().filter(|(engine, _)| *engine == ENGINE_OF_ALL_MODELS) {
        let mut server = Running::with(engine, ServerConfig { socket_dir: Some(directory.0.clone()), ..config });
        let mut local = directory.client(&server);
        local.run("CREATE TABLE seats (id int PRIMARY KEY, taken bool NOT NULL)");
        local.run("INSERT INTO seats VALUES (1, false)");
        assert_eq!(server.client().column("SELECT id FROM seats"), ["1"]);

        // More than the socket's buffer holds, there and back.
        let long = "long ".repeat(1 << 20);
        assert_eq!(local.column(&format!("SELECT '{long}'")), [long]);

        let file = directory.file(server.address.port());
        assert!(file.exists());
        drop(local);
        server.stop();
        assert!(!file.exists(), "the file goes with the server");
    }
}

#[test]
fn a_statement_that_waits_is_cancelled_through_the_file() {
    let directory = Directory::new("cancel");
    for (engine, config) in settings().filter(|(engine, _)| *engine == ENGINE_OF_ALL_MODELS) {
        let server = Running::with(engine, ServerConfig { socket_dir: Some(directory.0.clone()), ..config });
        let (mut holder, mut waiting) = (directory.client(&server), directory.client(&server));
        holder.run("CREATE TABLE seats (id int PRIMARY KEY, taken bool NOT NULL)");
        holder.run("INSERT INTO seats VALUES (1, false)");
        holder.run("BEGIN");
        holder.run("UPDATE seats SET taken = true");
        waiting.send_query("UPDATE seats SET taken = false");
        let (pid, secret) = waiting.key;
        let body = [pid.to_be_bytes(), secret.to_be_bytes()].concat();
        // A request that comes before the statement hits nothing.
        waiting.stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        while SockRef::from(&waiting.stream).peek(&mut [MaybeUninit::uninit()]).is_err() {
            let mut canceller = Client::over(UnixStream::connect(directory.file(server.address.port())).unwrap());
            canceller.send(&packet(80_877_102, &body));
            assert!(canceller.try_read().is_ok_and(|answer| answer.is_none()), "a cancel request has no answer");
        }
        waiting.stream.set_read_timeout(None).unwrap();
        assert_eq!(waiting.answer().failure.expect("it was cancelled").code, "57014");
    }
}

#[test]
fn a_file_that_was_left_behind_is_replaced_and_one_in_use_is_not() {
    let directory = Directory::new("taken");
    let running = bind(directory.config()).unwrap();
    let port = running.local_addresses()[0].port();
    let taken = refusal(ServerConfig { listen: vec![([127, 0, 0, 2], port).into()], ..directory.config() });
    assert!(taken.contains("another server listens there"), "{taken}");
    drop(running);
    assert!(!directory.file(port).exists());

    drop(UnixListener::bind(directory.file(port)).unwrap());
    let again = bind(ServerConfig { listen: vec![([127, 0, 0, 2], port).into()], ..directory.config() }).unwrap();
    assert!(UnixStream::connect(directory.file(port)).is_ok());
    drop(again);

    fs::write(directory.file(port), "precious").unwrap();
    let no_socket = refusal(ServerConfig { listen: vec![([127, 0, 0, 2], port).into()], ..directory.config() });
    assert!(no_socket.contains("no socket"), "{no_socket}");
    assert_eq!(fs::read_to_string(directory.file(port)).unwrap(), "precious");
}

#[test]
fn a_directory_that_cannot_be_used_is_told() {
    let directory = Directory::new("unusable");
    let missing = refusal(ServerConfig { socket_dir: Some(directory.0.join("missing")), ..directory.config() });
    assert!(missing.contains("missing/.s.PGSQL."), "{missing}");
    let long = directory.0.join("long".repeat(40));
    fs::create_dir(&long).unwrap();
    let long = refusal(ServerConfig { socket_dir: Some(long), ..directory.config() });
    assert!(long.contains("cannot listen on"), "{long}");
}
