//! Searches the log for frames at places at which it is not known whether one begins.

use super::{CHUNK, Pieces, Stretch};
use crate::failure::Failure;
use crate::frame::{HEAD_BYTES, Head, may_begin};

/// The bytes that are looked at of each [`CHUNK`] to estimate where the log ends.
const SAMPLE: usize = 64 << 10;

impl Pieces {
    /// Returns the heads of the frames that pass and begin in a part of a stretch.
    fn scan(&self, stretch: &Stretch, from: u64, until: u64) -> Result<Vec<Head>, Failure> {
        let (mut bytes, mut frame, mut found) = (Vec::new(), Vec::new(), Vec::new());
        self.read(stretch, from, (until - from) as usize + HEAD_BYTES - 1, &mut bytes)?;
        for at in 0..bytes.len().saturating_sub(HEAD_BYTES - 1) {
            let position = from + at as u64;
            // Most of what is looked at was never written.
            if bytes[at + 15] == 0 || !may_begin(&bytes[at..], position) {
                continue;
            }
            let Some(head) = Head::read(&bytes[at..], position) else { continue };
            let Some(end) = head.end().filter(|end| *end <= stretch.end) else { continue };
            frame.clear();
            self.read(stretch, position, (end - position) as usize, &mut frame)?;
            if head.passes(&frame, stretch.salt) {
                found.push(head);
            }
        }
        Ok(found)
    }

    /// Returns the position of a frame after `at` that passes and was made when bytes after `at` were durable, or
    /// `None` if there is no such frame.
    pub(super) fn witness(&self, stretch: &Stretch, at: u64) -> Result<Option<u64>, Failure> {
        let mut from = at;
        while from < stretch.end {
            let until = stretch.end.min(from + CHUNK as u64);
            let witness = self.scan(stretch, from, until)?.into_iter().find(|head| head.durable > at);
            if let Some(head) = witness {
                return Ok(Some(head.position));
            }
            from = until;
        }
        Ok(None)
    }

    /// Returns a position up to which the run of a piece was known to be durable when one of its last frames before
    /// `end` was made.
    pub(super) fn known_durable(&self, first: usize, end: u64) -> Result<u64, Failure> {
        let whole = self.stretch(first);
        let stretch = Stretch { end: end.min(whole.end), ..whole };
        let start = self.list[first].segment.header.start;
        let mut until = stretch.end;
        while until > start {
            let from = until.saturating_sub(CHUNK as u64).max(start);
            let durable = self.scan(&stretch, from, until)?.into_iter().map(|head| head.durable).max();
            if let Some(durable) = durable {
                return Ok(durable.min(end));
            }
            until = from;
        }
        Ok(start)
    }

    /// Returns about where the log ends. Only the first call reads, and only samples of the log.
    pub(super) fn estimated_end(&self) -> u64 {
        *self.estimate.get_or_init(|| {
            let Some(last) = self.list.last() else { return 0 };
            let salt = last.segment.header.salt;
            let first = self.list.iter().position(|piece| piece.segment.header.salt == salt).unwrap_or_default();
            let (mut at, mut stretch) = (first, self.stretch(first));
            while stretch.behind < self.list.len() {
                at = stretch.behind;
                stretch = self.stretch(at);
            }
            let start = self.list[at].segment.header.start;
            let mut until = stretch.end;
            while until > start {
                let from = start + (until - 1 - start) / CHUNK as u64 * CHUNK as u64;
                let sample = until.min(from + SAMPLE as u64);
                // A file that cannot be read is the reader's to report.
                let found = self.scan(&stretch, from, sample).unwrap_or_default();
                if let Some(end) = found.last().and_then(Head::end) {
                    return if end < sample { end } else { until };
                }
                until = from;
            }
            start
        })
    }
}
