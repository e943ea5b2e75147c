//! The script of a scripted agent: its capabilities, and the steps that it plays for each prompt.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A script. [`Script::new`] gives a well-behaved agent with all capabilities.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one way to misbehave"
)]
pub struct Script {
    /// The folder of the sessions, locks and the prompt log. Created if it does not exist.
    pub home: PathBuf,
    /// The capabilities that it announces.
    pub capabilities: Capabilities,
    /// The name and the version in its response to `initialize`.
    pub name_and_version: (String, String),
    /// The protocol version in its response to `initialize`.
    pub protocol_version: Value,
    /// The sign-in method that it requires before it opens a session.
    pub sign_in: Option<String>,
    /// The steps before the response to `initialize`.
    pub before_initialize: Vec<Step>,
    /// The steps before it creates or restores a session.
    pub before_open: Vec<Step>,
    /// The response to `session/resume` and `session/load`.
    pub on_restore: OnRestore,
    /// `true` if it refuses a session that another process has open. Else it only records the second writer.
    pub refuses_second_writer: bool,
    /// `true` if it stores a session only after the end of the session's first turn.
    pub forgets_unprompted: bool,
    /// Its modes. Every process starts with the first one.
    pub modes: Vec<String>,
    /// Its settings. Every process starts with the first value of each.
    pub settings: Vec<Setting>,
    /// The steps for the first prompt of a session, the second, and so on. The last element repeats.
    pub prompts: Vec<Vec<Step>>,
    /// `true` if it does not stop after `session/cancel`.
    pub ignores_cancel: bool,
    /// `true` if it does not end after the end of its input.
    pub ignores_end_of_input: bool,
    /// `true` if it ignores SIGTERM.
    pub ignores_term: bool,
}

/// The capabilities that the agent announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one capability of the protocol"
)]
pub struct Capabilities {
    /// `true` if it supports `session/resume`.
    pub resume: bool,
    /// `true` if it supports `session/load`.
    pub load: bool,
    /// `true` if it supports `session/list`.
    pub list: bool,
    /// `true` if it supports `session/close`.
    pub close: bool,
}

/// The response to a request that restores a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnRestore {
    /// Success if the session is on disk, else the error `-32002`.
    Normal,
    /// Success if the session is on disk, else an error with this code.
    NotFoundCode(i32),
    /// This error, even if the session is on disk.
    Refuse {
        /// The JSON-RPC code.
        code: i32,
        /// The message.
        message: String,
    },
    /// The result `null`, which the protocol allows for `session/load`.
    Null,
    /// No response.
    NoReply,
    /// The ID of another session, as if it had created a new one.
    AnotherSession,
    /// As [`Self::Normal`], but the replayed updates follow the response.
    LateReplay,
}

/// A setting of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// The ID of the setting.
    pub id: String,
    /// The possible values.
    pub values: Vec<String>,
    /// The ID of another setting, which returns to its first value whenever this setting changes.
    pub resets: Option<String>,
}

/// The way in which the agent dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Crash {
    /// Exit with a code.
    Exit(i32),
    /// Abort with SIGABRT.
    Abort,
}

