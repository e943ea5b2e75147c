//! The scripted agent's main loop: one request after the other.

use std::{fs, io, path::Path, process::ExitCode, sync::mpsc::Receiver};

use serde_json::{Value, json};

use super::{
    ledger::{Event, Writer},
    process::sleep_forever,
    script::{OnRestore, Script, Step},
    sessions::{Open, Sessions},
    wire::{answer, chunk, read_input, refuse, update},
};

/// `auth_required` in the protocol.
const AUTH_REQUIRED: i32 = -32000;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const RESOURCE_NOT_FOUND: i32 = -32002;
/// What one agent answers for a session that another process has open.
const BUSY: i32 = -32003;

pub(super) struct ScriptedAgent {
    pub(super) script: Script,
    pub(super) ledger: Writer,
    pub(super) messages: Receiver<Value>,
    pub(super) sessions: Sessions,
    pub(super) open: Option<Open>,
    signed_in: bool,
    mode: Option<String>,
    /// In the order of the script's settings.
    values: Vec<String>,
    /// The id of the last request that was sent.
    pub(super) requests: u32,
}

/// Plays the script in a file until the input ends.
pub fn run(script: &Path) -> io::Result<ExitCode> {
    let script: Script = serde_json::from_slice(&fs::read(script)?)?;
    let mut agent = ScriptedAgent {
        ledger: Writer::open(&script.ledger())?,
        messages: read_input(),
        sessions: Sessions::new(&script.home)?,
        open: None,
        signed_in: false,
        mode: script.modes.first().cloned(),
        values: script
            .settings
            .iter()
            .map(|s| s.values[0].clone())
            .collect(),
        requests: 0,
        script,
    };
    while let Ok(message) = agent.messages.recv() {
        agent.take(&message)?;
    }
    agent.end_of_input()?;
    Ok(ExitCode::SUCCESS)
}

impl ScriptedAgent {
    pub(super) fn note(&mut self, event: Event) -> io::Result<()> {
        let session = self.open.as_ref().map(|open| open.kept.id.as_str());
        self.ledger.note(session, event)
    }

    /// Notes the end of the input; comes back only if the script lets it.
    pub(super) fn end_of_input(&mut self) -> io::Result<()> {
        self.note(Event::EndOfInput)?;
        if self.script.ignores_end_of_input {
            sleep_forever();
        }
        Ok(())
    }

    fn take(&mut self, message: &Value) -> io::Result<()> {
        let (id, params) = (&message["id"], &message["params"]);
        match message["method"].as_str().unwrap_or_default() {
            "initialize" => self.initialize(id),
            "authenticate" => self.authenticate(id, params),
            "session/new" => self.new_session(id, params),
            "session/resume" => self.restore(id, params, false),
            "session/load" => self.restore(id, params, true),
            "session/list" if self.script.offers.list => self.list(id),
            "session/close" if self.script.offers.close => {
                self.note(Event::Close)?;
                if let Some(open) = self.open.take() {
                    open.release()?;
                }
                answer(id, &json!({}))
            }
            "session/set_mode" => self.set_mode(id, params),
            "session/set_config_option" => self.set_option(id, params),
            "session/prompt" => self.prompt(id, params),
            "session/cancel" => self.note(Event::Cancel),
            _ if id.is_null() => Ok(()),
            method => refuse(id, METHOD_NOT_FOUND, method),
        }
    }

    fn initialize(&mut self, id: &Value) -> io::Result<()> {
        self.steps(&self.script.before_initialize.clone())?;
        let offers = self.script.offers;
        let mut can = json!({});
        let offered = [
            ("resume", offers.resume),
            ("list", offers.list),
            ("close", offers.close),
        ];
        for (name, offered) in offered {
            if offered {
                can[name] = json!({});
            }
        }
        let methods = self.script.sign_in.iter();
        let methods: Vec<_> = methods.map(|id| json!({"id": id, "name": id})).collect();
        let result = json!({
            "protocolVersion": self.script.protocol_version,
            "agentInfo": {"name": "scripted", "version": "1.0.0"},
            "agentCapabilities": {"loadSession": offers.load, "sessionCapabilities": can},
            "authMethods": methods,
        });
        answer(id, &result)
    }

    fn authenticate(&mut self, id: &Value, params: &Value) -> io::Result<()> {
        let method = params["methodId"].as_str().unwrap_or_default();
        self.note(Event::SignedIn(method.to_owned()))?;
        self.signed_in = true;
        answer(id, &json!({}))
    }

    fn new_session(&mut self, id: &Value, params: &Value) -> io::Result<()> {
        self.steps(&self.script.before_open.clone())?;
        if self.script.sign_in.is_some() && !self.signed_in {
            return refuse(id, AUTH_REQUIRED, "Authentication required");
        }
        let (cwd, servers) = place(params);
        let open = self.sessions.make(&cwd)?;
        if !self.script.forgets_unprompted {
            self.sessions.keep(&open.kept)?;
        }
        let mut result = self.settings();
        result["sessionId"] = json!(open.kept.id);
        self.open = Some(open);
        self.note(Event::New(cwd, servers))?;
        answer(id, &result)
    }

