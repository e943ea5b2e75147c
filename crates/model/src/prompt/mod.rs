//! The prompts that agents receive. Each comes from a template with a name and a version, and can be traced to the
//! exact text of that template.
//!
//! **Invariants:**
//!
//! - Text of people, agents and webhooks reaches a prompt as the value of a variable, and is never parsed as template
//!   code.
//! - The text of a template changes only together with its version. A test fails otherwise.

mod fence;
pub mod goal;
mod hex;
mod run_report;
mod seat_messages;
mod seat_opening;
mod turn;

use minijinja::{AutoEscape, Environment, UndefinedBehavior, value::Serde};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use self::hex::hex;
use crate::escape::escape_line;

pub use fence::fenced;
pub use run_report::{
    MAX_BYTES as RUN_REPORT_BYTES, MAX_LINES as RUN_REPORT_LINES, ReportedRun, UnreportedRuns,
    render_run_report,
};
pub use seat_messages::{CarriedMessage, render_seat_messages};
pub use seat_opening::{SeatOpening, open_memory};
pub use turn::{PromptContext, PromptTemplate, render_turn_prompt};

/// A template: the text of a prompt under a stable name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Template {
    /// The name of the template in transcripts and run records.
    pub id: &'static str,
    /// The version, raised with each change of the text.
    pub version: u32,
    /// The text, with placeholders for variables.
    pub text: &'static str,
}

/// The prompt of a scheduled turn. Variables: `automation_name`, `scheduled_for` (in the form of
/// [`crate::schedule::format_instant`]) and `message`.
pub const REMINDER: Template = Template {
    id: "cron.agent_turn.reminder",
    version: 1,
    text: include_str!("templates/cron.agent_turn.reminder.jinja"),
};

/// The prompt of a turn that a person fired. Variables: `automation_name`, `fired_at` and `message`.
pub const FIRE: Template = Template {
    id: "automation.fire",
    version: 1,
    text: include_str!("templates/automation.fire.jinja"),
};

/// The prompt of a person's message: the message itself, unchanged. Variable: `message`.
pub const MESSAGE: Template = Template {
    id: "session.say",
    version: 1,
    text: include_str!("templates/session.say.jinja"),
};

/// The prompt of an attempt whose predecessor may have reached the agent. Variables: `earlier_run` (the ID of the
/// earlier run), `earlier_state` (the state that it has left, if the turn is one of a task) and `request` (the prompt as it
/// is rendered without an interruption).
pub const INTERRUPTED: Template = Template {
    id: "turn.interrupted",
    version: 2,
    text: include_str!("templates/turn.interrupted.jinja"),
};

/// The prompt of a turn that a webhook started. Variables: `automation_name`, `received_at`, `message` and `payload`
/// (the raw body).
pub const WEBHOOK: Template = Template {
    id: "webhook.received",
    version: 1,
    text: include_str!("templates/webhook.received.jinja"),
};

/// The prompt of a turn that a trigger file of another program started. Variables: `automation_name`, `received_at`,
/// `message` and `payload` (the data of the file).
pub const TRIGGER_FILE: Template = Template {
    id: "trigger_file.received",
    version: 1,
    text: include_str!("templates/trigger_file.received.jinja"),
};

/// The report that precedes the prompt of a turn: the seat's runs without success. Variable: `runs` (the fenced lines).
pub const RUN_REPORT: Template = Template {
    id: "turn.run_report",
    version: 1,
    text: include_str!("templates/turn.run_report.jinja"),
};

/// The prompt of a turn that carries messages to a seat. Variable: `messages` (each with its sender, and fenced).
pub const SEAT_MESSAGES: Template = Template {
    id: "seat.messages",
    version: 1,
    text: include_str!("templates/seat.messages.jinja"),
};

/// The instructions of a seat, which precede the first prompt of each new memory. Variables: `name`, `role` and
/// `instructions`.
pub const SEAT_OPENING: Template = Template {
    id: "seat.opening",
    version: 1,
    text: include_str!("templates/seat.opening.jinja"),
};

/// The template from which a prompt was rendered.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct PromptRef {
    /// The name of the template.
    pub id: String,
    /// The version of the template.
    pub version: u32,
    /// The SHA-256 of the template's text, in hexadecimal digits.
    pub sha256: String,
}

/// The report that was sent before a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunReport {
    /// The version of the template.
    pub version: u32,
    /// The text. `None` if there was nothing to report.
    pub text: Option<String>,
}

