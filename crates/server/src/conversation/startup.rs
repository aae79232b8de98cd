//! From a client's first byte to the start of its session: TLS, the start-up message or a cancel request, the password.

use super::statement_io::flush;
use crate::auth::{Exchange, MECHANISM, Malformed, Passwords, random};
use crate::clients::{ClientHandle, Clients};
use crate::message::{Body, Input, backend, malformed};
use crate::socket::Stream;
use bytes::BytesMut;
use hotrow_sql::types::utf8;
use hotrow_sql::{SqlError, state};
use hotrow_sync::{Arc, Time};
use pgwire::messages::startup::Authentication;
use rustls::ServerConfig as TlsConfig;
use std::io::{self, Write};

/// The longest packet before the session begins, in bytes.
const PACKET_LIMIT: usize = 10_000;

/// Codes in place of a version: a cancel request, and requests for encryption by TLS and by GSSAPI.
const CANCEL: u32 = 80_877_102;
const SSL: u32 = 80_877_103;
const GSS: u32 = 80_877_104;

/// The contents of a start-up message.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// The user's name.
    pub user: String,
    /// The name of the database. If the message has none, it is the user's name.
    pub database: String,
    /// The settings, as names and values, with which the session begins. They are from the message's parameters and its
    /// `options`.
    pub settings: Vec<(String, String)>,
    /// The unknown protocol options. `Some` if there are any, or if the client asks for a minor version above 0.
    unknown_options: Option<Vec<String>>,
}

/// The reason why a client gets no session.
#[derive(Debug)]
pub enum StartupError {
    /// The client has left, or the connection was for a cancel request. The server sends no message.
    Gone,
    /// The server refuses the client, and sends it this error.
    Refused(SqlError),
}

impl From<io::Error> for StartupError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => StartupError::Refused(
                SqlError::new(state::PROTOCOL_VIOLATION, "time-out while waiting for the start-up message")
                    .hint("Send the start-up message, and the password if asked, at once."),
            ),
            _ => StartupError::Gone,
        }
    }
}

impl From<SqlError> for StartupError {
    fn from(error: SqlError) -> Self {
        StartupError::Refused(error)
    }
}

/// The log-in of a client: the part of a connection from its first byte to the start of its session.
pub struct Startup<'a> {
    /// The client's socket.
    pub stream: &'a mut Stream,
    /// The bytes that have come and are not consumed.
    pub input: &'a mut Input,
    /// The certificate and its key, or `None` if the server does not offer TLS.
    pub tls: Option<&'a Arc<TlsConfig>>,
    /// The connected clients, among which a cancel request finds its session.
    pub clients: &'a Clients,
    /// The handle of the client that logs in.
    pub client: &'a ClientHandle,
    /// The time by which the session must have begun.
    pub deadline: Time,
}

