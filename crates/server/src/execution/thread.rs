//! Transaction-to-thread: each connection has a thread of its own.

use super::turn_away;
use crate::ServerError;
use crate::conversation::{Conversation, Progress};
use crate::presence::Attentive;
use crate::server::Shared;
use crate::sessions::Guest;
use crate::stream::Patience;
use hotrow_sync::{Arc, thread};

/// Stack of a session's thread; only what is used takes memory.
const STACK_BYTES: usize = 8 << 20;

/// Gives a client a thread.
pub fn serve(shared: &Arc<Shared>, guest: Guest) -> Result<(), ServerError> {
    let (shared, socket) = (shared.clone(), guest.peer().socket.clone());
    let name = format!("session {}", guest.peer().pid);
    let thread = thread::Builder::new().name(name).stack_size(STACK_BYTES).spawn(move || run(shared, guest));
    thread.map(drop).map_err(|error| {
        turn_away(&socket);
        ServerError::System(error)
    })
}

/// A connection, from its first byte to its last.
fn run(shared: Arc<Shared>, guest: Guest) {
    let scheduler = Arc::new(Attentive::new(&shared.config, guest.peer()));
    let Ok(mut conversation) = Conversation::new(shared, guest, Patience::Block, scheduler) else { return };
    while conversation.proceed() == Progress::Answered {
        conversation.receive();
    }
}
