//! A log in memory, all of whose records are durable at once.

use hotrow_log::source::{Damage, Frame, Frames, LiveSource, Source};
use hotrow_sync::{Arc, Mutex, MutexGuard};

/// The bytes of a frame beside the record.
const HEAD: u64 = 20;

/// A log; a clone is the same log.
#[derive(Clone, Debug, Default)]
pub struct MemoryLog {
    state: Arc<Mutex<State>>,
}

#[derive(Clone, Debug, Default)]
struct State {
    frames: Vec<(u64, Arc<[u8]>)>,
    end: u64,
    discarded: u64,
}

impl MemoryLog {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic under the latch")
    }

    /// Appends the record that `encode` makes. Returns its end.
    pub fn append(&self, encode: impl FnOnce(&mut Vec<u8>)) -> u64 {
        let mut record = Vec::new();
        encode(&mut record);
        let mut state = self.state();
        let position = state.end;
        state.end += HEAD + record.len() as u64;
        state.frames.push((position, record.into()));
        state.end
    }

    /// Forgets the frames before a position, which is not before what the checkpoints have discarded.
    pub fn keep_from(&self, position: u64) {
        let mut state = self.state();
        assert!(state.discarded <= position, "{} was discarded, and {position} is needed", state.discarded);
        state.frames.retain(|(at, _)| *at >= position);
    }
}

impl Source for MemoryLog {
    fn frames(&self, from: u64) -> Result<Box<dyn Frames + '_>, Damage> {
        let state = self.state();
        if from < state.discarded {
            return Err(Damage::new("log", from, format!("the log begins at {}", state.discarded)));
        }
        let first = state.frames.partition_point(|(position, _)| *position < from);
        Ok(Box::new(MemoryFrames(state.frames[first..].to_vec(), 0)))
    }

    fn bytes_behind(&self, from: u64) -> u64 {
        self.state().end - from
    }
}

impl LiveSource for MemoryLog {
    fn durable(&self) -> u64 {
        self.state().end
    }

    fn discard_before(&self, position: u64) {
        let mut state = self.state();
        assert!(position <= state.end);
        state.discarded = state.discarded.max(position);
    }
}

struct MemoryFrames(Vec<(u64, Arc<[u8]>)>, usize);

impl Frames for MemoryFrames {
    fn next(&mut self) -> Result<Option<Frame<'_>>, Damage> {
        let frame = self.0.get(self.1);
        self.1 += 1;
        Ok(frame.map(|(position, record)| {
            let end = position + HEAD + record.len() as u64;
            Frame { position: *position, end, record }
        }))
    }
}

/// A log without frames.
pub struct EmptyLog;

impl Source for EmptyLog {
    fn frames(&self, _: u64) -> Result<Box<dyn Frames + '_>, Damage> {
        Ok(Box::new(MemoryFrames(Vec::new(), 0)))
    }

    fn bytes_behind(&self, _: u64) -> u64 {
        0
    }
}
