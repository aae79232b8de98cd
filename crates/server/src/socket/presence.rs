//! Checks of whether a client is still connected. A session that waits for a lock reads nothing, and so would not
//! notice the end of the connection.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::Socket;

/// The events by which the system says that the other end of a connection is closed. It reports an error or a reset
/// connection even if not asked for it.
#[cfg(target_os = "linux")]
const CLOSED: PollFlags = PollFlags::RDHUP;
#[cfg(not(target_os = "linux"))]
const CLOSED: PollFlags = PollFlags::HUP;

/// Whether the client has closed the connection or its sending side. Bytes that it sent before may still be unread.
/// Asks the system, without waiting.
pub fn has_left(socket: &Socket) -> bool {
    let mut sockets = [PollFd::new(socket, CLOSED)];
    // If the system cannot tell, the client counts as connected.
    poll(&mut sockets, Some(&Timespec::default())).is_ok() && !sockets[0].revents().is_empty()
}

/// Whether a read from the client would return at once, with bytes or with the end of the connection. Asks the system,
/// without waiting.
pub fn has_input(socket: &Socket) -> bool {
    let mut sockets = [PollFd::new(socket, PollFlags::IN)];
    // If the system cannot tell, there may be something.
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
            // The end crosses the loopback before or after this line. If it never did, this test would not end.
            while !has_left(&server) {}
        }
    }
}