/// A rendered prompt, with the data that traces it to its template.
#[derive(Debug, Clone, PartialEq)]
pub struct RenderedPrompt {
    /// The template.
    pub prompt_ref: PromptRef,
    /// The prompt.
    pub text: String,
    /// The values of the variables.
    pub variables: serde_json::Value,
    /// The report that precedes the prompt. `None` if reports are off, or if the prompt is a command of the agent.
    pub run_report: Option<RunReport>,
}

impl RenderedPrompt {
    /// Returns the texts that the agent receives, in order. Each is a content block of its own, so that the prompt stays
    /// as it is.
    pub fn blocks(&self) -> Vec<&str> {
        let report = self.run_report.as_ref();
        let report = report.and_then(|report| report.text.as_deref());
        report.into_iter().chain([self.text.as_str()]).collect()
    }

    /// Returns `true` if the agent may take the prompt for one of its commands, such as `/compact`. Agents look for a
    /// command at the beginning of the first block, so that a block before it would hide the command.
    pub fn is_command(&self) -> bool {
        self.text.trim_start().starts_with('/')
    }
}

/// The error of a prompt that cannot be rendered. Each is a defect of Matins, never a fault of the message.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The variables cannot be written as JSON.
    #[error("cannot write the variables of the prompt `{id}` as JSON")]
    Variables {
        /// The name of the template.
        id: &'static str,
        /// The cause.
        source: serde_json::Error,
    },
    /// A variable is missing, or the template is broken.
    #[error("cannot render the prompt `{id}`")]
    Render {
        /// The name of the template.
        id: &'static str,
        /// The cause.
        source: minijinja::Error,
    },
}

impl Template {
    /// Returns the reference to this version of the template.
    pub fn prompt_ref(&self) -> PromptRef {
        let digest = Sha256::digest(self.text);
        PromptRef {
            id: self.id.into(),
            version: self.version,
            sha256: hex(&digest),
        }
    }

