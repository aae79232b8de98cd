//! Passwords, TLS, and addresses that others can reach.

mod common;

use common::client::{Client, message, packet};
use common::{Model, Running, model, models};
use hotrow_server::{Passwords, Server, ServerConfig, ServerError, TlsFiles};
use hotrow_sync::Arc;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::Read;
use std::net::TcpStream;
use std::path::PathBuf;

/// The code of the error that a log-in with tokio-postgres ends with, or `None` if it succeeds.
fn log_in(server: &Running, user: &str, password: &str) -> Option<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut config = tokio_postgres::Config::new();
        config.host("127.0.0.1").port(server.address.port()).user(user).dbname("postgres").password(password);
        match config.connect(tokio_postgres::NoTls).await {
            Ok((client, connection)) => {
                tokio::spawn(connection);
                assert_eq!(client.query_one("SELECT 1", &[]).await.unwrap().get::<_, i32>(0), 1);
                None
            }
            Err(error) => Some(error.code().expect("the server's error").code().to_owned()),
        }
    })
}

#[test]
fn passwords_are_proved_by_scram() {
    let passwords = Passwords::new([("ann", "secret"), ("bob", "pässwörd")]).unwrap();
    for of in models() {
        let server = Running::with("serial", ServerConfig { passwords: Some(passwords.clone()), ..model(of) });
        let wrong = Some("28P01".to_owned());
        assert_eq!(log_in(&server, "ann", "secret"), None);
        assert_eq!(log_in(&server, "bob", "pässwörd"), None);
        assert_eq!(log_in(&server, "ann", "Secret"), wrong);
        assert_eq!(log_in(&server, "ann", "pässwörd"), wrong);
        assert_eq!(log_in(&server, "nobody", "secret"), wrong);
        assert_eq!(log_in(&server, "nobody", ""), wrong);
    }
}

#[test]
fn what_is_no_password_message_is_refused() {
    let passwords = Passwords::new([("ann", "secret")]).unwrap();
    let cases: &[&[u8]] = &[
        b"Q\0\0\0\x0dSELECT 1\0",
        b"p\0\0\0\x04",
        b"p\0\0\0\x0bsecret\0",
        b"p\0\0\0\x16SCRAM-SHA-256\0\0\0\0\x09",
        b"p\0\0\0\x16SCRAM-SHA-256\0\xff\xff\xff\xff",
        b"p\0\0\x30\x00",
    ];
    for of in models() {
        let server = Running::with("serial", ServerConfig { passwords: Some(passwords.clone()), ..model(of) });
        for bytes in cases {
            let mut client = Client::open(server.address);
            client.send(&common::client::startup("ann"));
            assert_eq!(client.read().0, b'R');
            client.send(bytes);
            let failure = client.last_words().unwrap();
            assert_eq!((failure.severity.as_str(), failure.code.as_str()), ("FATAL", "08P01"), "{bytes:?}");
        }
    }
}

#[test]
fn password_files_are_read() {
    let directory = directory("passwords");
    let path = directory.join("passwords");
    std::fs::write(&path, "# users\n\nann:secret\nbob:with:colon\n").unwrap();
    let passwords = Passwords::read(&path).unwrap();
    let server = Running::with("serial", ServerConfig { passwords: Some(passwords), ..ServerConfig::default() });
    assert_eq!(log_in(&server, "bob", "with:colon"), None);
    for (text, line) in [("ann:x\nbob\n", 2), (":x\n", 1), ("ann:\n", 1), ("ann:SCRAM-SHA-256$x\n", 1)] {
        std::fs::write(&path, text).unwrap();
        match Passwords::read(&path) {
            Err(ServerError::PasswordLine { line: found, .. }) => assert_eq!(found, line, "{text:?}"),
            other => panic!("{text:?}: {other:?}"),
        }
    }
    assert!(matches!(Passwords::read(&directory.join("absent")), Err(ServerError::PasswordFile(..))));
}

fn bind(config: ServerConfig) -> Result<Server, ServerError> {
    let engine = hotrow_protocols::open("serial").unwrap();
    Server::bind(config, hotrow_sql::Database::new(engine, hotrow_sql::Config::default()))
}

