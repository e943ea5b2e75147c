//! The scripted agent's actions for one prompt.

use std::{
    io::{self, Write},
    process,
    sync::mpsc::TryRecvError,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    agent::ScriptedAgent,
    goal::GoalTurn,
    process::{POLL_INTERVAL, start_subcommand, wait_for_file},
    prompt_log::Event,
    resource_abuse,
    script::{Crash, Step},
    tool_call::{call_tool, list_and_call_tools, with_secret},
    wire::{message_chunk, reply, reply_error, send, send_update, write_bytes},
};

/// The interval between the thoughts of [`Step::Work`].
const WORK_UPDATE_INTERVAL: Duration = Duration::from_millis(50);

/// The prompt that the agent is answering.
pub(super) struct Prompt<'a> {
    id: &'a Value,
    text: &'a str,
    session: &'a str,
}

/// The reason for which the agent stopped playing its steps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PlayOutcome {
    /// All steps are played. The prompt has no response yet.
    Completed,
    /// All steps are played, and one of them responded to the prompt.
    AlreadyAnswered,
    /// The prompt was cancelled.
    Cancelled,
}

impl ScriptedAgent {
    pub(super) fn prompt(&mut self, id: &Value, params: &Value) -> io::Result<()> {
        let session = params["sessionId"].as_str().unwrap_or_default().to_owned();
        // The last block is the request; Matins sends a report of runs before it.
        let blocks = params["prompt"].as_array().into_iter().flatten();
        let mut texts: Vec<String> = blocks
            .map(|block| block["text"].as_str().unwrap_or_default().to_owned())
            .collect();
        let text = texts.pop().unwrap_or_default();
        let Some(open) = self
            .open_session
            .as_mut()
            .filter(|open| open.stored.id == session)
        else {
            return reply_error(id, -32602, "no such session is open");
        };
        let number = open.stored.prompts.len();
        open.stored.prompts.push(text.clone());
        // Most agents store the prompt before they answer it.
        if number > 0 || !self.script.forgets_unprompted {
            self.sessions.save(&open.stored)?;
        }
        for before in texts {
            self.record(Event::BlockReceived(before))?;
        }
        self.record(Event::PromptReceived(text.clone()))?;
        let steps = self.script.steps(number).to_vec();
        let prompt = Prompt {
            id,
            text: &text,
            session: &session,
        };
        match self.play(&steps, Some(&prompt))? {
            PlayOutcome::Completed => self.finish_prompt(&prompt, "end_turn"),
            PlayOutcome::Cancelled => self.finish_prompt(&prompt, "cancelled"),
            PlayOutcome::AlreadyAnswered => Ok(()),
        }
    }

    fn finish_prompt(&mut self, prompt: &Prompt<'_>, reason: &str) -> io::Result<()> {
        if let Some(open) = &self.open_session {
            self.sessions.save(&open.stored)?;
        }
        self.record(Event::PromptFinished(reason.to_owned()))?;
        reply(prompt.id, &json!({"stopReason": reason}))
    }

