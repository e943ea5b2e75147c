//! The scripted agent's main loop, which handles one request after the other.

use std::{fs, io, path::Path, process::ExitCode, sync::mpsc::Receiver};

use serde_json::{Value, json};

use super::{
    process::sleep_forever,
    prompt_log::{Event, PromptLogWriter},
    script::{OnRestore, Script, Step},
    sessions::{OpenSession, Sessions},
    wire::{message_chunk, read_input, reply, reply_error, send_update},
};

/// `auth_required` in the protocol.
const AUTH_REQUIRED: i32 = -32000;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const RESOURCE_NOT_FOUND: i32 = -32002;
/// The code with which a real agent refuses a session that another process has open.
const SESSION_BUSY: i32 = -32003;

pub(super) struct ScriptedAgent {
    pub(super) script: Script,
    pub(super) prompt_log: PromptLogWriter,
    pub(super) messages: Receiver<Value>,
    pub(super) sessions: Sessions,
    pub(super) open_session: Option<OpenSession>,
    /// The MCP servers of the open session.
    pub(super) servers: Vec<Value>,
    signed_in: bool,
    mode: Option<String>,
    /// The value of each setting, in the order of the script's settings.
    setting_values: Vec<String>,
    /// The ID of the last request that the agent has sent.
    pub(super) last_request_id: u32,
}

/// Plays the script of a file until the input ends.
pub fn run(script: &Path) -> io::Result<ExitCode> {
    let script: Script = serde_json::from_slice(&fs::read(script)?)?;
    let mut agent = ScriptedAgent {
        prompt_log: PromptLogWriter::open(&script.prompt_log_path())?,
        messages: read_input(),
        sessions: Sessions::new(&script.home)?,
        open_session: None,
        servers: Vec::new(),
        signed_in: false,
        mode: script.modes.first().cloned(),
        setting_values: script
            .settings
            .iter()
            .map(|s| s.values[0].clone())
            .collect(),
        last_request_id: 0,
        script,
    };
    while let Ok(message) = agent.messages.recv() {
        agent.handle_message(&message)?;
    }
    agent.end_of_input()?;
    Ok(ExitCode::SUCCESS)
}

impl ScriptedAgent {
    pub(super) fn record(&mut self, event: Event) -> io::Result<()> {
        let session = self
            .open_session
            .as_ref()
            .map(|open| open.stored.id.as_str());
        self.prompt_log.append(session, event)
    }

    /// Records the end of the input. Never returns if the script ignores it.
    pub(super) fn end_of_input(&mut self) -> io::Result<()> {
        self.record(Event::EndOfInput)?;
        if self.script.ignores_end_of_input {
            sleep_forever();
        }
        Ok(())
    }

    fn handle_message(&mut self, message: &Value) -> io::Result<()> {
        let (id, params) = (&message["id"], &message["params"]);
        match message["method"].as_str().unwrap_or_default() {
            "initialize" => self.initialize(id),
            "authenticate" => self.authenticate(id, params),
            "session/new" => self.new_session(id, params),
            "session/resume" => self.restore(id, params, false),
            "session/load" => self.restore(id, params, true),
            "session/list" if self.script.capabilities.list => self.list(id),
            "session/close" if self.script.capabilities.close => {
                self.record(Event::Close)?;
                if let Some(open) = self.open_session.take() {
                    open.release()?;
                }
                reply(id, &json!({}))
            }
            "session/set_mode" => self.set_mode(id, params),
            "session/set_config_option" => self.set_option(id, params),
            "session/prompt" => self.prompt(id, params),
            "session/cancel" => self.record(Event::Cancel),
            _ if id.is_null() => Ok(()),
            method => reply_error(id, METHOD_NOT_FOUND, method),
        }
    }

    fn initialize(&mut self, id: &Value) -> io::Result<()> {
        self.play_setup(&self.script.before_initialize.clone())?;
        let offers = self.script.capabilities;
        let mut capabilities = json!({});
        let offered = [
            ("resume", offers.resume),
            ("list", offers.list),
            ("close", offers.close),
        ];
        for (name, offered) in offered {
            if offered {
                capabilities[name] = json!({});
            }
        }
        let methods = self.script.sign_in.iter();
        let methods: Vec<_> = methods.map(|id| json!({"id": id, "name": id})).collect();
        let (name, version) = &self.script.name_and_version;
        let result = json!({
            "protocolVersion": self.script.protocol_version,
            "agentInfo": {"name": name, "version": version},
            "agentCapabilities": {"loadSession": offers.load, "sessionCapabilities": capabilities},
            "authMethods": methods,
        });
        reply(id, &result)
    }

    fn authenticate(&mut self, id: &Value, params: &Value) -> io::Result<()> {
        let method = params["methodId"].as_str().unwrap_or_default();
        self.record(Event::SignedIn(method.to_owned()))?;
        self.signed_in = true;
        reply(id, &json!({}))
    }

