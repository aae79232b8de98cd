//! The messages of the extended protocol: Parse, Bind, Describe, Execute, Close.

use super::connection::Connection;
use super::pipeline::rest_of_pipeline;
use super::statement_io::StatementIo;
use crate::message::{Bind, Body, Execute, Formats, Frame, Parse, RowShape, backend, malformed};
use bytes::BufMut;
use hotrow_sql::{Executed, Notice, OutputColumn, SqlError};
use std::io::{Read, Write};

impl<S: Read + Write> Connection<S> {
    /// Answers a Parse, Bind, Describe, Execute or Close message.
    ///
    /// # Errors
    /// The error for the client. The caller skips messages up to Sync.
    pub(super) fn extended(&mut self, frame: &Frame) -> Result<(), SqlError> {
        match frame.kind {
            b'P' => self.parse(frame),
            b'B' => self.bind(frame),
            b'D' => self.describe(frame),
            b'E' => self.execute(frame),
            _ => self.close(frame),
        }
    }

    fn parse(&mut self, frame: &Frame) -> Result<(), SqlError> {
        let Parse { name, text, types } = Parse::read(self.input.body(frame), |oid| self.session.type_of_oid(oid))?;
        let out = &mut self.out;
        let mut notify = |notice: Notice| backend::notice(out, notice.severity, &notice.error);
        self.session.parse_noticed(name, text, &types, &mut notify)?;
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
        let formats = bind.result_formats()?;
        set_shape(self.portals.of(portal), statement.columns().unwrap_or_default(), formats)?;
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
                backend::parameter_description(&mut self.out, statement.param_oids());
                match statement.columns() {
                    Some(columns) => backend::row_description(&mut self.out, columns, |_| false),
                    None => self.out.put_slice(backend::NO_DATA),
                }
            }
            b'P' => match self.session.portal_columns(name)? {
                Some(columns) => {
                    let shape = self.portals.of(name);
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
        // The name is copied, since COPY reads on while the statement runs.
        self.text.clear();
        self.text.push_str(portal);
        self.client.begin_statement();
        let mut io = StatementIo {
            stream: &mut self.stream,
            input: &mut self.input,
            out: &mut self.out,
            shape: self.portals.of(&self.text),
            limit: self.limit,
        };
        if io.input.sync_follows() {
            self.session.announce_sync();
        } else if all_rows
            && self.session.wants_pipeline()
            && let Some(rest) = rest_of_pipeline(io.input, &self.session)
        {
            self.session.announce_pipeline(rest);
        }
        let result = self.session.execute(&self.text, usize::try_from(max_rows).unwrap_or(0), &mut io);
        self.client.end_statement();
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

/// Stores in `shape` the types of a result's columns and the formats that Bind asks for. No format means text for all
/// columns, one format holds for all columns, and otherwise there is one for each column.
///
/// # Errors
/// Another number of formats, or an unknown format.
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