    /// Plays steps. Without a prompt, a step that needs one does nothing.
    pub(super) fn play(
        &mut self,
        steps: &[Step],
        prompt: Option<&Prompt<'_>>,
    ) -> io::Result<PlayOutcome> {
        let mut outcome = PlayOutcome::Completed;
        for step in steps {
            match (step, prompt) {
                (Step::Stop(reason), Some(prompt)) => {
                    self.finish_prompt(prompt, reason)?;
                    outcome = PlayOutcome::AlreadyAnswered;
                }
                (Step::ReplyError { code, message }, Some(prompt)) => {
                    self.record(Event::PromptFinished("error".into()))?;
                    reply_error(prompt.id, *code, message)?;
                    outcome = PlayOutcome::AlreadyAnswered;
                }
                (Step::Stall, _) => {
                    if self.wait_for_message(|_| false)?.is_none() {
                        return Ok(PlayOutcome::Cancelled);
                    }
                }
                (Step::StreamThoughts, Some(prompt)) => {
                    self.stream_thoughts(prompt, None)?;
                    return Ok(PlayOutcome::Cancelled);
                }
                (Step::Work { least, most }, Some(prompt)) => {
                    let length = work_duration(prompt.text, *least, *most);
                    if !self.stream_thoughts(prompt, Some(Instant::now() + length))? {
                        return Ok(PlayOutcome::Cancelled);
                    }
                }
                (Step::UntilCancelled, _) => drop(self.wait_for_message(|_| false)?),
                (Step::UntilClosed, _) => {
                    if let Some(close) =
                        self.wait_for_message(|message| message["method"] == "session/close")?
                    {
                        self.record(Event::Close)?;
                        reply(&close["id"], &json!({}))?;
                    }
                }
                (Step::CallTool { tool, arguments }, Some(prompt)) => {
                    let result = match self.servers.first() {
                        Some(server) => call_tool(server, tool, arguments)?,
                        None => json!({"error": "the session has no MCP server"}),
                    };
                    let structured = &result["result"]["structuredContent"];
                    let shown = if structured.is_null() {
                        &result
                    } else {
                        structured
                    };
                    send_text(prompt, &shown.to_string())?;
                }
                (Step::ListTools, Some(_)) => {
                    if let Some(server) = self.servers.first() {
                        list_and_call_tools(server, &[])?;
                    }
                }
                (Step::When(text, steps), Some(prompt)) => {
                    if prompt.text.contains(text) {
                        let played = self.play(steps, Some(prompt))?;
                        if played != PlayOutcome::Completed {
                            return Ok(played);
                        }
                    }
                }
                (Step::PlayGoal { plan }, Some(prompt)) => {
                    if let Some(turn) = GoalTurn::parse(prompt.text) {
                        if let Some(server) = self.servers.first() {
                            list_and_call_tools(server, &turn.calls(plan))?;
                        }
                        send_text(prompt, &turn.answer())?;
                    }
                }
                (Step::WithSecret(step), _) => {
                    let step = with_secret(step, self.servers.first())?;
                    let played = self.play(&[step], prompt)?;
                    if played != PlayOutcome::Completed {
                        return Ok(played);
                    }
                }
                (step @ Step::RequestPermission { .. }, Some(prompt)) => {
                    self.request_permission(prompt, step)?;
                }
                (Step::Request(method), Some(prompt)) => {
                    self.send_request(method, &json!({"sessionId": prompt.session}))?;
                    let id = json!(self.last_request_id);
                    if let Some(response) = self.wait_for_message(|message| message["id"] == id)? {
                        let code = &response["error"]["code"];
                        send_text(prompt, &format!("answered: {code}"))?;
                    }
                }
                (Step::Elicit(params), Some(prompt)) => self.elicit(prompt, params)?,
                (step, Some(prompt)) if send_step(step, prompt)? => {}
                (step, _) => run_step(step)?,
            }
        }
        Ok(outcome)
    }

    fn send_request(&mut self, method: &str, params: &Value) -> io::Result<()> {
        self.last_request_id += 1;
        send(
            &json!({"jsonrpc": "2.0", "id": self.last_request_id, "method": method, "params": params}),
        )
    }

    fn elicit(&mut self, prompt: &Prompt<'_>, params: &Value) -> io::Result<()> {
        let mut params = params.clone();
        params["sessionId"] = json!(prompt.session);
        self.send_request("elicitation/create", &params)?;
        let id = json!(self.last_request_id);
        // Continue to wait after a cancellation, because the client must still answer.
        let response = loop {
            if let Some(response) = self.wait_for_message(|message| message["id"] == id)? {
                break response;
            }
        };
        send_text(prompt, &response["result"].to_string())
    }

    fn request_permission(&mut self, prompt: &Prompt<'_>, step: &Step) -> io::Result<()> {
        let Step::RequestPermission {
            call,
            title_and_kind,
            input,
            options,
            times,
        } = step
        else {
            return Ok(());
        };
        let times = *times;
        let mut tool_call = json!({"toolCallId": call});
        if let Some((title, kind)) = title_and_kind {
            tool_call["title"] = json!(title);
            tool_call["kind"] = json!(kind);
        }
        if let Some(input) = input {
            tool_call["rawInput"] = input.clone();
        }
        let options = options.iter();
        let options =
            options.map(|(id, kind)| json!({"optionId": id, "name": "Yes", "kind": kind}));
        let options: Vec<_> = options.collect();
        let params =
            json!({"sessionId": prompt.session, "toolCall": tool_call, "options": options});
        let first = self.last_request_id + 1;
        for _ in 0..times {
            self.send_request("session/request_permission", &params)?;
        }
        let request_ids = first..=self.last_request_id;
        for _ in 0..times {
            let is_reply = |message: &Value| {
                let id = message["id"].as_u64().and_then(|id| u32::try_from(id).ok());
                message["method"].is_null() && id.is_some_and(|id| request_ids.contains(&id))
            };
            // Continue to wait after a cancellation, because the client must still answer each request.
            let response = loop {
                if let Some(response) = self.wait_for_message(is_reply)? {
                    break response;
                }
            };
            let outcome = &response["result"]["outcome"];
            let chosen = outcome["optionId"].as_str().or(outcome["outcome"].as_str());
            let chosen = chosen.unwrap_or("nothing").to_owned();
            send_text(prompt, &format!("asked: {chosen}"))?;
            self.record(Event::PermissionAnswered(chosen))?;
        }
        Ok(())
    }