    fn new_session(&mut self, id: &Value, params: &Value) -> io::Result<()> {
        self.play_setup(&self.script.before_open.clone())?;
        if self.script.sign_in.is_some() && !self.signed_in {
            return reply_error(id, AUTH_REQUIRED, "Authentication required");
        }
        let (cwd, servers) = cwd_and_servers(params);
        let open = self.sessions.create(&cwd)?;
        if !self.script.forgets_unprompted {
            self.sessions.save(&open.stored)?;
        }
        let mut result = self.modes_and_settings();
        result["sessionId"] = json!(open.stored.id);
        self.open_session = Some(open);
        self.servers = servers_of(params);
        self.record(Event::New(cwd, servers))?;
        reply(id, &result)
    }

    fn restore(&mut self, id: &Value, params: &Value, load: bool) -> io::Result<()> {
        self.play_setup(&self.script.before_open.clone())?;
        let offered = if load {
            self.script.capabilities.load
        } else {
            self.script.capabilities.resume
        };
        if !offered {
            return reply_error(id, METHOD_NOT_FOUND, "not offered");
        }
        let not_found_code = match self.script.on_restore.clone() {
            OnRestore::NoReply => return Ok(()),
            OnRestore::Refuse { code, message } => return reply_error(id, code, &message),
            OnRestore::NotFoundCode(code) => code,
            OnRestore::Normal
            | OnRestore::Null
            | OnRestore::AnotherSession
            | OnRestore::LateReplay => RESOURCE_NOT_FOUND,
        };
        let (cwd, servers) = cwd_and_servers(params);
        let session = params["sessionId"].as_str().unwrap_or_default();
        let Some(open) = self.sessions.open(session, &cwd)? else {
            return reply_error(id, not_found_code, "no such session");
        };
        let (is_exclusive, prompts) = (open.is_exclusive, open.stored.prompts.clone());
        if !is_exclusive {
            self.prompt_log.append(Some(session), Event::SecondWriter)?;
            if self.script.refuses_second_writer {
                return reply_error(id, SESSION_BUSY, "session is in use");
            }
        }
        self.open_session = Some(open);
        self.servers = servers_of(params);
        let event = if load { Event::Load } else { Event::Resume };
        self.record(event(cwd, servers))?;
        let is_late = self.script.on_restore == OnRestore::LateReplay;
        if load && !is_late {
            replay(session, &prompts)?;
        }
        let mut settings = self.modes_and_settings();
        match self.script.on_restore {
            OnRestore::Null => return reply(id, &Value::Null),
            OnRestore::AnotherSession => settings["sessionId"] = json!("scripted-other"),
            _ => {}
        }
        reply(id, &settings)?;
        if is_late {
            replay(session, &prompts)?;
        }
        Ok(())
    }

    fn list(&mut self, id: &Value) -> io::Result<()> {
        let stored = self.sessions.list()?;
        let sessions = stored
            .iter()
            .map(|session| json!({"sessionId": session.id, "cwd": session.cwd}));
        reply(id, &json!({"sessions": sessions.collect::<Vec<_>>()}))
    }

    fn set_mode(&mut self, id: &Value, params: &Value) -> io::Result<()> {
        let mode = params["modeId"].as_str().unwrap_or_default().to_owned();
        if !self.script.modes.contains(&mode) {
            return reply_error(id, INVALID_PARAMS, "no such mode");
        }
        self.record(Event::ModeSet(mode.clone()))?;
        self.mode = Some(mode);
        reply(id, &json!({}))
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
            return reply_error(id, INVALID_PARAMS, "no such setting or value");
        };
        self.record(Event::SettingSet(name, value.clone()))?;
        self.setting_values[at] = value;
        let resets = self.script.settings[at].resets.clone();
        for (setting, value) in self.script.settings.iter().zip(&mut self.setting_values) {
            if Some(&setting.id) == resets.as_ref() {
                value.clone_from(&setting.values[0]);
            }
        }
        let settings = self.modes_and_settings();
        reply(id, &json!({"configOptions": settings["configOptions"]}))
    }

    /// Returns modes and settings in the form of the responses that open a session.
    fn modes_and_settings(&self) -> Value {
        let named = |id: &String| json!({"id": id, "name": id});
        let mut answer = json!({});
        if let Some(mode) = &self.mode {
            let modes: Vec<_> = self.script.modes.iter().map(named).collect();
            answer["modes"] = json!({"currentModeId": mode, "availableModes": modes});
        }
        let options =
            self.script
                .settings
                .iter()
                .zip(&self.setting_values)
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

    fn play_setup(&mut self, steps: &[Step]) -> io::Result<()> {
        self.play(steps, None).map(drop)
    }
}

fn replay(session: &str, prompts: &[String]) -> io::Result<()> {
    for prompt in prompts {
        send_update(session, &message_chunk("user_message_chunk", prompt))?;
        let answer = format!("replayed {prompt}");
        send_update(session, &message_chunk("agent_message_chunk", &answer))?;
    }
    Ok(())
}

fn servers_of(params: &Value) -> Vec<Value> {
    params["mcpServers"].as_array().cloned().unwrap_or_default()
}

/// Returns the working directory and the names of the MCP servers.
fn cwd_and_servers(params: &Value) -> (String, Vec<String>) {
    let servers = params["mcpServers"].as_array().into_iter().flatten();
    let names = servers.filter_map(|server| server["name"].as_str().map(str::to_owned));
    (
        params["cwd"].as_str().unwrap_or_default().to_owned(),
        names.collect(),
    )
}
