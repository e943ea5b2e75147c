//! What the scripted agent does for one prompt.

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
    hostile,
    ledger::Event,
    process::{POLL_INTERVAL, start, wait_for},
    script::{Crash, Step},
    wire::{answer, chunk, refuse, send, update, write},
};

/// How often an agent that works says so.
const WORK_UPDATE_INTERVAL: Duration = Duration::from_millis(50);

/// A prompt that is being answered.
pub(super) struct Prompt<'a> {
    id: &'a Value,
    text: &'a str,
    session: &'a str,
}

/// What made the agent stop playing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Played {
    /// All is done; the prompt is not answered yet.
    All,
    /// All is done, and the prompt was answered on the way.
    Answered,
    /// It was cancelled.
    Cancelled,
}

impl ScriptedAgent {
    pub(super) fn prompt(&mut self, id: &Value, params: &Value) -> io::Result<()> {
        let session = params["sessionId"].as_str().unwrap_or_default().to_owned();
        let text = params["prompt"][0]["text"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let Some(open) = self.open.as_mut().filter(|open| open.kept.id == session) else {
            return refuse(id, -32602, "no such session is open");
        };
        let number = open.kept.prompts.len();
        open.kept.prompts.push(text.clone());
        // Most agents keep the prompt before they answer it.
        if number > 0 || !self.script.forgets_unprompted {
            self.sessions.keep(&open.kept)?;
        }
        self.note(Event::PromptReceived(text.clone()))?;
        let steps = self.script.steps(number).to_vec();
        let prompt = Prompt {
            id,
            text: &text,
            session: &session,
        };
        match self.play(&steps, Some(&prompt))? {
            Played::All => self.finish(&prompt, "end_turn"),
            Played::Cancelled => self.finish(&prompt, "cancelled"),
            Played::Answered => Ok(()),
        }
    }

    fn finish(&mut self, prompt: &Prompt<'_>, reason: &str) -> io::Result<()> {
        if let Some(open) = &self.open {
            self.sessions.keep(&open.kept)?;
        }
        self.note(Event::PromptFinished(reason.to_owned()))?;
        answer(prompt.id, &json!({"stopReason": reason}))
    }

    /// Plays steps; those that speak of a prompt say nothing without one.
    pub(super) fn play(
        &mut self,
        steps: &[Step],
        prompt: Option<&Prompt<'_>>,
    ) -> io::Result<Played> {
        let mut played = Played::All;
        for step in steps {
            match (step, prompt) {
                (Step::Stop(reason), Some(prompt)) => {
                    self.finish(prompt, reason)?;
                    played = Played::Answered;
                }
                (Step::Fail { code, message }, Some(prompt)) => {
                    self.note(Event::PromptFinished("error".into()))?;
                    refuse(prompt.id, *code, message)?;
                    played = Played::Answered;
                }
                (Step::Stall, _) => {
                    if self.hear(|_| false)?.is_none() {
                        return Ok(Played::Cancelled);
                    }
                }
                (Step::Chatter, Some(prompt)) => {
                    self.chatter(prompt, None)?;
                    return Ok(Played::Cancelled);
                }
                (Step::Work { least, most }, Some(prompt)) => {
                    let length = length(prompt.text, *least, *most);
                    if !self.chatter(prompt, Some(Instant::now() + length))? {
                        return Ok(Played::Cancelled);
                    }
                }
                (Step::UntilCancelled, _) => drop(self.hear(|_| false)?),
                (Step::UntilClosed, _) => {
                    if let Some(close) = self.hear(|heard| heard["method"] == "session/close")? {
                        self.note(Event::Close)?;
                        answer(&close["id"], &json!({}))?;
                    }
                }
                (
                    Step::Ask {
                        call,
                        about,
                        options,
                        times,
                    },
                    Some(prompt),
                ) => {
                    self.ask(prompt, call, about.as_ref(), options, *times)?;
                }
                (Step::Request(method), Some(prompt)) => {
                    self.request(method, &json!({"sessionId": prompt.session}))?;
                    let id = json!(self.requests);
                    if let Some(heard) = self.hear(|message| message["id"] == id)? {
                        let code = &heard["error"]["code"];
                        say(prompt, &format!("answered: {code}"))?;
                    }
                }
                (step, Some(prompt)) if tell(step, prompt)? => {}
                (step, _) => act(step)?,
            }
        }
        Ok(played)
    }

    fn request(&mut self, method: &str, params: &Value) -> io::Result<()> {
        self.requests += 1;
        send(&json!({"jsonrpc": "2.0", "id": self.requests, "method": method, "params": params}))
    }

    fn ask(
        &mut self,
        prompt: &Prompt<'_>,
        call: &str,
        about: Option<&(String, String)>,
        options: &[(String, String)],
        times: u32,
    ) -> io::Result<()> {
        let mut tool_call = json!({"toolCallId": call});
        if let Some((title, kind)) = about {
            tool_call["title"] = json!(title);
            tool_call["kind"] = json!(kind);
        }
        let options = options.iter();
        let options =
            options.map(|(id, kind)| json!({"optionId": id, "name": "Yes", "kind": kind}));
        let options: Vec<_> = options.collect();
        let params =
            json!({"sessionId": prompt.session, "toolCall": tool_call, "options": options});
        let first = self.requests + 1;
        for _ in 0..times {
            self.request("session/request_permission", &params)?;
        }
        let asked = first..=self.requests;
        for _ in 0..times {
            let is_reply = |message: &Value| {
                let id = message["id"].as_u64().and_then(|id| u32::try_from(id).ok());
                message["method"].is_null() && id.is_some_and(|id| asked.contains(&id))
            };
            // A cancelled agent still waits for the answers that it is owed.
            let heard = loop {
                if let Some(heard) = self.hear(is_reply)? {
                    break heard;
                }
            };
            let outcome = &heard["result"]["outcome"];
            let chosen = outcome["optionId"].as_str().or(outcome["outcome"].as_str());
            let chosen = chosen.unwrap_or("nothing").to_owned();
            say(prompt, &format!("asked: {chosen}"))?;
            self.note(Event::Answered(chosen))?;
        }
        Ok(())
    }

    /// Thinks aloud until it is cancelled, or until it is time; true if that came first.
    fn chatter(&mut self, prompt: &Prompt<'_>, until: Option<Instant>) -> io::Result<bool> {
        loop {
            if until.is_some_and(|until| Instant::now() >= until) {
                return Ok(true);
            }
            match self.messages.try_recv() {
                Ok(message) if message["method"] == "session/cancel" => {
                    self.note(Event::Cancel)?;
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
            update(prompt.session, &chunk("agent_thought_chunk", "so "))?;
            thread::sleep(if until.is_some() {
                WORK_UPDATE_INTERVAL
            } else {
                POLL_INTERVAL
            });
        }
    }

    /// Hears messages until one is wanted; `None` if the prompt was cancelled before.
    fn hear(&mut self, wanted: impl Fn(&Value) -> bool) -> io::Result<Option<Value>> {
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
                    self.note(Event::Cancel)?;
                    if !self.script.ignores_cancel {
                        return Ok(None);
                    }
                }
                Some("session/prompt") => {
                    self.note(Event::OverlappingPrompt)?;
                    refuse(&message["id"], -32600, "a prompt is running")?;
                }
                _ => {}
            }
        }
    }
}

