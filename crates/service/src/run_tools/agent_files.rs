//! The files that an agent names in a call of a tool: on this machine, or on the machine of a runtime.

use std::{
    fmt,
    io::Read,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use artifacts::VerifiedContent;

/// The place of the files of an agent.
#[derive(Debug, Clone)]
pub(super) enum AgentFiles {
    /// This machine.
    Here,
    /// The machine of a runtime, which sends and writes files at the request of this server.
    AtRuntime(Arc<RuntimeFiles>),
}

/// The exchange of files with a runtime in one request: the file that the runtime has sent, and then the file that a tool
/// needs.
#[derive(Debug, Default)]
pub struct RuntimeFiles(Mutex<Exchange>);

#[derive(Default)]
struct Exchange {
    sent: Option<SentFile>,
    needed: Option<NeededFile>,
}

/// The file that a runtime has sent.
pub enum SentFile {
    /// A content.
    Content {
        /// The path, as the tool has named it.
        path: String,
        /// The number of bytes.
        size: u64,
        /// The bytes. The end of a content that breaks off is an error.
        content: Box<dyn Read + Send>,
    },
    /// The runtime can neither read nor write the file.
    Failed(artifacts::Error),
}

/// The file that a tool needs.
#[derive(Debug)]
pub enum NeededFile {
    /// The content of a file. The tool has done nothing.
    Read {
        /// The path beneath the working directory of the session.
        path: String,
    },
    /// A new file. The tool has succeeded if the runtime can write the file.
    Write {
        /// The path beneath the working directory of the session.
        path: String,
        /// The content.
        content: VerifiedContent,
    },
}

impl RuntimeFiles {
    /// Returns the exchange of a request with the file that the runtime has sent.
    pub fn new(sent: Option<SentFile>) -> Self {
        Self(Mutex::new(Exchange { sent, needed: None }))
    }

    /// Returns the file that a tool needs, if there is one.
    pub fn take_needed(&self) -> Option<NeededFile> {
        self.exchange().needed.take()
    }

    /// Returns the content that no tool has read, if there is one.
    pub fn take_unread(&self) -> Option<Box<dyn Read + Send>> {
        match self.take_sent()? {
            SentFile::Content { content, .. } => Some(content),
            SentFile::Failed(_) => None,
        }
    }

    pub(super) fn take_sent(&self) -> Option<SentFile> {
        self.exchange().sent.take()
    }

    pub(super) fn need(&self, file: NeededFile) {
        self.exchange().needed = Some(file);
    }

    fn exchange(&self) -> MutexGuard<'_, Exchange> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut output = f.debug_struct("Exchange");
        output.field("needed", &self.needed).finish_non_exhaustive()
    }
}
