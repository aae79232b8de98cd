//! Reads the log on one thread, and works on its changes on others.

use super::Recovery;
use crate::failure::Failure;
use crate::record::{Record, StoredChange, StoredRow};
use crate::source::{Frame, Source};
use hotrow_storage::{Key, TableId};
use hotrow_sync::{Mutex, mpsc, thread};

/// The name of the log in descriptions of failures.
pub(super) const LOG: &str = "log";

/// The bytes of records that a thread gets at once.
const BATCH_BYTES: usize = 1 << 20;

/// Consecutive records of the log that have changes of rows.
#[derive(Debug, Default)]
pub(super) struct Batch {
    bytes: Vec<u8>,
    /// The ends of the records in `bytes`, with their positions in the log.
    ends: Vec<(usize, u64)>,
    /// The number of changes in the log before the first one of the batch.
    before: u64,
}

impl Batch {
    /// Returns the bytes of the records.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Calls `look` for each change, with the position of its record and the number of changes in the log before it.
    pub(super) fn for_each<'b>(
        &'b self,
        look: &mut dyn FnMut(u64, u64, Change<'b>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let (mut start, mut ordinal) = (0, self.before);
        for &(end, position) in &self.ends {
            let damage = |what: String| Failure::damage(LOG, position, what);
            match Record::read(&self.bytes[start..end]).map_err(damage)? {
                Record::Loaded { table, row } => {
                    look(position, ordinal, Change::Put(table, row))?;
                    ordinal += 1;
                }
                Record::Transaction(changes) => {
                    for change in changes {
                        look(position, ordinal, change.map(Change::from).map_err(damage)?)?;
                        ordinal += 1;
                    }
                }
                Record::Created { .. } | Record::Dropped { .. } | Record::Clock(_) => {}
            }
            start = end;
        }
        Ok(())
    }
}

/// The change of one row.
#[derive(Debug)]
pub(super) enum Change<'a> {
    Put(TableId, StoredRow<'a>),
    Delete(TableId, Key),
}

impl<'a> From<StoredChange<'a>> for Change<'a> {
    fn from(change: StoredChange<'a>) -> Self {
        match change {
            StoredChange::Put { table, row } => Change::Put(table, row),
            StoredChange::Delete { table, key } => Change::Delete(table, key),
        }
    }
}

/// Reads the log from a position on. Calls `note` on this thread for each record, in order, before any thread works on
/// that record or a later one. Calls `work` for all batches of changes, on all threads of the recovery. Returns the
/// number of changes.
pub(super) fn read_batches(
    recovery: &Recovery<'_>,
    log: &dyn Source,
    from: u64,
    note: &mut dyn FnMut(&Frame<'_>, &Record<'_>) -> Result<(), Failure>,
    work: &(dyn Fn(&Batch) -> Result<(), Failure> + Sync),
) -> Result<u64, Failure> {
    let (send, receive) = mpsc::sync_channel::<Batch>(2 * recovery.threads);
    let receive = Mutex::new(receive);
    let changes = thread::scope(|scope| {
        for _ in 0..recovery.threads {
            scope.spawn(|| {
                loop {
                    let next = receive.lock().unwrap_or_else(|poison| poison.into_inner()).recv();
                    let Ok(batch) = next else { return };
                    // After a failure batches are taken and dropped, so that the sender ends.
                    if !recovery.has_failed() {
                        recovery.note(work(&batch));
                    }
                }
            });
        }
        let sent = send_batches(recovery, log, from, note, &send);
        drop(send);
        sent.unwrap_or_else(|failure| {
            recovery.note(Err(failure));
            0
        })
    });
    recovery.outcome().map(|()| changes)
}

fn send_batches(
    recovery: &Recovery<'_>,
    log: &dyn Source,
    from: u64,
    note: &mut dyn FnMut(&Frame<'_>, &Record<'_>) -> Result<(), Failure>,
    send: &mpsc::SyncSender<Batch>,
) -> Result<u64, Failure> {
    let mut frames = log.frames(from)?;
    let (mut batch, mut changes) = (Batch::default(), 0);
    while let Some(frame) = frames.next()? {
        let damage = |what: String| Failure::damage(LOG, frame.position, what);
        let record = Record::read(frame.record).map_err(damage)?;
        note(&frame, &record)?;
        let count = match record {
            Record::Loaded { .. } => 1,
            Record::Transaction(changes) => changes.count() as u64,
            Record::Created { .. } | Record::Dropped { .. } | Record::Clock(_) => 0,
        };
        if count > 0 {
            changes += count;
            batch.bytes.extend_from_slice(frame.record);
            batch.ends.push((batch.bytes.len(), frame.position));
        }
        if batch.bytes.len() >= BATCH_BYTES {
            let next = Batch { before: changes, bytes: Vec::with_capacity(BATCH_BYTES * 5 / 4), ends: Vec::new() };
            // The receiver lives as long as this thread sends.
            let _ = send.send(std::mem::replace(&mut batch, next));
            if recovery.has_failed() {
                return Ok(changes);
            }
        }
    }
    let _ = send.send(batch);
    Ok(changes)
}
