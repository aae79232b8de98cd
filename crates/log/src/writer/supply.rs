//! The segments of a log that is being written: those that hold it, the next one, and spare files.
//!
//! There is always one segment ahead of the one that is written, as long as the disk has room. It has its full length
//! and is filled with zeros, or with what an earlier use left, so writing to it needs no room. When the log goes on in
//! it and no other can be made, the disk counts as full: transactions that have changed something go on, and have a
//! whole segment for their records.
//!
//! **Order of a file's life.** A crash may undo every change of a name since the last sync of the folder.
//!
//! 1. *Filling*: the file is made, filled and synced under a name that readers ignore, and is then renamed to that of a
//!    spare file.
//! 2. *Segment*: the header is written and synced under the spare name. Then the file is renamed to the segment's name
//!    and the folder is synced, and only then frames are written. So a file with the name of a segment always has its
//!    header, and a segment with frames always has its name.
//! 3. *Discarded*: a checkpoint holds everything before the segment's end. The file is renamed to that of a spare one,
//!    and the folder is synced before the file is used again. Until then a crash may bring the segment back, with all
//!    that it had.

use super::options::Options;
use crate::disk::Disk;
use crate::failure::Failure;
use crate::format::remove_if_there;
use crate::reader::{CHUNK, LogFiles, Piece};
use crate::segment::{FILLING, FOLDER, Header, Segment, name, spare_name};
use hotrow_sync::{Arc, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::io::{self, ErrorKind};

/// The bytes that are left free when a file is made.
const LEFT_FREE: u64 = 1 << 20;

/// The number of chunks of zeros between two syncs, so that no write of the log waits long behind them.
const CHUNKS_EACH_SYNC: u64 = 4;

/// The segments of the log and its spare files.
#[derive(Debug)]
pub(super) struct Supply {
    disk: Arc<dyn Disk>,
    segment_bytes: u64,
    most_spares: usize,
    salt: u64,
    /// Held while a segment is made, or segments are discarded.
    making: Mutex<()>,
    pool: Mutex<Pool>,
}

#[derive(Debug)]
struct Pool {
    /// The segments that hold the log, in its order. The last of them is the one that is written.
    live: VecDeque<Piece>,
    /// The next segment, if it was made.
    ready: Option<Segment>,
    /// The numbers of the spare files.
    spares: VecDeque<u64>,
    next_number: u64,
    next_spare: u64,
}

/// Whether an error says that there is no room.
fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

/// The ways in which a segment cannot be made.
#[derive(Debug)]
pub(super) enum Unmade {
    /// There is no room.
    Full,
    /// The disk refuses an operation, or it is not known whether the operation was done.
    Failed(Failure),
}

/// Returns a function that makes an `Unmade` of an error about a file that holds nothing of the log yet.
fn unmade(name: &str) -> impl FnOnce(io::Error) -> Unmade + '_ {
    move |error| if is_full(&error) { Unmade::Full } else { Unmade::Failed(Failure::on(name)(error)) }
}

