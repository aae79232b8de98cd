//! COPY.

use super::dml::Inserter;
use super::{Exec, Fail, width};
use crate::client::Client;
use crate::copy::{CopyFormat, CopyOptions, CopyReader, CopyWriter};
use crate::expr::Input;
use crate::plan::{Insert, Node};
use crate::types::{decode_binary, decode_text_borrowed};
use crate::{OutputColumn, SqlError};
use hotrow_storage::Value;
use std::ops::ControlFlow;

impl Exec<'_> {
    /// COPY FROM STDIN: inserts what the client sends; the number of rows.
    pub(crate) fn copy_from(
        &mut self,
        insert: &Insert,
        options: &CopyOptions,
        client: &mut dyn Client,
    ) -> Result<u64, Fail> {
        let columns = &insert.table.schema.columns;
        let names = insert.targets.iter().map(|&target| columns[target].name.clone()).collect();
        let mut reader = CopyReader::new(options.clone(), insert.table.name(), names);
        client.copy_in(options.encoding(), insert.targets.len())?;
        let mut writer = Inserter::new(insert, self.env);
        let (mut buffer, mut rows) = (Vec::new(), 0);
        loop {
            let more = client.copy_data(&mut buffer)?;
            if more {
                reader.feed(&buffer);
            } else {
                reader.finish();
            }
            while let Some(row) = reader.next_row()? {
                self.env.check_cancelled()?;
                writer.start()?;
                for (at, &target) in insert.targets.iter().enumerate() {
                    let ty = columns[target].ty;
                    let explain = |error: SqlError| row.explain(at, error);
                    let value = match options.format {
                        CopyFormat::Binary => match row.bytes(at) {
                            Some(bytes) => decode_binary(ty, bytes).map_err(explain)?,
                            None => Value::Null,
                        },
                        _ => match row.text(at)? {
                            Some(text) => decode_text_borrowed(ty, text, self.env.styles).map_err(explain)?,
                            None => Value::Null,
                        },
                    };
                    writer.row.change(|row| row.set(target, &value));
                }
                match writer.write(self, &mut |_| Ok(ControlFlow::Continue(()))) {
                    Ok(_) => rows += 1,
                    Err(Fail::Sql(error)) => return Err(row.explain_row(error).into()),
                    Err(abort) => return Err(abort),
                }
            }
            if !more {
                writer.finish(self)?;
                return Ok(rows);
            }
        }
    }

    /// COPY TO STDOUT: sends a query's rows; their number.
    pub(crate) fn copy_to(
        &mut self,
        node: &Node,
        columns: &[OutputColumn],
        options: &CopyOptions,
        client: &mut dyn Client,
    ) -> Result<u64, Fail> {
        let mut writer =
            CopyWriter::new(options.clone(), columns.iter().map(|column| column.ty).collect(), self.env.styles);
        client.copy_out(options.encoding(), columns.len())?;
        if let Some(header) = writer.header(columns.iter().map(|column| column.name.as_str())) {
            client.copy_piece(header)?;
        }
        let mut rows = 0;
        self.run(node, &mut |row| {
            debug_assert_eq!(width(row), columns.len());
            if let Input::Values(values) = row {
                client.copy_piece(writer.row(values))?;
                rows += 1;
            }
            Ok(ControlFlow::Continue(()))
        })?;
        if let Some(trailer) = writer.trailer() {
            client.copy_piece(trailer)?;
        }
        client.copy_out_done()?;
        Ok(rows)
    }
}