/// An action of the agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Step {
    /// Sends a part of the answer.
    Text(String),
    /// Sends the text of the prompt back.
    Echo,
    /// Sends a part of a thought.
    Thought(String),
    /// Sends this update in the session of the prompt.
    Update(Value),
    /// Requests permission for a tool call, waits for the decision, and sends the text `asked: <chosen option or
    /// outcome>`.
    RequestPermission {
        /// The ID of the tool call.
        call: String,
        /// The fields `title` and `kind` of the tool call. `None` if the request has neither.
        title_and_kind: Option<(String, String)>,
        /// The field `rawInput` of the tool call. `None` if the request has no such field.
        input: Option<Value>,
        /// The IDs and kinds of the options, in the order of the request.
        options: Vec<(String, String)>,
        /// The number of equal requests that it sends at once.
        times: u32,
    },
    /// Sends a request with this method, waits for the response, and sends the text `answered: <code of the error>`.
    Request(String),
    /// Asks a question by an elicitation with these parameters, waits for the response, and sends its result as text.
    Elicit(Value),
    /// Sends a notification with this method.
    Notify(String),
    /// Waits until the prompt is cancelled, then ends the turn.
    Stall,
    /// Sends thoughts until the prompt is cancelled.
    StreamThoughts,
    /// Sends thoughts for some milliseconds, or until the prompt is cancelled. The duration depends only on the text of
    /// the prompt.
    Work {
        /// The minimum duration, in milliseconds.
        least: u64,
        /// The maximum duration, in milliseconds.
        most: u64,
    },
    /// Waits until the prompt is cancelled, then plays the next step.
    UntilCancelled,
    /// Waits for `session/close`, responds to it, then plays the next step.
    UntilClosed,
    /// Dies.
    Crash(Crash),
    /// Sends many parts of an answer.
    Flood {
        /// The number of parts.
        count: u32,
        /// The size of each part, in bytes.
        bytes: usize,
    },
    /// Writes one message as a line with a text of this many bytes.
    LongLine(usize),
    /// Sends one message with this many values.
    ManyValues(usize),
    /// Reports many tool calls with outputs.
    ToolCalls {
        /// The number of tool calls.
        count: u32,
        /// The size of each output, in bytes.
        bytes: usize,
    },
    /// Writes this many bytes to standard error.
    Stderr(usize),
    /// Writes this text to standard error.
    StderrText(String),
    /// Writes to standard error without end, while the next steps play.
    EndlessStderr,
    /// Starts a tree of 255 processes. The step lasts until the guard ends the agent, but at most a minute; so do the
    /// processes.
    ForkBomb,
    /// Allocates this many bytes of memory, and sends the number as text.
    AllocateMemory(usize),
    /// Uses a processor for at most a minute.
    BurnCpu,
    /// Opens up to this many files, and sends the number of opened ones as text.
    OpenFiles(usize),
    /// Writes a file of up to this many bytes, and sends its size as text.
    WriteFile(PathBuf, usize),
    /// Sends the environment of its own process and of its parent as text, each as sorted lines.
    Environment,
    /// Sends the kernel's line about the limit of core dumps as text.
    CoreLimit,
    /// Writes these bytes to standard output.
    Raw(Vec<u8>),
    /// Calls a tool of the first MCP server of the session, and sends the structured result, or the error, as text.
    CallTool {
        /// The name of the tool.
        tool: String,
        /// The arguments.
        arguments: Value,
    },
    /// Lists the tools of the first MCP server of the session.
    ListTools,
    /// Plays these steps if the prompt contains this text.
    When(String, Vec<Self>),
    /// Plays the seat of a goal to which the prompt belongs: plans, works, asks, judges or reports. It does nothing for
    /// other prompts.
    PlayGoal {
        /// The tasks of the first plan, as arguments of `create_task`.
        plan: Vec<Value>,
    },
    /// Plays another step, in which `{secret}` stands for the secret of the run, and `{secret[0]}` for its first
    /// character.
    WithSecret(Box<Self>),
    /// Responds to the prompt with this stop reason. The next steps play after the response.
    Stop(String),
    /// Responds to the prompt with an error.
    ReplyError {
        /// The JSON-RPC code.
        code: i32,
        /// The message.
        message: String,
    },
    /// Creates a file, for which a test can wait.
    Touch(PathBuf),
    /// Waits until this file exists.
    WaitFor(PathBuf),
    /// Starts a process that detaches itself: it forks twice and has its own session. It writes its process ID to a
    /// file and sleeps until killed. The step waits for the file.
    Grandchild {
        /// The file for the process ID.
        pid_file: PathBuf,
        /// `true` if its environment is empty, so that a search for the run's marker does not find it.
        clear_environment: bool,
    },
    /// Starts a chain of processes, of which each starts the next one and ends, so that the process ID changes all the
    /// time. The step waits for this file, which the tenth process creates.
    ForkChain(PathBuf),
}

impl Script {
    /// Returns the script of a well-behaved agent that echoes its prompts.
    pub fn new(home: impl Into<PathBuf>) -> Self {
        Self {
            home: home.into(),
            capabilities: Capabilities {
                resume: true,
                load: true,
                list: true,
                close: true,
            },
            name_and_version: ("scripted".into(), "1.0.0".into()),
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

    /// Adds the steps for the next prompt of a session.
    #[must_use]
    pub fn prompt(mut self, steps: impl IntoIterator<Item = Step>) -> Self {
        self.prompts.push(steps.into_iter().collect());
        self
    }

    /// Returns the steps for the prompt with this number, from zero.
    pub(super) fn steps(&self, number: usize) -> &[Step] {
        let steps = self.prompts.get(number).or(self.prompts.last());
        steps.map_or(&[Step::Echo], Vec::as_slice)
    }
}

impl Step {
    /// Returns a step that sends a part of the answer.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Returns a step that writes a line to standard output.
    pub fn raw_line(text: &str) -> Self {
        Self::Raw(format!("{text}\n").into_bytes())
    }

    /// Returns a step that responds to the prompt with this stop reason.
    pub fn stop(reason: &str) -> Self {
        Self::Stop(reason.into())
    }

    /// Returns a step that asks a question with a form of these properties, all of them required.
    pub fn elicit(message: &str, properties: &Value) -> Self {
        let required: Vec<_> = properties
            .as_object()
            .map(|properties| properties.keys().cloned().collect())
            .unwrap_or_default();
        Self::Elicit(json!({
            "mode": "form",
            "message": message,
            "requestedSchema": {
                "type": "object", "properties": properties, "required": required,
            },
        }))
    }

    /// Returns a step that plays another one with the secret of the run in it.
    pub fn with_secret(step: Self) -> Self {
        Self::WithSecret(Box::new(step))
    }

    /// Returns a step that calls a tool.
    pub fn call_tool(tool: &str, arguments: Value) -> Self {
        Self::CallTool {
            tool: tool.into(),
            arguments,
        }
    }

    /// Returns a step that plays others if the prompt contains this text.
    pub fn when(text: &str, steps: impl IntoIterator<Item = Self>) -> Self {
        Self::When(text.into(), steps.into_iter().collect())
    }

    /// Returns a step that requests permission once, with every kind of option, the most harmful one first.
    pub fn request_permission(call: &str, title: &str, kind: &str) -> Self {
        let options = ["allow_always", "reject_always", "allow_once", "reject_once"];
        Self::RequestPermission {
            call: call.into(),
            title_and_kind: Some((title.into(), kind.into())),
            input: None,
            options: options
                .map(|kind| (format!("option-{kind}"), kind.into()))
                .into(),
            times: 1,
        }
    }

    /// Returns a step that requests permission once for a command, with this raw input of the tool call.
    pub fn request_command(call: &str, title: &str, raw_input: Value) -> Self {
        let mut step = Self::request_permission(call, title, "execute");
        if let Self::RequestPermission { input, .. } = &mut step {
            *input = Some(raw_input);
        }
        step
    }
}
