//! The mode and the settings of an open session.
//!
//! A session has its mode and settings only after [`Agent::apply_settings`] has returned without an error, because
//! the values of a new or restored session are the agent's choice.

use std::{collections::BTreeMap, sync::PoisonError, time::Duration};

use tokio::time::timeout;

use crate::{
    Agent, EarlyExit, OpenSession, Setting, UnreadableOutput, boxed,
    sdk::error::{AgentError, CallError},
};

/// The reason why mode and settings could not be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// No session is open.
    #[error("cannot apply settings: no session is open")]
    NoSession,
    /// The agent does not have this mode.
    #[error("unknown mode `{mode}`; the agent offers {}", format_list(.offered))]
    UnknownMode {
        /// The requested mode.
        mode: String,
        /// The modes that the agent offers.
        offered: Vec<String>,
    },
    /// The agent does not have this setting.
    #[error("unknown setting `{setting}`; the agent offers {}", format_list(.offered))]
    UnknownSetting {
        /// The requested setting.
        setting: String,
        /// The settings that the agent offers.
        offered: Vec<String>,
    },
    /// The setting does not accept this value.
    #[error("invalid value `{value}` of setting `{setting}`; the agent accepts {}", format_list(.offered))]
    UnknownValue {
        /// The setting.
        setting: String,
        /// The requested value.
        value: String,
        /// The values that the agent accepts.
        offered: Vec<String>,
    },
    /// The agent did not reply in time.
    #[error("the agent did not set `{what}` within {limit:?}")]
    Timeout {
        /// The mode or setting.
        what: String,
        /// The limit.
        limit: Duration,
    },
    /// The agent ended before it replied.
    #[error("the agent ended before it applied the settings, with {0}")]
    AgentExited(EarlyExit),
    /// The agent replied with an error.
    #[error("cannot set `{what}`: the agent replied with an error: {message} ({code})")]
    Refused {
        /// The mode or setting.
        what: String,
        /// The JSON-RPC code.
        code: i32,
        /// The agent's message.
        message: String,
    },
    /// The agent's reply does not match the protocol.
    #[error("the agent's reply does not match the protocol: {0}")]
    Malformed(String),
    /// The reader gave up on the agent's output, for this reason.
    #[error("cannot read the agent's output: {0}")]
    Unreadable(UnreadableOutput),
}

fn format_list(offered: &[String]) -> String {
    if offered.is_empty() {
        "none".to_owned()
    } else {
        offered.join(", ")
    }
}

impl Agent {
    /// Sets the mode and every given setting of the open session, even those whose current value already matches.
    ///
    /// The caller must call it after every [`Agent::new_session`] and [`Agent::restore`]. A setting may depend on
    /// another: for example, each model has its own efforts, and choosing a model resets the effort. A value that the
    /// agent does not accept yet is therefore set after the others, and a value that a later setting has changed is
    /// set once more.
    ///
    /// # Errors
    ///
    /// Returns an error if no session is open, if the agent does not offer the mode, a setting or a value, or if the
    /// agent refuses one of them.
    #[boxed]
    pub async fn apply_settings(
        &self,
        mode: Option<&str>,
        settings: &BTreeMap<String, String>,
    ) -> Result<(), SettingsError> {
        let mut opened = self.open_session().ok_or(SettingsError::NoSession)?;
        if let Some(mode) = mode {
            self.set_mode(&mut opened, mode).await?;
        }
        let mut remaining: Vec<(&String, &String)> = settings.iter().collect();
        while !remaining.is_empty() {
            let next = remaining
                .iter()
                .position(|(id, value)| find_setting(&opened, id, value).is_ok());
            // If the agent accepts none of the remaining values, `set` returns the error for the first one.
            let (id, value) = remaining.remove(next.unwrap_or(0));
            self.set_setting(&mut opened, id, value).await?;
        }
        // One more pass, for values that a later setting has reset. A second reset is left as it is, so that two
        // settings which reset each other cannot loop forever.
        for (id, value) in settings {
            if opened
                .settings
                .iter()
                .any(|setting| setting.id == *id && setting.current != *value)
            {
                self.set_setting(&mut opened, id, value).await?;
            }
        }
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(opened);
        Ok(())
    }

    pub(crate) fn open_session(&self) -> Option<OpenSession> {
        self.session
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    async fn set_mode(&self, opened: &mut OpenSession, mode: &str) -> Result<(), SettingsError> {
        let offered = opened.modes.as_ref().map(|modes| modes.offered.as_slice());
        let offered = offered.unwrap_or_default();
        if !offered.iter().any(|mode_offer| mode_offer.id == mode) {
            return Err(SettingsError::UnknownMode {
                mode: mode.to_owned(),
                offered: offered
                    .iter()
                    .map(|mode_offer| mode_offer.id.clone())
                    .collect(),
            });
        }
        self.with_timeout(mode, self.connection.set_mode(&opened.id, mode))
            .await?;
        if let Some(modes) = &mut opened.modes {
            mode.clone_into(&mut modes.current);
        }
        Ok(())
    }

    async fn set_setting(
        &self,
        opened: &mut OpenSession,
        id: &str,
        value: &str,
    ) -> Result<(), SettingsError> {
        let setting = find_setting(opened, id, value)?;
        let set = self.connection.set_setting(&opened.id, setting, value);
        opened.settings = self.with_timeout(id, set).await?;
        Ok(())
    }

    async fn with_timeout<T>(
        &self,
        what: &str,
        call: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, SettingsError> {
        let limit = self.limits.restore;
        let what = what.to_owned();
        match timeout(limit, call).await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(CallError::ErrorReply(AgentError { code, message, .. }))) => {
                Err(SettingsError::Refused {
                    what,
                    code,
                    message,
                })
            }
            Ok(Err(CallError::Closed)) => Err(match self.diagnostics.unreadable() {
                Some(unreadable) => SettingsError::Unreadable(unreadable),
                None => SettingsError::AgentExited(self.early_exit().await),
            }),
            Ok(Err(CallError::Malformed(what))) => Err(SettingsError::Malformed(what)),
            Err(_) => Err(SettingsError::Timeout { what, limit }),
        }
    }
}

/// Finds the setting, and checks that it accepts the value.
fn find_setting<'a>(
    opened: &'a OpenSession,
    id: &str,
    value: &str,
) -> Result<&'a Setting, SettingsError> {
    let Some(setting) = opened.settings.iter().find(|offered| offered.id == id) else {
        let offered = opened.settings.iter();
        return Err(SettingsError::UnknownSetting {
            setting: id.to_owned(),
            offered: offered.map(|offered| offered.id.clone()).collect(),
        });
    };
    if !setting.values.iter().any(|offered| offered == value) {
        return Err(SettingsError::UnknownValue {
            setting: id.to_owned(),
            value: value.to_owned(),
            offered: setting.values.clone(),
        });
    }
    Ok(setting)
}
