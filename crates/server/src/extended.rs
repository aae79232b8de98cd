//! The extended protocol: Parse, Bind, Describe, Execute, Close.

use crate::ahead;
use crate::backend::{self, RowShape};
use crate::connection::Connection;
use crate::frontend::{Body, Formats, malformed};
use crate::input::Frame;
use crate::link::Link;
use bytes::BufMut;
use hotrow_sql::types::{Styles, decode_binary, decode_text, from_oid, oid::UNKNOWN, utf8};
use hotrow_sql::{Executed, Notice, OutputColumn, SqlError, state};
use hotrow_storage::{Type, Value};
use std::collections::HashMap;
use std::io::{Read, Write};

/// How the rows of each portal are written. The portals themselves are the session's.
#[derive(Default)]
pub struct Portals {
    unnamed: RowShape,
    named: HashMap<String, RowShape>,
}

impl Portals {
    fn shape(&mut self, portal: &str) -> &mut RowShape {
        if portal.is_empty() {
            return &mut self.unnamed;
        }
        if !self.named.contains_key(portal) {
            self.named.insert(portal.to_owned(), RowShape::default());
        }
        self.named.get_mut(portal).expect("it was inserted")
    }

    /// Named portals end with their transaction.
    pub fn clear_named(&mut self) {
        if !self.named.is_empty() {
            self.named.clear();
        }
    }
}

impl<S: Read + Write> Connection<S> {
    /// Answers one of the messages of the extended protocol.
    pub(crate) fn extended(&mut self, frame: &Frame) -> Result<(), SqlError> {
        match frame.kind {
            b'P' => self.parse(frame),
            b'B' => self.bind(frame),
            b'D' => self.describe(frame),
            b'E' => self.execute(frame),
            _ => self.close(frame),
        }
    }

    fn parse(&mut self, frame: &Frame) -> Result<(), SqlError> {
        let Parse { name, text, types } = Parse::read(self.input.body(frame))?;
        let out = &mut self.out;
        let mut tell = |notice: Notice| backend::notice(out, notice.severity, &notice.error);
        self.session.parse_noticed(name, text, &types, &mut tell)?;
        self.out.put_slice(backend::PARSE_COMPLETE);
        Ok(())
    }

    fn bind(&mut self, frame: &Frame) -> Result<(), SqlError> {
        let mut bind = Bind::read(self.input.body(frame))?;
        let portal = bind.portal;
        let statement = self.session.statement(bind.name)?;
        let (types, styles) = (statement.param_types(), self.session.styles());
        bind.check(types)?;
        self.session.bind(portal, &statement, &mut |values| bind.values(types, styles, values))?;
        let formats = bind.rest.formats()?;
        bind.rest.end()?;
        set_shape(self.portals.shape(portal), statement.columns().unwrap_or_default(), formats)?;
        self.out.put_slice(backend::BIND_COMPLETE);
        Ok(())
    }

    fn describe(&mut self, frame: &Frame) -> Result<(), SqlError> {
        let mut body = Body::new(self.input.body(frame));
        let kind = body.u8()?;
        let name = body.text()?;
        body.end()?;
        match kind {
            b'S' => {
                let statement = self.session.statement(name)?;
                backend::parameter_description(&mut self.out, statement.param_types());
                match statement.columns() {
                    Some(columns) => backend::row_description(&mut self.out, columns, |_| false),
                    None => self.out.put_slice(backend::NO_DATA),
                }
            }
            b'P' => match self.session.portal_columns(name)? {
                Some(columns) => {
                    let shape = self.portals.shape(name);
                    backend::row_description(&mut self.out, columns, |column| shape.is_binary(column));
                }
                None => self.out.put_slice(backend::NO_DATA),
            },
            kind => return Err(malformed(&format!("invalid DESCRIBE message subtype {kind}"))),
        }
        Ok(())
    }

    fn execute(&mut self, frame: &Frame) -> Result<(), SqlError> {
        let Execute { portal, max_rows } = Execute::read(self.input.body(frame))?;
        let all_rows = max_rows <= 0;
        // COPY reads on while the statement runs.
        self.text.clear();
        self.text.push_str(portal);
        self.peer.begin();
        let mut link = Link {
            stream: &mut self.stream,
            input: &mut self.input,
            out: &mut self.out,
            shape: self.portals.shape(&self.text),
            limit: self.limit,
        };
        if link.input.sync_follows() {
            self.session.announce_sync();
        } else if all_rows
            && self.session.wants_pipeline()
            && let Some(rest) = ahead::rest_of_pipeline(link.input, &self.session)
        {
            self.session.announce_pipeline(rest);
        }
        let result = self.session.execute(&self.text, usize::try_from(max_rows).unwrap_or(0), &mut link);
        self.peer.end();
        if result? == Executed::Suspended {
            self.out.put_slice(backend::PORTAL_SUSPENDED);
        }
        Ok(())
    }

