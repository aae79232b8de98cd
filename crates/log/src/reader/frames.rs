//! The frames of a log, one after the other.

use super::{CHUNK, Pieces, Stretch, to_damage};
use crate::failure::Failure;
use crate::frame::{HEAD_BYTES, Head};
use crate::source::{Damage, Frame, Frames};
use hotrow_sync::Arc;

/// The frames of a log from a position on.
#[derive(Debug)]
pub(crate) struct LogFrames {
    pieces: Arc<Pieces>,
    /// The position up to which everything is known to be durable, and after which nothing is read. `None` for a log
    /// that no process writes, which is read to its end.
    limit: Option<u64>,
    /// The position of the next frame.
    at: u64,
    /// The stretch with this position; `None` if the log is empty.
    stretch: Option<Stretch>,
    /// Bytes of the stretch from `buffered` on.
    buffer: Vec<u8>,
    buffered: u64,
    is_over: bool,
}

/// The result of looking for a frame at a position.
enum Found {
    Frame(u64),
    /// The frame ends after the limit.
    Beyond,
    Nothing,
}

impl LogFrames {
    pub(crate) fn new(pieces: Arc<Pieces>, from: u64, limit: Option<u64>) -> Result<Self, Damage> {
        let stretch = pieces.find(from)?.map(|at| {
            // A frame before this piece may go on in it, so the stretch begins here.
            pieces.stretch(at)
        });
        Ok(Self { pieces, limit, at: from, stretch, buffer: Vec::new(), buffered: from, is_over: false })
    }

    /// Makes the buffer hold `length` bytes from the position on, or fewer if the stretch has fewer.
    fn load(&mut self, stretch: &Stretch, length: usize) -> Result<(), Failure> {
        let skipped = (self.at - self.buffered) as usize;
        if self.buffer.len() < skipped + length {
            self.buffer.drain(..skipped.min(self.buffer.len()));
            self.buffered = self.at;
            let missing = length.max(CHUNK) - self.buffer.len();
            let from = self.at + self.buffer.len() as u64;
            self.pieces.read(stretch, from, missing, &mut self.buffer)?;
        }
        Ok(())
    }

    /// Looks for the frame at the position.
    fn find(&mut self, stretch: &Stretch) -> Result<Found, Failure> {
        self.load(stretch, HEAD_BYTES)?;
        let bytes = |this: &Self| (this.at - this.buffered) as usize;
        let Some(head) = Head::read(&self.buffer[bytes(self)..], self.at) else { return Ok(Found::Nothing) };
        let Some(end) = head.end().filter(|end| *end <= stretch.end) else { return Ok(Found::Nothing) };
        if self.limit.is_some_and(|limit| end > limit) {
            return Ok(Found::Beyond);
        }
        let length = (end - self.at) as usize;
        self.load(stretch, length)?;
        let start = bytes(self);
        let passes = head.passes(&self.buffer[start..start + length], stretch.salt);
        Ok(if passes { Found::Frame(end) } else { Found::Nothing })
    }

    /// Returns the stretch with the position, or `None` at the end of the log.
    fn stretch(&mut self) -> Result<Option<Stretch>, Damage> {
        let Some(stretch) = self.stretch else { return Ok(None) };
        if self.at < stretch.end {
            return Ok(Some(stretch));
        }
        match self.pieces.list.get(stretch.behind) {
            None => Ok(None),
            Some(next) if next.segment.header.start == self.at => {
                let next = self.pieces.stretch(stretch.behind);
                self.stretch = Some(next);
                self.buffer.clear();
                self.buffered = self.at;
                Ok(Some(next))
            }
            Some(_) => Err(self.pieces.missing(stretch.behind - 1, self.at)),
        }
    }

    /// Decides whether a place at which no frame passes is the end of the log. If it is not, the place is damaged.
    fn judge(&self, stretch: &Stretch) -> Result<(), Damage> {
        let at = stretch.first
            + self.pieces.list[stretch.first..stretch.behind].partition_point(|piece| piece.until <= self.at);
        let is_last = stretch.behind == self.pieces.list.len();
        let what = "the bytes here are no frame, and the log goes on behind them";
        let next = self.pieces.list.get(stretch.behind);
        if next.is_some_and(|next| next.segment.header.start != stretch.end) {
            return Err(self.pieces.missing(stretch.behind - 1, stretch.end));
        }
        if self.limit.is_some() || !is_last {
            return Err(self.pieces.damage(at, self.at, what));
        }
        if self.pieces.end.get() == Some(&self.at) {
            return Ok(());
        }
        match self.pieces.witness(stretch, self.at).map_err(to_damage)? {
            Some(witness) => {
                let what = format!("{what}: the frame at position {witness} was written when they were durable");
                Err(self.pieces.damage(at, self.at, &what))
            }
            None => {
                // If another reader has set the end, it is the same.
                let _ = self.pieces.end.set(self.at);
                Ok(())
            }
        }
    }
}

impl Frames for LogFrames {
    fn next(&mut self) -> Result<Option<Frame<'_>>, Damage> {
        if self.is_over || self.limit.is_some_and(|limit| self.at >= limit) {
            return Ok(None);
        }
        let Some(stretch) = self.stretch()? else { return Ok(None) };
        match self.find(&stretch).map_err(to_damage)? {
            Found::Frame(end) => {
                let position = std::mem::replace(&mut self.at, end);
                let start = (position - self.buffered) as usize;
                let record = &self.buffer[start + HEAD_BYTES..start + (end - position) as usize];
                Ok(Some(Frame { position, end, record }))
            }
            Found::Beyond => Ok(None),
            Found::Nothing => {
                self.judge(&stretch)?;
                self.is_over = true;
                Ok(None)
            }
        }
    }
}
