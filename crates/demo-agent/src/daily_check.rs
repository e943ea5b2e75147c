//! The work of the agent outside goals: a daily check, which it schedules when a person asks for it, and carries out when it is
//! due. It shows the tools of Matins, which real agents call in the same way.
//!
//! There is no model, so the agent knows these two requests by their words, and looks at nothing.

use agent_client_protocol::v1::schema::{McpServerStdio, SessionUpdate};
use serde_json::{Value, json};

use super::tools::{CallError, Tools, tool_call};

/// The name of the schedule, and the key of the result in the memory.
const NAME: &str = "daily-check";
/// The file that the agent hands in.
const FILE_NAME: &str = "daily-check.md";
/// The schedule: each day at nine.
const SCHEDULE: &str = "0 9 * * *";
/// The beginning of both requests.
const CHECK: &str = "Check ";
/// The end of the request that schedules the check.
const EVERY_DAY: &str = " every day";
/// The end of the request that the schedule sends.
const HAND_IN: &str = ", remember the result, and hand in a file";

/// A request for work, with its subject, such as `the backups`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DailyCheck {
    /// Check the subject each day.
    Schedule(String),
    /// Check the subject now.
    Check(String),
}

impl DailyCheck {
    /// Returns the work that a request asks for. Looks at its last paragraph, because scheduled requests begin with an
    /// introduction.
    pub(super) fn parse(request: &str) -> Option<Self> {
        let request = request.trim_end();
        let last = request.rsplit("\n\n").next().unwrap_or(request);
        let words = last.trim().trim_end_matches('.').strip_prefix(CHECK)?;
        let subject = |end| words.strip_suffix(end).map(str::to_owned);
        subject(EVERY_DAY)
            .map(Self::Schedule)
            .or_else(|| subject(HAND_IN).map(Self::Check))
    }

    /// Does the work with the tools of a server, and shows each call. Returns a sentence for the answer.
    ///
    /// # Errors
    ///
    /// Returns an error if the server cannot be used or a tool refuses.
    pub(super) fn run(
        &self,
        server: &McpServerStdio,
        mut show: impl FnMut(SessionUpdate),
    ) -> Result<String, CallError> {
        let mut tools = Tools::start(server)?;
        let mut calls = 0;
        let mut call = |tool, arguments: Value| {
            let answer = tools.call(tool, &arguments);
            show(tool_call(calls, tool, &answer));
            calls += 1;
            answer
        };
        match self {
            Self::Schedule(subject) => schedule(&mut call, subject),
            Self::Check(subject) => check(&mut call, subject),
        }
    }
}

type Call<'a> = dyn FnMut(&'static str, Value) -> Result<Value, CallError> + 'a;

fn schedule(call: &mut Call<'_>, subject: &str) -> Result<String, CallError> {
    let arguments = json!({
        "action": "add", "name": NAME, "schedule": SCHEDULE,
        "message": format!("{CHECK}{subject}{HAND_IN}."),
    });
    let answer = call("cron", arguments)?;
    let schedule = &answer["automations"][0]["schedule"][0];
    Ok(format!(
        "I have scheduled {NAME}: {}.",
        schedule.as_str().unwrap_or(SCHEDULE)
    ))
}

fn check(call: &mut Call<'_>, subject: &str) -> Result<String, CallError> {
    let recalled = call("recall", json!({"key": NAME}))?;
    let before = recalled["entries"][0]["value"].as_str();
    let number = before.map_or(0, count) + 1;
    let result = format!("check {number}: nothing to do");
    call("remember", json!({"key": NAME, "value": result}))?;
    let text = format!("# Daily check of {subject}\n\nThis was {result}.\n");
    let file = json!({"name": FILE_NAME, "text": text, "media_type": "text/markdown"});
    call("save_artifact", file)?;
    let before = before.map_or_else(String::new, |before| {
        format!(" Last time, it was {before}.")
    });
    Ok(format!(
        "This was {result}.{before} I have handed in {FILE_NAME}."
    ))
}

/// Returns the number of a remembered check, or 0 if a person has changed the text.
fn count(result: &str) -> u64 {
    let number = result
        .strip_prefix("check ")
        .and_then(|rest| rest.split(':').next());
    number
        .and_then(|number| number.parse().ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_requests_are_no_work() {
        for request in [
            "",
            "Check the backups",
            "Every day, check the backups",
            "Do not check the backups every day",
        ] {
            assert_eq!(DailyCheck::parse(request), None, "{request}");
        }
    }

    #[test]
    fn scheduled_message_asks_for_check_of_subject() {
        let request = DailyCheck::parse("Check the backups every day.");
        assert_eq!(request, Some(DailyCheck::Schedule("the backups".into())));
        let message = format!("This is a scheduled run.\n\n{CHECK}the backups{HAND_IN}.");
        let request = DailyCheck::parse(&message);
        assert_eq!(request, Some(DailyCheck::Check("the backups".into())));
    }

    #[test]
    fn changed_memory_begins_count_anew() {
        assert_eq!(count("check 2: nothing to do"), 2);
        assert_eq!(count("all is well"), 0);
    }
}