impl Startup<'_> {
    /// Reads packets up to the start-up message, which it returns. Answers requests for encryption, and carries out a
    /// cancel request. Waits for the client.
    ///
    /// # Errors
    /// [`StartupError::Gone`] after a cancel request or if the client has left. [`StartupError::Refused`] if a packet
    /// is malformed, the protocol version is unsupported, or the client is too slow.
    pub fn negotiate(&mut self) -> Result<Start, StartupError> {
        let mut asked_tls = false;
        let mut asked_gss = false;
        loop {
            let packet = self.packet()?;
            let mut body = Body::new(&packet);
            match body.u32()? {
                SSL if !asked_tls && !self.stream.is_tls() => {
                    asked_tls = true;
                    self.answer_tls()?;
                }
                GSS if !asked_gss && !self.stream.is_tls() => {
                    asked_gss = true;
                    self.stream.write_all(b"N")?;
                }
                CANCEL => {
                    self.clients.cancel(body.i32()?, body.i32()?);
                    return Err(StartupError::Gone);
                }
                version if version >> 16 == 3 => return Ok(start(body, version & 0xffff)?),
                version => {
                    let message = format!(
                        "unsupported frontend protocol {}.{}: server supports 3.0",
                        version >> 16,
                        version & 0xffff
                    );
                    return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message).into());
                }
            }
        }
    }

    fn answer_tls(&mut self) -> Result<(), StartupError> {
        let Some(tls) = self.tls else { return Ok(self.stream.write_all(b"N")?) };
        // An attacker between client and server could have put these bytes there.
        if !self.input.unread().is_empty() {
            return Err(malformed("received unencrypted data after SSL request").into());
        }
        self.stream.write_all(b"S")?;
        Ok(self.stream.start_tls(tls.clone())?)
    }

    /// Returns the next packet without its length.
    fn packet(&mut self) -> Result<Vec<u8>, StartupError> {
        loop {
            if let Some((length, rest)) = self.input.unread().split_first_chunk() {
                let length = u32::from_be_bytes(*length) as usize;
                if !(8..=PACKET_LIMIT).contains(&length) {
                    return Err(malformed("invalid length of startup packet").into());
                }
                if let Some(body) = rest.get(..length - 4) {
                    let packet = body.to_vec();
                    self.input.consume(length);
                    return Ok(packet);
                }
            }
            self.fill()?;
        }
    }

    fn fill(&mut self) -> Result<(), StartupError> {
        if self.input.fill(self.stream)? == 0 {
            return Err(StartupError::Gone);
        }
        self.client.note_input();
        Ok(self.stream.set_deadline(Some(self.deadline))?)
    }

    /// Checks the user's password by an exchange of SCRAM-SHA-256 messages. Does nothing if `passwords` is `None`.
    ///
    /// # Errors
    /// [`StartupError::Refused`] for a wrong password, with the same error for an unknown user, or for a malformed
    /// message. [`StartupError::Gone`] if the client has left.
    pub fn authenticate(&mut self, user: &str, passwords: Option<&Passwords>) -> Result<(), StartupError> {
        let Some(passwords) = passwords else { return Ok(()) };
        let (verifier, exists) = passwords.verifier(user);
        self.send(&Authentication::SASL(vec![MECHANISM.to_owned()]))?;
        let message = self.password_message()?;
        let mut body = Body::new(&message);
        if body.text()? != MECHANISM {
            return Err(malformed("client selected an invalid SASL authentication mechanism").into());
        }
        let first = utf8(body.value()?.unwrap_or_default())?;
        body.end()?;
        let nonce = random::<18>().map_err(|error| SqlError::new(state::INTERNAL_ERROR, error.to_string()))?;
        let malformed_scram = |Malformed| malformed("malformed SCRAM message");
        let exchange = Exchange::begin(&verifier, first, &nonce).map_err(malformed_scram)?;
        self.send(&Authentication::SASLContinue(exchange.first().to_owned().into()))?;
        let message = self.password_message()?;
        let last = utf8(&message)?;
        match exchange.finish(last).map_err(malformed_scram)? {
            Some(answer) if exists => self.send(&Authentication::SASLFinal(answer.into())),
            _ => {
                let message = format!("password authentication failed for user \"{user}\"");
                Err(SqlError::new(state::INVALID_PASSWORD, message).into())
            }
        }
    }

    fn send(&mut self, step: &Authentication) -> Result<(), StartupError> {
        let mut out = BytesMut::new();
        backend::authentication(&mut out, step);
        Ok(flush(self.stream, &mut out)?)
    }

    fn password_message(&mut self) -> Result<Vec<u8>, StartupError> {
        loop {
            if let Some(frame) = self.input.frame(PACKET_LIMIT)? {
                if frame.kind != b'p' {
                    let message = format!("expected password response, got message type {}", frame.kind);
                    return Err(malformed(&message).into());
                }
                return Ok(self.input.body(&frame).to_vec());
            }
            self.fill()?;
        }
    }
}

impl Start {
    /// Returns the names of protocol options that the server does not know, if it must answer with
    /// NegotiateProtocolVersion: the client has sent such options, or asks for a later protocol than 3.0. Returns
    /// `None` otherwise, and on a second call.
    pub fn take_unknown_options(&mut self) -> Option<Vec<String>> {
        self.unknown_options.take()
    }
}