    fn close(&mut self, frame: &Frame) -> Result<(), SqlError> {
        let mut body = Body::new(self.input.body(frame));
        let kind = body.u8()?;
        let name = body.text()?;
        body.end()?;
        match kind {
            b'S' => self.session.close_statement(name),
            b'P' => self.session.close_portal(name),
            kind => return Err(malformed(&format!("invalid CLOSE message subtype {kind}"))),
        }
        self.out.put_slice(backend::CLOSE_COMPLETE);
        Ok(())
    }
}

/// A Parse message.
pub(crate) struct Parse<'m> {
    pub(crate) name: &'m str,
    pub(crate) text: &'m str,
    /// The types that the client gives.
    pub(crate) types: Vec<Option<Type>>,
}

impl<'m> Parse<'m> {
    pub(crate) fn read(message: &'m [u8]) -> Result<Self, SqlError> {
        let mut body = Body::new(message);
        let (name, text) = (body.text()?, body.text()?);
        let count = usize::from(body.u16()?);
        let mut types = Vec::new();
        for position in 1..=count {
            types.push(parameter_type(body.u32()?, position)?);
        }
        body.end()?;
        Ok(Self { name, text, types })
    }
}

/// A Bind message, up to its values.
pub(crate) struct Bind<'m> {
    pub(crate) portal: &'m str,
    pub(crate) name: &'m str,
    formats: Formats<'m>,
    /// How many values there are.
    count: usize,
    /// What has not been read yet: the values and, after these, the result's formats.
    rest: Body<'m>,
}

impl<'m> Bind<'m> {
    pub(crate) fn read(message: &'m [u8]) -> Result<Self, SqlError> {
        let mut body = Body::new(message);
        let (portal, name, formats) = (body.text()?, body.text()?, body.formats()?);
        let count = usize::from(body.u16()?);
        Ok(Self { portal, name, formats, count, rest: body })
    }

    /// Whether there are as many values as a statement has parameters.
    pub(crate) fn check(&self, types: &[Type]) -> Result<(), SqlError> {
        let (count, formats) = (self.count, self.formats.len());
        if count != types.len() {
            let message = format!(
                "bind message supplies {count} parameters, but prepared statement \"{}\" requires {}",
                self.name,
                types.len()
            );
            return Err(malformed(&message));
        }
        if formats > 1 && formats != count {
            let message = format!("bind message has {formats} parameter formats but {count} parameters");
            return Err(malformed(&message));
        }
        Ok(())
    }

    /// Reads the values.
    pub(crate) fn values(
        &mut self,
        types: &[Type],
        styles: Styles,
        values: &mut Vec<Value<'static>>,
    ) -> Result<(), SqlError> {
        for (position, &ty) in types.iter().enumerate() {
            values.push(parameter(ty, self.rest.value()?, self.formats.is_binary(position)?, styles, position)?);
        }
        Ok(())
    }
}

/// An Execute message.
pub(crate) struct Execute<'m> {
    pub(crate) portal: &'m str,
    /// No limit is 0 or less.
    pub(crate) max_rows: i32,
}

impl<'m> Execute<'m> {
    pub(crate) fn read(message: &'m [u8]) -> Result<Self, SqlError> {
        let mut body = Body::new(message);
        let (portal, max_rows) = (body.text()?, body.i32()?);
        body.end()?;
        Ok(Self { portal, max_rows })
    }
}

/// A parameter's type by its number; `None` if it is to be inferred.
fn parameter_type(oid: u32, position: usize) -> Result<Option<Type>, SqlError> {
    if matches!(oid, 0 | UNKNOWN) {
        return Ok(None);
    }
    from_oid(oid, -1).map(Some).ok_or_else(|| {
        let message = format!("parameter ${position}: there is no type with OID {oid}");
        SqlError::new(state::UNDEFINED_OBJECT, message)
    })
}

/// A parameter's value from its bytes.
fn parameter(
    ty: Type,
    bytes: Option<&[u8]>,
    binary: bool,
    styles: Styles,
    position: usize,
) -> Result<Value<'static>, SqlError> {
    let Some(bytes) = bytes else { return Ok(Value::Null) };
    let value = match binary {
        true => decode_binary(ty, bytes),
        false => utf8(bytes).and_then(|text| decode_text(ty, text, styles)),
    };
    value.map_err(|error| error.context(format!("parameter ${}", position + 1)))
}

/// Takes a result's formats: none for text, one for all columns, or one for each.
fn set_shape(shape: &mut RowShape, columns: &[OutputColumn], formats: Formats<'_>) -> Result<(), SqlError> {
    if formats.len() > 1 && formats.len() != columns.len() {
        let message =
            format!("bind message has {} result formats but query has {} columns", formats.len(), columns.len());
        return Err(malformed(&message));
    }
    for column in 0..columns.len() {
        formats.is_binary(column)?;
    }
    shape.set(columns.iter().enumerate().map(|(at, column)| (column.ty, formats.is_binary(at) == Ok(true))));
    Ok(())
}
