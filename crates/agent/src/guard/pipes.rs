//! The transfer of the agent's three standard streams from worker to guard over the control socket.

use std::{
    io::{self, IoSlice, IoSliceMut, PipeReader, PipeWriter},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream,
    },
};

use rustix::{
    cmsg_space,
    net::{
        RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
        SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
    },
};

/// The agent's ends of its three standard streams.
pub(super) struct AgentStreams<Read, Write> {
    pub(super) stdin: Read,
    pub(super) stdout: Write,
    pub(super) stderr: Write,
}

/// The byte that carries the descriptors, because Linux attaches descriptors only to data.
const DESCRIPTOR_CARRIER: [u8; 1] = [b'\n'];

impl AgentStreams<PipeReader, PipeWriter> {
    /// Sends the three streams into the socket, where they wait until the guard has started, and closes them in this
    /// process.
    pub(super) fn send(self, socket: &UnixStream) -> io::Result<()> {
        let ends = [self.stdin.as_fd(), self.stdout.as_fd(), self.stderr.as_fd()];
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(3))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !control.push(SendAncillaryMessage::ScmRights(&ends)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        sendmsg(
            socket,
            &[IoSlice::new(&DESCRIPTOR_CARRIER)],
            &mut control,
            SendFlags::NOSIGNAL,
        )?;
        Ok(())
    }
}

impl AgentStreams<OwnedFd, OwnedFd> {
    /// Receives the three streams from the socket. They are closed on exec, as all descriptors of the guard.
    pub(super) fn receive(socket: &UnixStream) -> io::Result<Self> {
        let mut greeting = DESCRIPTOR_CARRIER;
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(3))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let received = recvmsg(
            socket,
            &mut [IoSliceMut::new(&mut greeting)],
            &mut control,
            RecvFlags::CMSG_CLOEXEC,
        )?;
        let mut ends = control
            .drain()
            .filter_map(|message| match message {
                RecvAncillaryMessage::ScmRights(ends) => Some(ends),
                _ => None,
            })
            .flatten();
        let mut next = || {
            ends.next()
                .filter(|_| received.bytes == DESCRIPTOR_CARRIER.len())
        };
        match (next(), next(), next()) {
            (Some(stdin), Some(stdout), Some(stderr)) => Ok(Self {
                stdin,
                stdout,
                stderr,
            }),
            _ => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the worker did not send the agent's three streams",
            )),
        }
    }
}