/// How long an agent works for a text: always the same for the same text (FNV-1a).
fn length(text: &str, least: u64, most: u64) -> Duration {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    Duration::from_millis(least + hash % (most.saturating_sub(least) + 1))
}

fn say(prompt: &Prompt<'_>, text: &str) -> io::Result<()> {
    update(prompt.session, &chunk("agent_message_chunk", text))
}

/// Sends what belongs to a prompt; false if the step is none of that.
fn tell(step: &Step, prompt: &Prompt<'_>) -> io::Result<bool> {
    match step {
        Step::Say(text) => say(prompt, text)?,
        Step::Echo => say(prompt, prompt.text)?,
        Step::Think(text) => update(prompt.session, &chunk("agent_thought_chunk", text))?,
        Step::Update(content) => update(prompt.session, content)?,
        Step::Flood { count, bytes } => {
            let text = "x".repeat(*bytes);
            for _ in 0..*count {
                say(prompt, &text)?;
            }
        }
        step => return hostile::tell(step, prompt.session),
    }
    Ok(true)
}

/// Does what needs no prompt.
fn act(step: &Step) -> io::Result<()> {
    match step {
        Step::Crash(Crash::Exit(code)) => process::exit(*code),
        Step::Crash(Crash::Abort) => process::abort(),
        Step::Raw(bytes) => write(bytes),
        Step::Notify(method) => send(&json!({"jsonrpc": "2.0", "method": method, "params": {}})),
        Step::Stderr(bytes) => {
            let line = [b"e".repeat(99), b"\n".to_vec()].concat();
            let mut stderr = io::stderr().lock();
            for _ in 0..bytes.div_ceil(line.len()) {
                stderr.write_all(&line)?;
            }
            stderr.write_all(b"the last word\n")
        }
        Step::Touch(path) => std::fs::write(path, ""),
        Step::WaitFor(path) => {
            wait_for(path);
            Ok(())
        }
        Step::Grandchild {
            pid_file,
            clear_environment,
        } => {
            start("grandchild", pid_file, *clear_environment)?;
            wait_for(pid_file);
            Ok(())
        }
        Step::Storm(file) => {
            start("storm", file, false)?;
            wait_for(file);
            Ok(())
        }
        step => {
            hostile::act(step);
            Ok(())
        }
    }
}