#[test]
fn an_open_address_needs_passwords() {
    let open = |passwords| ServerConfig { listen: vec!["0.0.0.0:0".parse().unwrap()], passwords, ..Default::default() };
    let error = bind(open(None)).err().unwrap();
    assert!(matches!(error, ServerError::Unprotected(_)), "{error}");
    let passwords = Passwords::new([("ann", "secret")]).unwrap();
    let server = Running::with("serial", open(Some(passwords)));
    assert_eq!(log_in(&server, "ann", "secret"), None);
}

#[test]
fn a_server_that_cannot_listen_says_so() {
    let server = Running::new("serial");
    let taken = ServerConfig { listen: vec![server.address], ..ServerConfig::default() };
    assert!(matches!(bind(taken), Err(ServerError::Listen(address, _)) if address == server.address));
    let nowhere = ServerConfig { listen: vec![], ..ServerConfig::default() };
    assert!(matches!(bind(nowhere), Err(ServerError::NoAddress)));
}

/// A directory of this test's own.
fn directory(name: &str) -> PathBuf {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&directory).unwrap();
    directory
}

fn certificate(name: &str) -> (TlsFiles, CertificateDer<'static>) {
    let directory = directory(name);
    let files = TlsFiles { certificate: directory.join("cert.pem"), key: directory.join("key.pem") };
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    std::fs::write(&files.certificate, made.cert.pem()).unwrap();
    std::fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
    (files, made.cert.der().clone())
}

#[test]
fn tls_is_accepted_when_it_is_configured() {
    let (files, certificate) = certificate("tls");
    models().for_each(|of| check_tls(&files, &certificate, of));
}

fn check_tls(files: &TlsFiles, certificate: &CertificateDer<'static>, of: Model) {
    let server = Running::with("serial", ServerConfig { tls: Some(files.clone()), ..model(of) });
    let mut socket = Client::open(server.address);
    socket.send(&packet(80_877_103, b""));
    let mut answer = [0];
    socket.stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"S");
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let stream: StreamOwned<ClientConnection, TcpStream> = StreamOwned::new(connection, socket.stream);
    let mut client = Client::over(stream).begin("postgres").unwrap();
    assert_eq!(client.column("SELECT 1"), ["1"]);
    // Longer than any buffer, in both directions.
    let long = "x".repeat(3_000_000);
    assert_eq!(client.column(&format!("SELECT '{long}'")), [long]);
    // A client that listens gets notifications while it sends nothing, and its messages are read all the same, even if
    // many of them come in one record.
    client.run("LISTEN c");
    for round in 0..3 {
        server.client().run(&format!("NOTIFY c, '{round}'"));
        assert_eq!(client.read().0, b'A');
        let queries: Vec<_> = (0..800).map(|number| message(b'Q', format!("SELECT {number}\0").as_bytes())).collect();
        client.send(&queries.concat());
        for number in 0..800 {
            assert_eq!(client.answer().rows, [[Some(number.to_string())]]);
        }
    }
    // Without TLS it goes too, on loopback.
    assert_eq!(server.client().column("SELECT 1"), ["1"]);
}

#[test]
fn bytes_before_the_handshake_are_refused() {
    let (files, _) = certificate("tls-injected");
    for of in models() {
        let server = Running::with("serial", ServerConfig { tls: Some(files.clone()), ..model(of) });
        let mut client = Client::open(server.address);
        client.send(&[packet(80_877_103, b""), common::client::startup("postgres")].concat());
        assert_eq!(client.last_words().unwrap().code, "08P01");
    }
}

#[test]
fn unusable_tls_files_are_named() {
    let (files, _) = certificate("tls-wrong");
    let cases = [
        TlsFiles { certificate: files.key.clone(), key: files.key.clone() },
        TlsFiles { certificate: files.certificate.clone(), key: files.certificate.clone() },
        TlsFiles { certificate: files.certificate.with_file_name("absent"), key: files.key },
    ];
    for files in cases {
        let error = bind(ServerConfig { tls: Some(files), ..ServerConfig::default() }).err().unwrap();
        assert!(matches!(error, ServerError::Tls(_)), "{error}");
    }
}
