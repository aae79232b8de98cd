//! The client side of a session: the [`Client`] trait, and the columns and notices that clients are sent.

use crate::types::{DomainId, Styles};
use crate::{SqlError, state};
use hotrow_storage::{Type, Value};

/// A column of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputColumn {
    /// The column's name: its own, its alias, or PostgreSQL's choice for an expression (`?column?`, `count`, …).
    pub name: String,
    /// The type of the column's values.
    pub ty: Type,
    /// The domain of the values, if they are of one. Clients see the base type, which is `ty`.
    pub domain: Option<DomainId>,
    /// The column of a relation that the values come from, or `None` if they are computed.
    pub origin: Option<Origin>,
}

/// The column of a relation that a result column shows unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The OID of the relation.
    pub relation: u32,
    /// The number of the column in the relation, from 1.
    pub column: u16,
}

impl OutputColumn {
    /// Makes an output column whose values come from no column of a relation.
    pub fn new(name: impl Into<String>, ty: Type) -> Self {
        Self { name: name.into(), ty, domain: None, origin: None }
    }

    /// Returns the column as one of values of a domain, if there is one.
    pub(crate) fn of_domain(self, domain: Option<DomainId>) -> Self {
        Self { domain, ..self }
    }

    /// Returns the type of the values, with their domain if they are of one.
    pub(crate) fn kind(&self) -> (Type, Option<DomainId>) {
        (self.ty, self.domain)
    }

    /// Returns the output columns that show all columns of a relation. `number` is the relation's OID;
    /// `columns` are its columns, in its order.
    pub(crate) fn of_relation(number: u32, columns: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let column = |(at, column)| Self { origin: Some(Origin { relation: number, column: at }), ..column };
        (1..).zip(columns).map(column).collect()
    }
}

/// Whether two results have columns of the same names and types. The origins of the columns may differ.
pub(crate) fn are_alike(one: &[OutputColumn], other: &[OutputColumn]) -> bool {
    let alike = |(one, other): (&OutputColumn, &OutputColumn)| one.name == other.name && one.kind() == other.kind();
    one.len() == other.len() && one.iter().zip(other).all(alike)
}

/// The format of the data of a COPY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyEncoding {
    /// Text or CSV: lines of text.
    Text,
    /// PostgreSQL's binary format.
    Binary,
}

/// A message to the client other than an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The severity: `NOTICE`, `WARNING` or `INFO`.
    pub severity: &'static str,
    /// The SQLSTATE and the text of the notice.
    pub error: SqlError,
}

/// The client of a session: it receives the results of statements and supplies the data of COPY.
///
/// The server implements it for a connection, and the tests for vectors in memory. Calls come in the order of the
/// messages of PostgreSQL's protocol. If a method returns an error, the client is gone, and the statement ends with
/// that error.
pub trait Client {
    /// Begins a result with these columns. Not called for the execution of a portal, whose columns are described
    /// before.
    fn columns(&mut self, columns: &[OutputColumn]) -> Result<(), SqlError>;

    /// Sets the styles, such as DateStyle, in which the following rows are to be written as text. A client that takes
    /// values and not text can ignore this.
    fn styles(&mut self, styles: Styles) {
        let _ = styles;
    }

    /// Receives a row of the result.
    fn row(&mut self, values: &[Value<'_>]) -> Result<(), SqlError>;

    /// Ends a statement. `tag` is PostgreSQL's command tag (`INSERT 0 1`).
    fn complete(&mut self, tag: &str) -> Result<(), SqlError>;

    /// Reports that a query string contained no statement.
    fn empty(&mut self) -> Result<(), SqlError>;

    /// Receives a notice.
    fn notice(&mut self, notice: Notice);

    /// Reports the new value of a setting whose changes clients are told, such as `TimeZone`.
    fn parameter(&mut self, name: &str, value: &str);

    /// Begins COPY FROM STDIN, and asks the client to send data. `columns` is the number of columns that COPY reads.
    fn copy_in(&mut self, encoding: CopyEncoding, columns: usize) -> Result<(), SqlError> {
        let _ = (encoding, columns);
        Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, "this client cannot send COPY data"))
    }

    /// Waits for the next piece of COPY data and puts it into `buffer`, which is cleared first. Returns `false` at the
    /// end of the data. A piece may end anywhere, also in the middle of a line or of a character.
    ///
    /// # Errors
    /// 57014 if the client has cancelled the COPY, or another error if the client is gone.
    fn copy_data(&mut self, buffer: &mut Vec<u8>) -> Result<bool, SqlError> {
        let _ = buffer;
        Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, "this client cannot send COPY data"))
    }

    /// Begins COPY TO STDOUT. `columns` is the number of columns that COPY writes.
    fn copy_out(&mut self, encoding: CopyEncoding, columns: usize) -> Result<(), SqlError> {
        let _ = (encoding, columns);
        Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, "this client cannot receive COPY data"))
    }

    /// Receives a piece of the data of COPY TO STDOUT: a whole row, the header, or the trailer.
    fn copy_piece(&mut self, bytes: &[u8]) -> Result<(), SqlError> {
        let _ = bytes;
        Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, "this client cannot receive COPY data"))
    }

    /// Ends COPY TO STDOUT after the last piece.
    fn copy_out_done(&mut self) -> Result<(), SqlError> {
        Ok(())
    }
}
