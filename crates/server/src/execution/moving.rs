//! Connections that go from one worker to another: away from a worker that has a long statement, and back when it has ended.
//!
//! A long statement yields between two rows, so its worker's other connections have their turns. But a thread that computes all the time
//! is one that the system lets wait for others, for milliseconds where cores are scarce, and its connections would wait with it. So a worker
//! whose statement has run for [`LONG_SLICES`] turns is *busy*, and when something comes on one of its connections it gives the connection to
//! a worker that is not. A connection that is elsewhere goes back in the same way when its worker is busy no longer.
//!
//! **Invariants**
//!
//! 1. Only an idle connection moves: it has no coroutine, so a coroutine is resumed by one thread from its first to its last.
//! 2. The wakers of a connection find its worker through its [`Task`], which is told before the new worker looks at the connection. A wake that
//!    is on its way meanwhile finds another connection or none at the old worker, and a wake for no reason does no harm; its note stays with the
//!    task, where the next wait finds it.
//! 3. The system tells a new worker what there is to read when it registers the socket. What the old worker knew goes along.

use super::worker::{Colleague, Hands, Message, Place, State, Worker};
use crate::clients::ClientHandle;
use crate::conversation::{Conversation, turn_away};
use hotrow_sync::atomic::Ordering;
use hotrow_sync::{Arc, Time};
use mio::unix::SourceFd;
use mio::{Interest, Token};
use std::os::fd::AsRawFd;

use super::task::Task;

/// A statement that has yielded so many times without waiting has made its worker busy. It is a hundredth of a second at the least: what
/// moves for that is little beside it.
const LONG_SLICES: u32 = 100;

/// A connection on its way.
pub struct Moved {
    conversation: Box<Conversation>,
    client: Arc<ClientHandle>,
    task: Arc<Task>,
    /// The worker to which it was given when it came.
    native: Colleague,
    left: bool,
    timer: Option<Time>,
}

impl Worker {
    /// Notes that a coroutine has yielded once more, or, if not, that it waits or has ended.
    pub(super) fn note_turn(&mut self, number: usize, yields: bool) {
        let Some(Some(place)) = self.places.get_mut(number) else { return };
        let was_long = place.slices >= LONG_SLICES;
        place.slices = if yields { place.slices.saturating_add(1) } else { 0 };
        match (was_long, place.slices >= LONG_SLICES) {
            (false, true) => self.long += 1,
            (true, false) => self.long -= 1,
            _ => return,
        }
        self.own.busy.store(self.long > 0, Ordering::Release);
    }

    /// The worker that should have an idle connection on which something has come, if that is another one.
    fn better_place(&self, place: &Place) -> Option<Colleague> {
        if place.home.is_some() || place.runner.is_some() || !matches!(self.hands, Hands::Own) {
            return None;
        }
        if self.long > 0 {
            return Colleague::free_of(&self.team).cloned();
        }
        place.native.as_ref().filter(|native| !native.is(&self.own) && !native.is_busy()).cloned()
    }

    /// Gives an idle connection on which something has come to a worker that is better placed. `false` if there is none.
    pub(super) fn give_away(&mut self, number: usize) -> bool {
        let Some(Some(place)) = self.places.get(number) else { return false };
        let Some(other) = self.better_place(place) else { return false };
        let timer = place.timer;
        self.set_timer(number, None);
        let Some(place) = self.places[number].take() else { return false };
        let State::Idle(conversation) = place.state else {
            self.places[number] = Some(place);
            return false;
        };
        // The system forgets a socket that is closed by itself.
        let _ = self.poll.registry().deregister(&mut SourceFd(&place.client.socket.as_raw_fd()));
        self.free.push(number);
        self.own.load.fetch_sub(1, Ordering::AcqRel);
        other.load.fetch_add(1, Ordering::AcqRel);
        let native = place.native.unwrap_or_else(|| self.own.clone());
        let moved = Moved { conversation, client: place.client, task: place.task, native, left: place.left, timer };
        self.shared.count_move();
        other.inbox.send(Message::Adopt(Box::new(moved)));
        true
    }

    /// Takes a connection over.
    pub(super) fn adopt(&mut self, moved: Moved) {
        let Moved { conversation, client, task, native, left, timer } = moved;
        let number = self.free_number();
        task.move_to(number, self.own.inbox.clone());
        let interest = Interest::READABLE | Interest::WRITABLE;
        let registry = self.poll.registry();
        if let Err(error) = registry.register(&mut SourceFd(&client.socket.as_raw_fd()), Token(number), interest) {
            self.shared.log(&format!("cannot serve a connection any more: {error}"));
            turn_away(&client.socket);
            return self.free_place(number);
        }
        let mut place = Place::new(client, task, State::Idle(conversation), None, None);
        (place.readable, place.left, place.native) = (true, left, Some(native));
        self.places[number] = Some(place);
        self.set_timer(number, timer);
        self.enqueue(number);
    }

    /// Has a request that is handed over run by another worker if its runner is busy.
    pub(super) fn change_runner(&mut self, number: usize) {
        let number_there = self.number_elsewhere(number);
        let Hands::Workers(runners) = &self.hands else { return };
        let Some(Some(place)) = self.places.get_mut(number) else { return };
        let Some(runner) = place.runner.as_mut().filter(|runner| runner.is_busy()) else { return };
        if let Some(other) = Colleague::free_of(runners) {
            other.load.fetch_add(1, Ordering::AcqRel);
            runner.load.fetch_sub(1, Ordering::AcqRel);
            *runner = other.clone();
            self.shared.count_move();
            place.task.move_to(number_there, other.inbox.clone());
        }
    }
}