    /// Renders the prompt.
    ///
    /// # Errors
    ///
    /// [`Error::Render`] if `variables` lacks a variable that the template names, so that an incomplete prompt is
    /// never sent.
    pub fn render(&self, variables: impl Serialize) -> Result<RenderedPrompt, Error> {
        let variables = serde_json::to_value(variables).map_err(|source| Error::Variables {
            id: self.id,
            source,
        })?;
        let mut environment = Environment::empty();
        // By default a missing variable renders as nothing, and the agent would get an incomplete prompt.
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        // Prompts are plain text: escaping for HTML would change the messages.
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.add_filter("fenced", |payload: &str| fenced(payload));
        environment.add_filter("line", |text: &str| escape_line(text).into_owned());
        let text = environment
            .render_named_str(self.id, self.text, Serde(&variables))
            .map_err(|source| Error::Render {
                id: self.id,
                source,
            })?;
        Ok(RenderedPrompt {
            prompt_ref: self.prompt_ref(),
            text,
            variables,
            run_report: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use serde_json::json;

    use super::*;

    const ALL: [Template; 9] = [
        REMINDER,
        FIRE,
        MESSAGE,
        INTERRUPTED,
        WEBHOOK,
        TRIGGER_FILE,
        RUN_REPORT,
        SEAT_MESSAGES,
        SEAT_OPENING,
    ];

    /// A text that would have effects if it were parsed as a template.
    const HOSTILE: &str = "{{ 7 * 7 }} {% raw %} {{ message }} {# gone #} <b>&amp;</b> \u{0}\r\n\n";

    fn variables(message: &str) -> serde_json::Value {
        json!({
            "automation_name": "daily monitor",
            "scheduled_for": "Mon 2026-11-23 09:00:00 +01:00 Europe/Prague",
            "fired_at": "Mon 2026-11-23 09:00:00 +01:00 Europe/Prague",
            "received_at": "Mon 2026-11-23 09:00:00 +01:00 Europe/Prague",
            "earlier_run": "run_019a",
            "earlier_state": message,
            "message": message,
            "request": message,
            "payload": message,
            "runs": message,
            "messages": message,
            "name": "worker-1",
            "role": "worker",
            "instructions": message,
        })
    }

    /// If this test fails, the text of a template has changed: raise its version and pin the new hash here, because
    /// prompts that were already sent refer to the old text.
    #[test]
    fn template_text_changes_only_with_its_version() {
        let pinned = [
            (
                "cron.agent_turn.reminder",
                1,
                "9e3840e78531f5f8d899f38460ea9d14e513b5d88194a27363a647c903630d33",
            ),
            (
                "automation.fire",
                1,
                "001624d5de2df386dc66163e08c5fb6a0ff97e9f733b91316b9465edaa8637ee",
            ),
            (
                "session.say",
                1,
                "3f69d4114ce474c0f9c9e30102379561de809f3f8683d68d7f767a345510ba3c",
            ),
            (
                "turn.interrupted",
                2,
                "90267c32ae2dcbad938eae837d1bb4831e534c30f899069641740699dea6b453",
            ),
            (
                "webhook.received",
                1,
                "f1c403ac60ee45b4000a4fb5f798f443e34f1ccd097f57e356f72d2d9a4a8a4d",
            ),
            (
                "trigger_file.received",
                1,
                "772091eb36bbd1ada491a7b0db2b24be34351afc30a22c9830ab504ea65d2c8b",
            ),
            (
                "turn.run_report",
                1,
                "595ea793d35e79eca352bdd11f0f810b422df33e09c7b729ee78b1cc13e0cb65",
            ),
            (
                "seat.messages",
                1,
                "6be279e1fd08365c0cad320c8505071c73514f069e4049edb7cc81a32fa6f90e",
            ),
            (
                "seat.opening",
                1,
                "6c2109161e3208274c6025fb7417649d9cc3bf7cbf7592855586e969a4043168",
            ),
        ];
        let current = ALL.map(|template| template.prompt_ref());
        let pinned = pinned.map(|(id, version, sha256)| PromptRef {
            id: id.into(),
            version,
            sha256: sha256.into(),
        });
        assert_eq!(current, pinned);
    }

    #[test]
    fn missing_variable_is_error_naming_the_prompt() {
        for template in ALL {
            let error = template.render(json!({})).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("cannot render the prompt `{}`", template.id)
            );
            assert!(error.source().unwrap().to_string().contains("undefined"));
        }
    }

    #[test]
    fn message_text_is_never_parsed_as_template() {
        for template in ALL {
            let rendered = template.render(variables(HOSTILE)).unwrap();
            assert!(rendered.text.contains(HOSTILE), "{}", rendered.text);
            assert_eq!(rendered.variables, variables(HOSTILE));
            assert_eq!(rendered.prompt_ref, template.prompt_ref());
        }
    }

    #[test]
    fn message_prompt_is_the_message_unchanged() {
        for message in ["", "\n", " hello \n\n", HOSTILE, "naïve 🌅"] {
            assert_eq!(MESSAGE.render(variables(message)).unwrap().text, message);
        }
    }

    #[test]
    fn unattended_prompt_names_automation_and_instant() {
        for template in [REMINDER, FIRE, WEBHOOK, TRIGGER_FILE] {
            let text = template.render(variables("Check the logs")).unwrap().text;
            assert!(text.starts_with("This is an unattended"), "{text}");
            assert!(text.contains("Automation: daily monitor\n"), "{text}");
            let instant = "Mon 2026-11-23 09:00:00 +01:00 Europe/Prague";
            assert!(text.contains(instant), "{text}");
        }
    }

    #[test]
    fn interrupted_prompt_names_earlier_run_and_repeats_request() {
        let text = INTERRUPTED.render(variables("Pay the bill")).unwrap().text;
        assert!(
            text.contains("run_019a") && text.ends_with("\nPay the bill"),
            "{text}"
        );
        assert!(text.contains("may have been interrupted"), "{text}");
        assert!(text.contains("do not blindly repeat"), "{text}");
    }

    #[test]
    fn only_text_that_begins_with_slash_is_command() {
        for (text, is_command) in [
            ("/compact", true),
            (" \n/compact", true),
            ("see /compact", false),
            ("", false),
        ] {
            let prompt = MESSAGE.render(variables(text)).unwrap();
            assert_eq!(prompt.is_command(), is_command, "{text:?}");
        }
    }

    #[test]
    fn report_is_block_before_unchanged_prompt() {
        let mut prompt = MESSAGE.render(variables(HOSTILE)).unwrap();
        assert_eq!(prompt.blocks(), [HOSTILE]);
        let report = |text: Option<&str>| {
            let text = text.map(str::to_owned);
            Some(RunReport { version: 1, text })
        };
        prompt.run_report = report(None);
        assert_eq!(prompt.blocks(), [HOSTILE]);
        prompt.run_report = report(Some("It failed."));
        assert_eq!(prompt.blocks(), ["It failed.", HOSTILE]);
    }

    #[test]
    fn prompt_ref_json_has_stable_fields() {
        let json = serde_json::to_value(MESSAGE.prompt_ref()).unwrap();
        assert_eq!(json["id"], "session.say");
        assert_eq!(json["version"], 1);
        assert_eq!(json["sha256"].as_str().map(str::len), Some(64));
        assert_eq!(json.as_object().map(serde_json::Map::len), Some(3));
    }
}