    /// Sends thoughts until the prompt is cancelled or until `until`. Returns `true` if the time came first.
    fn stream_thoughts(&mut self, prompt: &Prompt<'_>, until: Option<Instant>) -> io::Result<bool> {
        loop {
            if until.is_some_and(|until| Instant::now() >= until) {
                return Ok(true);
            }
            match self.messages.try_recv() {
                Ok(message) if message["method"] == "session/cancel" => {
                    self.record(Event::Cancel)?;
                    if !self.script.ignores_cancel {
                        return Ok(false);
                    }
                }
                Ok(_) | Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => {
                    self.end_of_input()?;
                    process::exit(0);
                }
            }
            send_update(prompt.session, &message_chunk("agent_thought_chunk", "so "))?;
            thread::sleep(if until.is_some() {
                WORK_UPDATE_INTERVAL
            } else {
                POLL_INTERVAL
            });
        }
    }

    /// Reads messages until a wanted one. Returns `None` if the prompt is cancelled before.
    fn wait_for_message(&mut self, wanted: impl Fn(&Value) -> bool) -> io::Result<Option<Value>> {
        loop {
            let Ok(message) = self.messages.recv() else {
                self.end_of_input()?;
                process::exit(0);
            };
            if wanted(&message) {
                return Ok(Some(message));
            }
            match message["method"].as_str() {
                Some("session/cancel") => {
                    self.record(Event::Cancel)?;
                    if !self.script.ignores_cancel {
                        return Ok(None);
                    }
                }
                Some("session/prompt") => {
                    self.record(Event::OverlappingPrompt)?;
                    reply_error(&message["id"], -32600, "a prompt is running")?;
                }
                _ => {}
            }
        }
    }
}

/// Returns the duration of [`Step::Work`] for a prompt. It depends only on the text (by the hash FNV-1a).
fn work_duration(text: &str, least: u64, most: u64) -> Duration {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    Duration::from_millis(least + hash % (most.saturating_sub(least) + 1))
}

fn send_text(prompt: &Prompt<'_>, text: &str) -> io::Result<()> {
    send_update(prompt.session, &message_chunk("agent_message_chunk", text))
}

/// Plays a step that sends updates of a prompt. Returns `false` if the step is another one.
fn send_step(step: &Step, prompt: &Prompt<'_>) -> io::Result<bool> {
    match step {
        Step::Text(text) => send_text(prompt, text)?,
        Step::Echo => send_text(prompt, prompt.text)?,
        Step::Thought(text) => {
            send_update(prompt.session, &message_chunk("agent_thought_chunk", text))?;
        }
        Step::Update(content) => send_update(prompt.session, content)?,
        Step::Flood { count, bytes } => {
            let text = "x".repeat(*bytes);
            for _ in 0..*count {
                send_text(prompt, &text)?;
            }
        }
        step => return resource_abuse::send_step(step, prompt.session),
    }
    Ok(true)
}

/// Plays a step that needs no prompt.
fn run_step(step: &Step) -> io::Result<()> {
    match step {
        Step::Crash(Crash::Exit(code)) => process::exit(*code),
        Step::Crash(Crash::Abort) => process::abort(),
        Step::Raw(bytes) => write_bytes(bytes),
        Step::Notify(method) => send(&json!({"jsonrpc": "2.0", "method": method, "params": {}})),
        Step::Stderr(bytes) => {
            let line = [b"e".repeat(99), b"\n".to_vec()].concat();
            let mut stderr = io::stderr().lock();
            for _ in 0..bytes.div_ceil(line.len()) {
                stderr.write_all(&line)?;
            }
            stderr.write_all(b"the last word\n")
        }
        Step::StderrText(text) => io::stderr().lock().write_all(text.as_bytes()),
        Step::Touch(path) => std::fs::write(path, ""),
        Step::WaitFor(path) => {
            wait_for_file(path);
            Ok(())
        }
        Step::Grandchild {
            pid_file,
            clear_environment,
        } => {
            start_subcommand("grandchild", pid_file, *clear_environment)?;
            wait_for_file(pid_file);
            Ok(())
        }
        Step::ForkChain(file) => {
            start_subcommand("storm", file, false)?;
            wait_for_file(file);
            Ok(())
        }
        step => {
            resource_abuse::run_step(step);
            Ok(())
        }
    }
}
