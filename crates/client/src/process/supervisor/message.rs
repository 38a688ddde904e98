//! What we and a supervisor say to each other.
//!
//! We send one [`Order`], together with the three streams of the server, and single bytes after it.
//! The supervisor answers with one [`Report`] per line.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::cmsg_space;
use rustix::io::{FdFlags, fcntl_setfd, retry_on_intr};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use crate::prelude::*;

/// Tells a supervisor to send TERM to the group of the server.
pub const TERMINATE: u8 = b'T';
/// Tells it to kill all that the server started.
pub const KILL: u8 = b'K';

/// The standard input, output and error of a server.
pub type Streams = [OwnedFd; 3];

/// What is to be started. The supervisor is in the right directory already.
#[stored]
pub struct Order {
    pub program: String,
    pub args: Vec<String>,
    /// What is added to the environment that the supervisor inherited.
    pub env: BTreeMap<String, String>,
    /// What marks the server in its environment.
    pub token: String,
    /// The limit on open files that the server should have, if ours was raised.
    pub descriptors: Option<u64>,
}

/// What a supervisor has to say, in this order.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Report {
    /// The server runs.
    Started { pid: u32 },
    /// The server could not be started; that is the end.
    NotStarted { code: Option<i32>, message: String },
    /// The server exited, with this status in the form of `wait`.
    Exited { status: i32 },
    /// All else is gone too; these were alive though nobody had killed the server.
    Swept { leftovers: Vec<u32> },
}

impl Report {
    pub fn send(&self, mut socket: &UnixStream) -> io::Result<()> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        socket.write_all(&line)
    }
}

impl Order {
    pub fn send(&self, mut socket: &UnixStream, streams: &Streams) -> io::Result<()> {
        let body = serde_json::to_vec(self)?;
        let size = u64::try_from(body.len()).unwrap_or_default().to_le_bytes();
        let descriptors = streams.each_ref().map(OwnedFd::as_fd);
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(3))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        control.push(SendAncillaryMessage::ScmRights(&descriptors));
        // So few bytes into an empty buffer are never divided.
        retry_on_intr(|| {
            let parts = [IoSlice::new(&size)];
            sendmsg(socket, &parts, &mut control, SendFlags::empty())
        })?;
        socket.write_all(&body)
    }

    pub fn receive(socket: &UnixStream) -> io::Result<(Self, Streams)> {
        let mut size = [0; size_of::<u64>()];
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(3))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let received = retry_on_intr(|| {
            let mut parts = [IoSliceMut::new(&mut size)];
            recvmsg(socket, &mut parts, &mut control, RecvFlags::empty())
        })?;
        let streams: Vec<OwnedFd> = control
            .drain()
            .filter_map(|message| match message {
                RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
                _ => None,
            })
            .flatten()
            .collect();
        let incomplete = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let streams: Streams = streams.try_into().map_err(|_| incomplete())?;
        if received.bytes != size.len() {
            return Err(incomplete());
        }
        for stream in &streams {
            fcntl_setfd(stream, FdFlags::CLOEXEC)?;
        }
        let mut body = Vec::new();
        let size = u64::from_le_bytes(size);
        socket.take(size).read_to_end(&mut body)?;
        Ok((serde_json::from_slice(&body)?, streams))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_arrives_with_its_streams() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (reader, mut writer) = io::pipe().unwrap();
        let streams = [
            OwnedFd::from(reader),
            OwnedFd::from(writer.try_clone().unwrap()),
            OwnedFd::from(writer.try_clone().unwrap()),
        ];
        let sent = Order {
            program: "server".into(),
            args: vec!["ä".repeat(300_000)],
            env: BTreeMap::from([("NAME".into(), "value".into())]),
            token: "t:".into(),
            descriptors: Some(1024),
        };
        let sending = std::thread::spawn(move || {
            sent.send(&ours, &streams).unwrap();
            sent
        });
        let (received, [input, output, error]) = Order::receive(&theirs).unwrap();
        let sent = sending.join().unwrap();
        assert_eq!(received.args, sent.args);
        assert_eq!(received.env, sent.env);
        writer.write_all(b"ab").unwrap();
        drop((writer, output, error));
        let mut text = String::new();
        io::PipeReader::from(input)
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text, "ab");
    }
}
