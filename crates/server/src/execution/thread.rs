//! Transaction-to-thread: each connection has a thread of its own, which blocks while it waits for the client or for a
//! lock.

use super::blocking::BlockingScheduler;
use crate::ServerError;
use crate::clients::ClientSlot;
use crate::conversation::{Conversation, Progress, turn_away};
use crate::shared::Shared;
use crate::socket::SocketWait;
use hotrow_sync::{Arc, thread};

/// The size of a session's stack, in bytes. Only the used part takes memory.
const STACK_BYTES: usize = 8 << 20;

/// Starts a thread that serves a client until its connection ends. Returns at once.
///
/// # Errors
/// [`ServerError::System`] if the system refuses the thread. The client is then refused with an error.
pub fn serve(shared: &Arc<Shared>, slot: ClientSlot) -> Result<(), ServerError> {
    let (shared, socket) = (shared.clone(), slot.client().socket.clone());
    let name = format!("session {}", slot.client().pid);
    let thread = thread::Builder::new().name(name).stack_size(STACK_BYTES).spawn(move || run(shared, slot));
    thread.map(drop).map_err(|error| {
        turn_away(&socket);
        ServerError::System(error)
    })
}

/// Serves a client from its first byte to its last.
fn run(shared: Arc<Shared>, slot: ClientSlot) {
    let scheduler = Arc::new(BlockingScheduler::new(&shared.config, slot.client()));
    let Ok(mut conversation) = Conversation::new(shared, slot, SocketWait::Block, scheduler) else { return };
    while conversation.proceed() == Progress::Answered {
        conversation.receive();
    }
}