impl Supply {
    /// Prepares the folder of a log that ends at `end` to be written from there on, and makes its first segment.
    ///
    /// # Errors
    /// If the disk refuses an operation or has no room.
    pub(super) fn open(disk: Arc<dyn Disk>, options: &Options, salt: u64, end: u64) -> Result<Self, Failure> {
        disk.create_folder(FOLDER).map_err(Failure::on(FOLDER))?;
        disk.sync_folder("").map_err(Failure::on(""))?;
        let files = LogFiles::open_for(&*disk, true)?;
        files.pieces.secure(end)?;
        if files.has_filling {
            remove_if_there(&*disk, FILLING)?;
        }
        let greatest = |numbers: &mut dyn Iterator<Item = u64>| numbers.max().map_or(1, |number| number + 1);
        let numbers = files.pieces.list.iter().map(|piece| piece.segment.header.number);
        let mut pool = Pool {
            next_number: greatest(&mut numbers.chain(files.dead.iter().copied())),
            next_spare: greatest(&mut files.spares.iter().copied()),
            live: VecDeque::new(),
            ready: None,
            spares: VecDeque::new(),
        };
        let mut unfit = Vec::new();
        for piece in &files.pieces.list {
            match piece.segment.header.start < end {
                true => pool.live.push_back(Piece { until: piece.until.min(end), ..piece.clone() }),
                false => unfit.push(piece.segment.header.number),
            }
        }
        let supply = Self {
            disk,
            segment_bytes: options.segment_bytes,
            most_spares: options.spares,
            salt,
            making: Mutex::default(),
            pool: Mutex::new(pool),
        };
        supply.adopt(&files.spares)?;
        files.dead.iter().try_for_each(|number| supply.retire(*number))?;
        // The newest goes first: a crash must not leave the later segments of a run without its first one, which would
        // look as if a part of the log were missing.
        unfit.iter().rev().try_for_each(|number| supply.retire(*number))?;
        match supply.make_at(end) {
            Ok(()) => {}
            Err(Unmade::Full) => {
                let error = io::Error::new(ErrorKind::StorageFull, "no space is left for a segment of the log");
                return Err(Failure::on(FOLDER)(error));
            }
            Err(Unmade::Failed(failure)) => return Err(failure),
        }
        supply.take();
        Ok(supply)
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    /// Takes over the spare files that have the right length, and removes the others.
    fn adopt(&self, spares: &[u64]) -> Result<(), Failure> {
        for &number in spares {
            let name = spare_name(number);
            let length = self.disk.open(&name, false).and_then(|file| file.len()).map_err(Failure::on(&name))?;
            if length == self.segment_bytes {
                self.pool().spares.push_back(number);
            } else {
                remove_if_there(&*self.disk, &name)?;
            }
        }
        Ok(())
    }

    /// Makes a spare file of a segment that the log does not need. The segment is removed instead if it has another
    /// length or there are enough spare files. The change is durable when the call returns. So of several segments that
    /// are retired one after the other, a crash brings back the last ones only: a log from whose middle a segment is
    /// missing would look damaged.
    fn retire(&self, number: u64) -> Result<(), Failure> {
        let name = name(number);
        let length = self.disk.open(&name, false).and_then(|file| file.len()).map_err(Failure::on(&name))?;
        let has_room = self.pool().spares.len() < self.most_spares;
        let spare = (length == self.segment_bytes && has_room).then(|| self.next_spare());
        let gone = match spare {
            Some(spare) => self.disk.rename(&name, &spare_name(spare)),
            None => self.disk.remove(&name),
        };
        gone.map_err(Failure::on(&name))?;
        self.disk.sync_folder(FOLDER).map_err(Failure::on(FOLDER))?;
        self.pool().spares.extend(spare);
        Ok(())
    }

    fn next_spare(&self) -> u64 {
        let mut pool = self.pool();
        pool.next_spare += 1;
        pool.next_spare - 1
    }

    /// Makes the next segment, unless there is one.
    pub(super) fn make(&self) -> Result<(), Unmade> {
        let _alone = self.making.lock().unwrap_or_else(|poison| poison.into_inner());
        let start = {
            let pool = self.pool();
            if pool.ready.is_some() {
                return Ok(());
            }
            pool.live.back().map_or(0, |piece| piece.until)
        };
        self.make_at(start)
    }

    fn make_at(&self, start: u64) -> Result<(), Unmade> {
        // The latch is given up before a file is filled.
        let spare = self.pool().spares.pop_front();
        let spare = match spare {
            Some(spare) => spare,
            None => self.fill()?,
        };
        let number = self.pool().next_number;
        let made = self.give_name(spare, Header { number, salt: self.salt, start, bytes: self.segment_bytes });
        let mut pool = self.pool();
        match made {
            Ok(segment) => {
                pool.ready = Some(segment);
                pool.next_number += 1;
                Ok(())
            }
            Err(unmade) => {
                pool.spares.push_front(spare);
                Err(unmade)
            }
        }
    }

    /// Makes a spare file a segment. The spare file is as good as before if the call fails with [`Unmade::Full`]. After
    /// another error, the state of the file is not known.
    fn give_name(&self, spare: u64, header: Header) -> Result<Segment, Unmade> {
        let (from, to) = (spare_name(spare), name(header.number));
        let file = self.disk.open(&from, true).map_err(|error| Unmade::Failed(Failure::on(&from)(error)))?;
        file.write_at(&header.encode(), 0).map_err(unmade(&from))?;
        file.sync().map_err(|error| Unmade::Failed(Failure::on(&from)(error)))?;
        self.disk.rename(&from, &to).map_err(unmade(&from))?;
        self.disk.sync_folder(FOLDER).map_err(|error| Unmade::Failed(Failure::on(FOLDER)(error)))?;
        Ok(Segment { header, file })
    }

    /// Makes a spare file, filled with zeros. Returns its number.
    fn fill(&self) -> Result<u64, Unmade> {
        let failed = |error| Unmade::Failed(Failure::on(FILLING)(error));
        let free = self.disk.free_bytes().map_err(failed)?;
        if free < self.segment_bytes.saturating_add(LEFT_FREE.min(self.segment_bytes)) {
            return Err(Unmade::Full);
        }
        let filled = self.fill_with_zeros().map_err(|error| match is_full(&error) {
            true => Unmade::Full,
            false => failed(error),
        });
        if let Err(unmade) = filled {
            // The room is given back, so that other files can have it.
            return Err(remove_if_there(&*self.disk, FILLING).map_or_else(Unmade::Failed, |()| unmade));
        }
        let spare = self.next_spare();
        self.disk.rename(FILLING, &spare_name(spare)).map_err(unmade(FILLING))?;
        Ok(spare)
    }

    fn fill_with_zeros(&self) -> io::Result<()> {
        match self.disk.remove(FILLING) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = self.disk.create(FILLING)?;
        let zeros = vec![0; CHUNK.min(self.segment_bytes as usize)];
        let (mut at, mut chunks) = (0, 0);
        while at < self.segment_bytes {
            let length = (self.segment_bytes - at).min(zeros.len() as u64);
            file.write_at(&zeros[..length as usize], at)?;
            at += length;
            chunks += 1;
            if chunks % CHUNKS_EACH_SYNC == 0 {
                file.sync()?;
            }
        }
        file.sync()
    }

    /// Returns the segment that is being written, or `None` if the log has no segment.
    pub(super) fn current(&self) -> Option<Segment> {
        self.pool().live.back().map(|piece| piece.segment.clone())
    }

    /// Returns the next segment, if it is there. From now on it is the one that is written.
    pub(super) fn take(&self) -> Option<Segment> {
        let mut pool = self.pool();
        let segment = pool.ready.take()?;
        pool.live.push_back(Piece { until: segment.header.end(), segment: segment.clone() });
        Some(segment)
    }

    /// Retires the segments that end at a position or before, the oldest first. The segment that is being written
    /// stays.
    pub(super) fn discard_before(&self, position: u64) -> Result<(), Failure> {
        let _alone = self.making.lock().unwrap_or_else(|poison| poison.into_inner());
        let mut numbers = Vec::new();
        {
            let mut pool = self.pool();
            while pool.live.len() > 1 && pool.live.front().is_some_and(|piece| piece.until <= position) {
                numbers.extend(pool.live.pop_front().map(|piece| piece.segment.header.number));
            }
        }
        numbers.into_iter().try_for_each(|number| self.retire(number))
    }

    /// Returns the segments that hold the log.
    pub(super) fn live(&self) -> Vec<Piece> {
        self.pool().live.iter().cloned().collect()
    }

    /// Returns the position of the first byte of the log that is still there, and the number of files, spare ones
    /// included.
    pub(super) fn extent(&self) -> (u64, u64) {
        let pool = self.pool();
        let oldest = pool.live.front().map_or(0, |piece| piece.segment.header.start);
        (oldest, (pool.live.len() + usize::from(pool.ready.is_some()) + pool.spares.len()) as u64)
    }

    /// Makes everything durable that was written to the segments.
    pub(super) fn sync(&self) -> Result<(), Failure> {
        self.live().iter().try_for_each(|piece| piece.segment.file.sync().map_err(Failure::on(&piece.segment.name())))
    }
}
