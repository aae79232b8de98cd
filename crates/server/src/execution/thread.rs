//! Transaction-to-thread: each connection has a thread of its own, which blocks while it waits for the client or for a
//! lock.

use super::blocking::BlockingScheduler;
use crate::ServerError;
use crate::clients::{ClientHandle, ClientSlot, IdleWaker};
use crate::conversation::{Conversation, Progress, turn_away};
use crate::shared::Shared;
use crate::socket::SocketWait;
use hotrow_sync::{Arc, Time, thread};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::Socket;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

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
    let client = slot.client().clone();
    let scheduler = Arc::new(BlockingScheduler::new(&shared.config, &client));
    let Ok(mut conversation) = Conversation::new(shared, slot, SocketWait::Block, scheduler) else { return };
    let mut bell = None;
    while conversation.proceed() == Progress::Answered {
        if conversation.is_listening() {
            let bell = bell.get_or_insert_with(|| Bell::install(&client));
            // Notifications that came before the bell was installed did not ring it.
            if conversation.has_work() || !bell.wait(&mut conversation, &client.socket) {
                continue;
            }
        }
        conversation.receive();
    }
}

/// The interval at which a session that listens and has no bell checks for notifications.
const LOOK: Duration = Duration::from_millis(100);

/// The bell of a session that listens: one end of a pair of sockets. The session's thread waits for the client and for
/// the bell at the same time.
struct Bell {
    /// The end at which the thread waits, or `None` if the system has refused the pair of sockets.
    heard: Option<UnixStream>,
}

/// The end of a bell through which other threads ring it.
struct Button(UnixStream);

impl IdleWaker for Button {
    fn wake_idle(&self) {
        // If there is no room for another byte, the bell has been rung.
        let _ = (&self.0).write(&[1]);
    }
}

impl Bell {
    /// Makes the bell through which other threads wake the thread of `client`. If the system refuses the pair of
    /// sockets, the bell never rings.
    fn install(client: &ClientHandle) -> Self {
        let pair = UnixStream::pair().and_then(|(button, heard)| {
            button.set_nonblocking(true)?;
            heard.set_nonblocking(true)?;
            Ok((button, heard))
        });
        let Ok((button, heard)) = pair else { return Self { heard: None } };
        client.set_idle_waker(Arc::new(Button(button)));
        Self { heard: Some(heard) }
    }

    /// Waits until there is something to read from the client, the bell rings, or an idle time-out may have passed.
    /// Returns whether there may be something to read.
    fn wait(&self, conversation: &mut Conversation, socket: &Socket) -> bool {
        if conversation.has_read_ahead() {
            return true;
        }
        let look = self.heard.is_none().then(|| Time::now().after(LOOK));
        let until = conversation.idle_until().into_iter().chain(look).min();
        // A limit beyond the system's range counts as none.
        let limit = until.and_then(|until| Timespec::try_from(until.since(Time::now())).ok());
        let mut sources = vec![PollFd::new(socket, PollFlags::IN)];
        sources.extend(self.heard.iter().map(|heard| PollFd::new(heard, PollFlags::IN)));
        if poll(&mut sources, limit.as_ref()).is_err() {
            return false;
        }
        let is_readable = !sources[0].revents().is_empty();
        if let Some(mut heard) = self.heard.as_ref().filter(|_| !sources[1].revents().is_empty()) {
            let mut rings = [0; 64];
            while heard.read(&mut rings).is_ok_and(|count| count > 0) {}
        }
        is_readable
    }
}
