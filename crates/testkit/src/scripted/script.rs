//! What a scripted agent does.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A whole script. [`Script::new`] is a well-behaved agent that can do everything.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one way to misbehave"
)]
pub struct Script {
    /// Where sessions, locks and the ledger are; made if it is not there.
    pub home: PathBuf,
    /// What it says it can do.
    pub capabilities: Capabilities,
    /// What it answers as the protocol's version.
    pub protocol_version: Value,
    /// It wants a sign-in by this method before it opens a session.
    pub sign_in: Option<String>,
    /// Done before `initialize` is answered.
    pub before_initialize: Vec<Step>,
    /// Done before a session is made or restored.
    pub before_open: Vec<Step>,
    /// How it answers `session/resume` and `session/load`.
    pub on_restore: OnRestore,
    /// It refuses a session that another process has open, rather than only recording it.
    pub refuses_second_writer: bool,
    /// It keeps a session only once a turn of it has ended.
    pub forgets_unprompted: bool,
    /// Its modes, the first one at the start of every process.
    pub modes: Vec<String>,
    /// Its settings, at the first value at the start of every process.
    pub settings: Vec<Setting>,
    /// What it does for the first prompt of a session, the second, ...; the last one repeats.
    pub prompts: Vec<Vec<Step>>,
    /// It does not stop when asked to.
    pub ignores_cancel: bool,
    /// It lives on after the end of its input.
    pub ignores_end_of_input: bool,
    /// It lives on after SIGTERM.
    pub ignores_term: bool,
}

/// What the agent says it can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one capability of the protocol"
)]
pub struct Capabilities {
    /// `session/resume`.
    pub resume: bool,
    /// `session/load`.
    pub load: bool,
    /// `session/list`.
    pub list: bool,
    /// `session/close`.
    pub close: bool,
}

/// How the agent answers when it is to take up a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnRestore {
    /// As its sessions on disk are; `-32002` if there is no such session.
    Normal,
    /// With this code if there is no such session.
    NotFoundCode(i32),
    /// With this error, whatever there is.
    Refuse {
        /// The JSON-RPC code.
        code: i32,
        /// The message.
        message: String,
    },
    /// `null`, which `session/load` may.
    Null,
    /// Never.
    NoReply,
    /// With the id of another session, which it has just made.
    AnotherSession,
    /// As its sessions are, but what it replays comes after the answer.
    LateReplay,
}

/// A setting with its values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// The ID of the message.
    pub id: String,
    /// What it takes.
    pub values: Vec<String>,
    /// Setting it puts this other setting back to its first value.
    pub resets: Option<String>,
}

/// How the agent dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Crash {
    /// By exiting with a code.
    Exit(i32),
    /// By a signal of its own making (SIGABRT).
    Abort,
}

