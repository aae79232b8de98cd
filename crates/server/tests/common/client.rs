//! A client that speaks the protocol byte by byte, and so can speak it wrongly.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// A message: its letter and its content.
pub type Message = (u8, Vec<u8>);

/// The fields of an ErrorResponse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub severity: String,
    pub code: String,
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} (SQLSTATE {})", self.severity, self.message, self.code)
    }
}

impl std::error::Error for Failure {}

/// A column as it is described.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    /// The type's number.
    pub oid: u32,
    /// The type's length, precision and scale.
    pub modifier: i32,
}

/// The answer to a query string.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// How many columns the last result has.
    pub columns: usize,
    pub described: Vec<Column>,
    pub rows: Vec<Vec<Option<String>>>,
    pub tags: Vec<String>,
    pub failure: Option<Failure>,
    /// Whether a COPY has asked for data.
    pub asked_for_data: bool,
    /// `I`, `T` or `E`
    pub status: char,
}

/// A connection, over any stream.
pub struct Client<S = TcpStream> {
    pub stream: S,
    /// Number and secret for cancel requests.
    pub key: (i32, i32),
    /// Settings that the server has reported.
    pub parameters: Vec<(String, String)>,
}

/// A message with its length.
pub fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend(((body.len() + 4) as u32).to_be_bytes());
    bytes.extend(body);
    bytes
}

/// A start-up packet.
pub fn startup(user: &str) -> Vec<u8> {
    packet(196_608, format!("user\0{user}\0database\0postgres\0\0").as_bytes())
}

/// A packet without a letter.
pub fn packet(code: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = ((body.len() + 8) as u32).to_be_bytes().to_vec();
    bytes.extend(code.to_be_bytes());
    bytes.extend(body);
    bytes
}

/// Parse.
pub fn parse(name: &str, sql: &str) -> Vec<u8> {
    message(b'P', format!("{name}\0{sql}\0\0\0").as_bytes())
}

/// Bind with text parameters, Describe, Execute, all of the unnamed portal.
pub fn execute(name: &str, parameters: &[&str]) -> Vec<u8> {
    let mut bind = format!("\0{name}\0\0\0").into_bytes();
    bind.extend((parameters.len() as u16).to_be_bytes());
    for parameter in parameters {
        bind.extend((parameter.len() as u32).to_be_bytes());
        bind.extend(parameter.as_bytes());
    }
    bind.extend(b"\0\0");
    [message(b'B', &bind), message(b'D', b"P\0"), message(b'E', b"\0\0\0\0\0")].concat()
}

/// Parse and Bind of the unnamed statement with text parameters, Describe, Execute, Sync.
pub fn extended(sql: &str, parameters: &[&str]) -> Vec<u8> {
    [parse("", sql), execute("", parameters), message(b'S', b"")].concat()
}

impl Client {
    /// A session of the user `postgres`.
    pub fn connect(address: SocketAddr) -> Self {
        Self::open(address).begin("postgres").expect("the session begins")
    }

    /// A connection without a session.
    pub fn open(address: SocketAddr) -> Self {
        Self::over(TcpStream::connect(address).expect("the server listens"))
    }
}

impl<S: Read + Write> Client<S> {
    /// A client over a stream, without a session.
    pub fn over(stream: S) -> Self {
        Self { stream, key: (0, 0), parameters: Vec::new() }
    }

    /// Sends the start-up message and reads up to ReadyForQuery.
    pub fn begin(mut self, user: &str) -> Result<Self, Failure> {
        self.send(&startup(user));
        self.await_ready()?;
        Ok(self)
    }

    /// Reads up to ReadyForQuery.
    pub fn await_ready(&mut self) -> Result<(), Failure> {
        loop {
            match self.read() {
                (b'Z', _) => return Ok(()),
                (b'E', body) => return Err(failure(&body)),
                (b'K', body) => {
                    let number = |at: usize| i32::from_be_bytes(body[at..at + 4].try_into().unwrap());
                    self.key = (number(0), number(4));
                }
                (b'S', body) => {
                    let texts = texts(&body);
                    self.parameters.push((texts[0].clone(), texts[1].clone()));
                }
                _ => {}
            }
        }
    }