    fn restore(&mut self, id: &Value, params: &Value, load: bool) -> io::Result<()> {
        self.steps(&self.script.before_open.clone())?;
        let offered = if load {
            self.script.offers.load
        } else {
            self.script.offers.resume
        };
        if !offered {
            return refuse(id, METHOD_NOT_FOUND, "not offered");
        }
        let gone_code = match self.script.on_restore.clone() {
            OnRestore::Never => return Ok(()),
            OnRestore::Refuse { code, message } => return refuse(id, code, &message),
            OnRestore::NotFoundCode(code) => code,
            OnRestore::Honest
            | OnRestore::Null
            | OnRestore::AnotherSession
            | OnRestore::LateReplay => RESOURCE_NOT_FOUND,
        };
        let (cwd, servers) = place(params);
        let session = params["sessionId"].as_str().unwrap_or_default();
        let Some(open) = self.sessions.open(session, &cwd)? else {
            return refuse(id, gone_code, "no such session");
        };
        let (alone, prompts) = (open.alone, open.kept.prompts.clone());
        if !alone {
            self.ledger.note(Some(session), Event::SecondWriter)?;
            if self.script.refuses_second_writer {
                return refuse(id, BUSY, "session is in use");
            }
        }
        self.open = Some(open);
        let event = if load { Event::Load } else { Event::Resume };
        self.note(event(cwd, servers))?;
        let late = self.script.on_restore == OnRestore::LateReplay;
        if load && !late {
            replay(session, &prompts)?;
        }
        let mut settings = self.settings();
        match self.script.on_restore {
            OnRestore::Null => return answer(id, &Value::Null),
            OnRestore::AnotherSession => settings["sessionId"] = json!("scripted-other"),
            _ => {}
        }
        answer(id, &settings)?;
        if late {
            replay(session, &prompts)?;
        }
        Ok(())
    }

    fn list(&mut self, id: &Value) -> io::Result<()> {
        let kept = self.sessions.list()?;
        let sessions = kept
            .iter()
            .map(|kept| json!({"sessionId": kept.id, "cwd": kept.cwd}));
        answer(id, &json!({"sessions": sessions.collect::<Vec<_>>()}))
    }

    fn set_mode(&mut self, id: &Value, params: &Value) -> io::Result<()> {
        let mode = params["modeId"].as_str().unwrap_or_default().to_owned();
        if !self.script.modes.contains(&mode) {
            return refuse(id, INVALID_PARAMS, "no such mode");
        }
        self.note(Event::Mode(mode.clone()))?;
        self.mode = Some(mode);
        answer(id, &json!({}))
    }

    fn set_option(&mut self, id: &Value, params: &Value) -> io::Result<()> {
        let name = params["configId"].as_str().unwrap_or_default().to_owned();
        let value = params["value"].as_str().unwrap_or_default().to_owned();
        let at = self
            .script
            .settings
            .iter()
            .position(|setting| setting.id == name);
        let Some(at) = at.filter(|at| self.script.settings[*at].values.contains(&value)) else {
            return refuse(id, INVALID_PARAMS, "no such setting or value");
        };
        self.note(Event::Setting(name, value.clone()))?;
        self.values[at] = value;
        let resets = self.script.settings[at].resets.clone();
        for (setting, value) in self.script.settings.iter().zip(&mut self.values) {
            if Some(&setting.id) == resets.as_ref() {
                value.clone_from(&setting.values[0]);
            }
        }
        let settings = self.settings();
        answer(id, &json!({"configOptions": settings["configOptions"]}))
    }

    /// Modes and settings, as the answers that open a session have them.
    fn settings(&self) -> Value {
        let named = |id: &String| json!({"id": id, "name": id});
        let mut answer = json!({});
        if let Some(mode) = &self.mode {
            let modes: Vec<_> = self.script.modes.iter().map(named).collect();
            answer["modes"] = json!({"currentModeId": mode, "availableModes": modes});
        }
        let options = self
            .script
            .settings
            .iter()
            .zip(&self.values)
            .map(|(setting, value)| {
                let values = setting
                    .values
                    .iter()
                    .map(|value| json!({"value": value, "name": value}));
                let values: Vec<_> = values.collect();
                json!({"id": setting.id, "name": setting.id, "type": "select",
                "currentValue": value, "options": values})
            });
        answer["configOptions"] = json!(options.collect::<Vec<_>>());
        answer
    }

    fn steps(&mut self, steps: &[Step]) -> io::Result<()> {
        self.play(steps, None).map(drop)
    }
}

fn replay(session: &str, prompts: &[String]) -> io::Result<()> {
    for prompt in prompts {
        update(session, &chunk("user_message_chunk", prompt))?;
        let answered = format!("replayed {prompt}");
        update(session, &chunk("agent_message_chunk", &answered))?;
    }
    Ok(())
}

/// The working directory and the names of the MCP servers.
fn place(params: &Value) -> (String, Vec<String>) {
    let servers = params["mcpServers"].as_array().into_iter().flatten();
    let names = servers.filter_map(|server| server["name"].as_str().map(str::to_owned));
    (
        params["cwd"].as_str().unwrap_or_default().to_owned(),
        names.collect(),
    )
}