/// One thing the agent does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Step {
    /// Says a piece of the answer.
    Text(String),
    /// Says the text of the prompt, as it was received.
    Echo,
    /// Says a piece of thought.
    Thought(String),
    /// Sends an update as it is, the session's id put in.
    Update(Value),
    /// Asks for permission for a tool call, waits, and says `asked: <chosen option or outcome>`.
    RequestPermission {
        /// The tool call's id.
        call: String,
        /// The fields `title` and `kind` of the tool call, where the request names them.
        title_and_kind: Option<(String, String)>,
        /// Ids and kinds of the options, in the order in which they are sent.
        options: Vec<(String, String)>,
        /// How many of the same are asked at once.
        times: u32,
    },
    /// Sends a request with this method, waits, and says `answered: <code of the error>`.
    Request(String),
    /// Sends a notification with this method.
    Notify(String),
    /// Waits for the end of the world, or to be cancelled.
    Stall,
    /// Thinks aloud until it is cancelled.
    StreamThoughts,
    /// Thinks aloud for some milliseconds, or until it is cancelled: as long as the prompt says, since each
    /// text stands for its own length between these two.
    Work {
        /// The shortest.
        least: u64,
        /// The longest.
        most: u64,
    },
    /// Waits to be cancelled, and goes on.
    UntilCancelled,
    /// Waits for `session/close`, answers it, and goes on.
    UntilClosed,
    /// Dies.
    Crash(Crash),
    /// Sends this many pieces of an answer of this many bytes.
    Flood {
        /// How many.
        count: u32,
        /// How long each.
        bytes: usize,
    },
    /// Writes a line of this many bytes that is one message.
    LongLine(usize),
    /// Sends one message that holds this many values.
    ManyValues(usize),
    /// Makes this many tool calls, each with an output of this many bytes.
    ToolCalls {
        /// How many.
        count: u32,
        /// How long each output.
        bytes: usize,
    },
    /// Writes this many bytes to standard error.
    Stderr(usize),
    /// Writes to standard error from now on, beside everything else.
    EndlessStderr,
    /// Starts processes that start processes, 255 altogether, all of which live for a minute at the
    /// most. The step waits until the guard has enough of it, or that minute.
    ForkBomb,
    /// Takes this many bytes of memory and says so.
    AllocateMemory(usize),
    /// Computes, for a minute at the most.
    BurnCpu,
    /// Opens files, this many at the most, and says how many it got.
    OpenFiles(usize),
    /// Writes a file of this many bytes, and says how long it became.
    WriteFile(PathBuf, usize),
    /// Says the whole environment of its own process and of its parent's, each as sorted lines.
    Environment,
    /// Says the limit of core dumps as the kernel shows it.
    CoreLimit,
    /// Writes these bytes as they are.
    Raw(Vec<u8>),
    /// Answers the prompt with this stop reason; what follows comes after the answer.
    Stop(String),
    /// Answers the prompt with an error.
    ReplyError {
        /// The JSON-RPC code.
        code: i32,
        /// The message.
        message: String,
    },
    /// Makes a file, for tests that wait.
    Touch(PathBuf),
    /// Waits until there is this file.
    WaitFor(PathBuf),
    /// Starts a process that leaves: forked twice, in a session of its own. It writes its id to a
    /// file and sleeps for good. The step waits for the file.
    Grandchild {
        /// The file.
        pid_file: PathBuf,
        /// Its environment is empty, so that no marker finds it.
        clear_environment: bool,
    },
    /// Starts a process that is always another one: each starts the next and ends. The step waits
    /// for the file that the tenth makes.
    ForkChain(PathBuf),
}

impl Script {
    /// A well-behaved agent that echoes its prompts.
    pub fn new(home: impl Into<PathBuf>) -> Self {
        Self {
            home: home.into(),
            capabilities: Capabilities {
                resume: true,
                load: true,
                list: true,
                close: true,
            },
            protocol_version: json!(1),
            sign_in: None,
            before_initialize: Vec::new(),
            before_open: Vec::new(),
            on_restore: OnRestore::Normal,
            refuses_second_writer: false,
            forgets_unprompted: false,
            modes: Vec::new(),
            settings: Vec::new(),
            prompts: Vec::new(),
            ignores_cancel: false,
            ignores_end_of_input: false,
            ignores_term: false,
        }
    }

    /// Adds what it does for the next prompt of a session.
    #[must_use]
    pub fn prompt(mut self, steps: impl IntoIterator<Item = Step>) -> Self {
        self.prompts.push(steps.into_iter().collect());
        self
    }

    /// What it does for the prompt of this number, from zero.
    pub(super) fn steps(&self, number: usize) -> &[Step] {
        let steps = self.prompts.get(number).or(self.prompts.last());
        steps.map_or(&[Step::Echo], Vec::as_slice)
    }
}

impl Step {
    /// Says a piece of the answer.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Writes a line as it is.
    pub fn raw_line(text: &str) -> Self {
        Self::Raw(format!("{text}\n").into_bytes())
    }

    /// Answers the prompt with this stop reason.
    pub fn stop(reason: &str) -> Self {
        Self::Stop(reason.into())
    }

    /// Asks once for permission, with every kind of option, the most harmful first.
    pub fn request_permission(call: &str, title: &str, kind: &str) -> Self {
        let options = ["allow_always", "reject_always", "allow_once", "reject_once"];
        Self::RequestPermission {
            call: call.into(),
            title_and_kind: Some((title.into(), kind.into())),
            options: options
                .map(|kind| (format!("option-{kind}"), kind.into()))
                .into(),
            times: 1,
        }
    }
}