    /// Sends bytes.
    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the server reads");
        self.stream.flush().expect("the server reads");
    }

    /// The next message, or `None` if the server has closed the connection.
    pub fn try_read(&mut self) -> io::Result<Option<Message>> {
        let mut header = [0; 5];
        if self.stream.read(&mut header[..1])? == 0 {
            return Ok(None);
        }
        self.stream.read_exact(&mut header[1..])?;
        let length = u32::from_be_bytes(header[1..].try_into().unwrap()) as usize;
        let mut body = vec![0; length - 4];
        self.stream.read_exact(&mut body)?;
        Ok(Some((header[0], body)))
    }

    /// The next message.
    pub fn read(&mut self) -> Message {
        self.try_read().expect("the server answers").expect("the connection is open")
    }

    /// The letters of the messages up to ReadyForQuery.
    pub fn letters(&mut self) -> String {
        let mut letters = String::new();
        while !letters.ends_with('Z') {
            letters.push(self.read().0 as char);
        }
        letters
    }

    /// The error that the connection ends with, and that it ends.
    pub fn last_words(&mut self) -> Option<Failure> {
        let mut last = None;
        while let Some((kind, body)) = self.try_read().expect("the connection ends in order") {
            last = (kind == b'E').then(|| failure(&body));
        }
        last
    }

    /// Sends a query string and reads the answer.
    pub fn query(&mut self, sql: &str) -> Answer {
        self.send_query(sql);
        self.answer()
    }

    /// Sends a query string.
    pub fn send_query(&mut self, sql: &str) {
        self.send(&message(b'Q', format!("{sql}\0").as_bytes()));
    }

    /// Reads an answer up to ReadyForQuery.
    pub fn answer(&mut self) -> Answer {
        self.try_answer().expect("the server answers")
    }

    /// [`answer`](Self::answer), or why there is none.
    pub fn try_answer(&mut self) -> io::Result<Answer> {
        self.try_answer_giving(None)
    }

    /// [`try_answer`](Self::try_answer). A COPY that asks for data gets `data`, if there is any.
    pub fn try_answer_giving(&mut self, data: Option<&[u8]>) -> io::Result<Answer> {
        let mut answer = Answer::default();
        loop {
            match self.try_read()?.ok_or(io::ErrorKind::UnexpectedEof)? {
                (b'G', _) if let Some(data) = data => {
                    self.send(&[message(b'd', data), message(b'c', b"")].concat());
                    answer.asked_for_data = true;
                }
                (b'T', body) => {
                    answer.described = columns(&body);
                    answer.columns = answer.described.len();
                }
                (b'D', body) => answer.rows.push(row(&body)),
                (b'C', body) => answer.tags.push(texts(&body)[0].clone()),
                (b'I', _) => answer.tags.push(String::new()),
                (b'E', body) => answer.failure = Some(failure(&body)),
                (b'Z', body) => {
                    answer.status = body[0] as char;
                    return Ok(answer);
                }
                _ => {}
            }
        }
    }

    /// Runs a query string that must succeed.
    pub fn run(&mut self, sql: &str) -> Answer {
        let answer = self.query(sql);
        assert_eq!(answer.failure, None, "{sql:.200}");
        answer
    }

    /// The first column of a query's rows.
    pub fn column(&mut self, sql: &str) -> Vec<String> {
        let rows = self.run(sql).rows;
        rows.into_iter().map(|row| row[0].clone().unwrap_or("NULL".into())).collect()
    }

    /// The code of the error that a query string ends with, and the status after it.
    pub fn fails(&mut self, sql: &str) -> (String, char) {
        let answer = self.query(sql);
        (answer.failure.unwrap_or_else(|| panic!("{sql:.200}: no error")).code, answer.status)
    }
}

/// Reads an error's fields.
pub fn failure(body: &[u8]) -> Failure {
    let mut failure = Failure { severity: String::new(), code: String::new(), message: String::new() };
    for field in texts(body) {
        let Some(kind) = field.chars().next() else { continue };
        let text = field[1..].to_owned();
        match kind {
            'S' => failure.severity = text,
            'C' => failure.code = text,
            'M' => failure.message = text,
            _ => {}
        }
    }
    failure
}

pub fn texts(body: &[u8]) -> Vec<String> {
    body.split(|&byte| byte == 0).map(|text| String::from_utf8_lossy(text).into_owned()).collect()
}

fn columns(body: &[u8]) -> Vec<Column> {
    let count = u16::from_be_bytes([body[0], body[1]]);
    let mut rest = &body[2..];
    let column = |_| {
        let end = rest.iter().position(|&byte| byte == 0).expect("a name ends");
        let (name, after) = (String::from_utf8_lossy(&rest[..end]).into_owned(), &rest[end + 1..]);
        // A table's number and a column's, the type's number and size, its modifier, the format.
        let oid = u32::from_be_bytes(after[6..10].try_into().unwrap());
        let modifier = i32::from_be_bytes(after[12..16].try_into().unwrap());
        rest = &after[18..];
        Column { name, oid, modifier }
    };
    (0..count).map(column).collect()
}

/// Values; one that is no text is shown by its bytes.
fn row(body: &[u8]) -> Vec<Option<String>> {
    let count = u16::from_be_bytes([body[0], body[1]]);
    let mut rest = &body[2..];
    let mut row = Vec::new();
    for _ in 0..count {
        let length = i32::from_be_bytes(rest[..4].try_into().unwrap());
        rest = &rest[4..];
        row.push(usize::try_from(length).ok().map(|length| {
            let (value, after) = rest.split_at(length);
            rest = after;
            String::from_utf8(value.to_vec()).unwrap_or_else(|_| format!("{value:02x?}"))
        }));
    }
    row
}