/// Reads the parameters of a start-up message, from which `body` begins. `minor` is the minor version that the client
/// asks for.
fn start(mut body: Body<'_>, minor: u32) -> Result<Start, SqlError> {
    let mut start = Start::default();
    let mut unknown = Vec::new();
    loop {
        let name = body.text()?;
        if name.is_empty() {
            break;
        }
        let value = body.text()?;
        match name {
            "user" => start.user = value.to_owned(),
            "database" => start.database = value.to_owned(),
            "replication" if matches!(value, "false" | "off" | "no" | "0") => {}
            "replication" => {
                return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, "replication connections are not supported"));
            }
            "client_encoding" => check_encoding(value)?,
            "options" => read_options(value, &mut start.settings)?,
            _ if name.starts_with("_pq_.") => unknown.push(name.to_owned()),
            _ => start.settings.push((name.to_owned(), value.to_owned())),
        }
    }
    body.end()?;
    if start.user.is_empty() {
        let message = "no user name specified in startup packet";
        return Err(SqlError::new(state::INVALID_AUTHORIZATION_SPECIFICATION, message));
    }
    if start.database.is_empty() {
        start.database.clone_from(&start.user);
    }
    if minor > 0 || !unknown.is_empty() {
        start.unknown_options = Some(unknown);
    }
    Ok(start)
}

/// Checks that a client's encoding is UTF-8. `SQL_ASCII` makes no promise about texts, so UTF-8 keeps it, too.
fn check_encoding(name: &str) -> Result<(), SqlError> {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    if ["utf8", "unicode", "sqlascii"].iter().any(|known| plain.eq_ignore_ascii_case(known)) {
        return Ok(());
    }
    let message = format!("invalid value for parameter \"client_encoding\": \"{name}\"");
    Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message).hint("The encoding is UTF8."))
}

/// Reads settings of the forms `-c name=value`, `-cname=value` and `--name=value`. A backslash keeps a space within a
/// word.
fn read_options(text: &str, settings: &mut Vec<(String, String)>) -> Result<(), SqlError> {
    let mut words = vec![String::new()];
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => words.last_mut().expect("never empty").extend(characters.next()),
            character if character.is_ascii_whitespace() => words.push(String::new()),
            character => words.last_mut().expect("never empty").push(character),
        }
    }
    let mut words = words.into_iter().filter(|word| !word.is_empty());
    while let Some(word) = words.next() {
        let setting = match (word.strip_prefix("--"), word.strip_prefix("-c")) {
            (Some(setting), _) => setting.to_owned(),
            (None, Some("")) => words.next().unwrap_or_default(),
            (None, Some(setting)) => setting.to_owned(),
            (None, None) => String::new(),
        };
        let (name, value) = setting.split_once('=').ok_or_else(|| {
            let message = format!("invalid command-line argument for server process: {word}");
            SqlError::new(state::SYNTAX_ERROR, message).hint("Expected -c name=value.")
        })?;
        settings.push((name.replace('-', "_"), value.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_sorted_into_user_and_settings() {
        let message = b"user\0me\0database\0db\0application_name\0psql\0options\0-c a=1 --b-c=x\\ y\0_pq_.x\x001\0\0";
        let mut found = start(Body::new(message), 2).unwrap();
        assert_eq!(found.take_unknown_options(), Some(vec!["_pq_.x".to_owned()]));
        let settings = [("application_name", "psql"), ("a", "1"), ("b_c", "x y")];
        assert_eq!((found.user.as_str(), found.database.as_str()), ("me", "db"));
        assert_eq!(found.settings, settings.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let mut plain = start(Body::new(b"user\0me\0\0"), 0).unwrap();
        assert_eq!((plain.take_unknown_options(), plain.database.as_str()), (None, "me"));
    }

    #[test]
    fn wrong_parameters_are_refused() {
        let cases: &[(&[u8], &str)] = &[
            (b"\0", "28000"),
            (b"user\0me\0", "08P01"),
            (b"user\0me", "08P01"),
            (b"user\0me\0\0more", "08P01"),
            (b"user\0m\xff\0\0", "22021"),
            (b"user\0me\0client_encoding\0LATIN1\0\0", "22023"),
            (b"user\0me\0replication\0database\0\0", "0A000"),
            (b"user\0me\0options\0-d\0\0", "42601"),
        ];
        for (message, code) in cases {
            assert_eq!(start(Body::new(message), 0).unwrap_err().state.as_str(), *code, "{message:?}");
        }
    }
}
