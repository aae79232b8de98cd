//! COPY FROM STDIN and COPY TO STDOUT.
//!
//! The client sends the data of a COPY only once. Any other statement that meets another transaction's change of a row
//! waits for that transaction and runs again from its beginning. COPY FROM repeats only the row that met the change,
//! or, at its end, the checks of foreign keys. A row can be written again because its first attempt has left changes
//! only in the engine, which undoes them.

use super::dml::Inserter;
use super::subquery::NOBODY;
use super::{Exec, Fail, width};
use crate::client::Client;
use crate::copy::{CopyFormat, CopyOptions, CopyReader, CopyWriter};
use crate::expr::{BoundDomain, Content, Frame, Input, Kept};
use crate::plan::{Insert, Node, Plan};
use crate::types::{decode_binary, decode_text_borrowed};
use crate::{OutputColumn, SqlError, system};
use hotrow_storage::Value;
use hotrow_sync::Arc;
use hotrow_txn::Abort;
use std::ops::ControlFlow;

impl Exec<'_> {
    /// Runs COPY FROM STDIN: inserts the rows that the client sends, and returns their number. `waits` says whether it
    /// waits for other transactions' changes of rows. `domains` are those of the columns that the data has; the list is
    /// empty if there are none.
    pub(crate) fn copy_from(
        &mut self,
        (insert, domains): (&Insert, &[Option<Arc<BoundDomain>>]),
        options: &CopyOptions,
        waits: bool,
        client: &mut dyn Client,
    ) -> Result<u64, Fail> {
        let columns = &insert.table.schema.columns;
        let names = insert.targets.iter().map(|&target| columns[target].name.clone()).collect();
        let mut reader = CopyReader::new(options.clone(), insert.table.name(), names);
        client.copy_in(options.encoding(), insert.targets.len())?;
        let mut writer = Inserter::new(insert, self.env);
        writer.begin(self)?;
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
                writer.start(self)?;
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
                    if let Some(Some(domain)) = domains.get(at) {
                        domain.check(&value, &self.env).map_err(explain)?;
                    }
                    writer.row.change(|row| row.set(target, &value));
                }
                let written = self.in_time(waits, |exec| writer.write(exec, &mut |_| Ok(ControlFlow::Continue(()))));
                match written {
                    Ok(written) => rows += u64::from(written),
                    Err(Fail::Sql(error)) => return Err(row.explain_row(error).into()),
                    Err(abort) => return Err(abort),
                }
            }
            if !more {
                self.in_time(waits, |exec| writer.check(exec))?;
                return Ok(rows);
            }
        }
    }

    /// Runs a step that may meet another transaction's change of a row. If that happens and `waits` is set, the step is
    /// undone, and runs again when the other transaction has ended.
    fn in_time<T>(&mut self, waits: bool, mut run: impl FnMut(&mut Self) -> Result<T, Fail>) -> Result<T, Fail> {
        if !waits {
            return run(self);
        }
        let savepoint = self.txn.savepoint();
        let (deferred, notifications) = (self.deferred.len(), self.env.mark_notifications());
        loop {
            let abort = match run(self) {
                Err(Fail::Abort(abort @ (Abort::Conflict | Abort::WriteConflict))) => abort,
                ended => return ended,
            };
            self.deferred.truncate(deferred);
            self.env.undo_notifications(notifications);
            if !self.txn.give_way(Some(savepoint))? {
                return Err(abort.into());
            }
        }
    }

    /// Runs the statement of a COPY TO STDOUT that changes or locks rows, before the first row is sent. Returns the
    /// rows of its result. `waits` says whether the statement waits for other transactions' changes of rows.
    pub(crate) fn changed(&mut self, plan: &Plan, waits: bool) -> Result<Kept, Fail> {
        let memory = self.env.memory;
        self.in_time(waits, |exec| {
            let mut rows = Kept::default();
            exec.rows(plan, false, &mut |row| {
                memory.check_push(&rows)?;
                rows.push_all(row, width(row));
                Ok(ControlFlow::Continue(()))
            })?;
            Ok(rows)
        })
    }

    /// Runs the second part of a COPY TO STDOUT whose statement has run: sends its rows to the client, and returns
    /// their number.
    pub(crate) fn copy_kept(
        &mut self,
        rows: &Kept,
        columns: &[OutputColumn],
        options: &CopyOptions,
        client: &mut dyn Client,
    ) -> Result<u64, Fail> {
        let frame = Frame { id: NOBODY, content: Content::Rows(rows), next: self.env.frames };
        self.inside(&frame).copy_to(&Node::Reference(NOBODY), columns, options, client)
    }

    /// Runs COPY TO STDOUT: sends the rows of a query to the client, and returns their number.
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
        let context = self.env.context.filter(|_| system::has_objects(columns));
        self.run(node, &mut |row| {
            debug_assert_eq!(width(row), columns.len());
            if let Input::Values(values) = row {
                let named = context.map(|context| system::named_values(context, columns, values));
                client.copy_piece(writer.row(named.as_deref().unwrap_or(values)))?;
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
