//! Whether a client is still there: a session that waits for a lock reads nothing, and would not notice.

use crate::ServerConfig;
use crate::sessions::Peer;
use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_sync::wait::ThreadScheduler;
use hotrow_sync::{Arc, Scheduler, Time};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::Socket;
use std::sync::Weak;
use std::time::Duration;

/// What the system says of a connection whose other end is closed. An error or a closed connection is told unasked.
#[cfg(target_os = "linux")]
const CLOSED: PollFlags = PollFlags::RDHUP;
#[cfg(not(target_os = "linux"))]
const CLOSED: PollFlags = PollFlags::HUP;

/// Blocks a session's thread while it waits, and looks from time to time whether its client has left.
pub struct Attentive {
    blocking: ThreadScheduler,
    peer: Weak<Peer>,
    interval: Duration,
    /// When to look next, as [`Time`]. Only the session's thread, which suspends, uses it.
    next_look: AtomicU64,
}

impl Attentive {
    /// For this client's session.
    pub fn new(config: &ServerConfig, peer: &Arc<Peer>) -> Self {
        Self {
            blocking: ThreadScheduler::new(config.wait_spin),
            peer: Arc::downgrade(peer),
            interval: config.presence_interval,
            next_look: AtomicU64::new(0),
        }
    }
}

impl Scheduler for Attentive {
    fn now(&self) -> Time {
        self.blocking.now()
    }

    fn suspend(&self, deadline: Option<Time>) {
        let look = Time(self.next_look.load(Ordering::Acquire));
        self.blocking.suspend(Some(deadline.map_or(look, |deadline| deadline.min(look))));
        let now = self.now();
        if now >= look {
            self.next_look.store(now.after(self.interval).0, Ordering::Release);
            if let Some(peer) = self.peer.upgrade() {
                peer.look();
            }
        }
    }

    fn resume(&self) {
        self.blocking.resume();
    }

    fn spin(&self, deadline: Option<Time>, condition: &mut dyn FnMut() -> bool) -> bool {
        self.blocking.spin(deadline, condition)
    }
}

/// Whether the other end of a connection is closed. What it sent before may still be unread.
pub fn has_left(socket: &Socket) -> bool {
    let mut sockets = [PollFd::new(socket, CLOSED)];
    // If the system cannot say, the client counts as there.
    poll(&mut sockets, Some(&Timespec::default())).is_ok() && !sockets[0].revents().is_empty()
}

/// Whether there is something to read from a client, be it the end.
pub fn has_input(socket: &Socket) -> bool {
    let mut sockets = [PollFd::new(socket, PollFlags::IN)];
    // If the system cannot say, there may be something.
    poll(&mut sockets, Some(&Timespec::default())).is_err() || !sockets[0].revents().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{Shutdown, TcpListener, TcpStream};

    #[test]
    fn a_client_has_left_when_its_end_is_closed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endings: [fn(TcpStream); 2] = [drop, |client| client.shutdown(Shutdown::Write).unwrap()];
        for ending in endings {
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let server = listener.accept().unwrap().0.into();
            assert!(!has_input(&server));
            client.write_all(b"unread").unwrap();
            while !has_input(&server) {}
            assert!(!has_left(&server));
            ending(client);
            // It is told across the loopback before or after this line; never would be a test that does not end.
            while !has_left(&server) {}
        }
    }
}
