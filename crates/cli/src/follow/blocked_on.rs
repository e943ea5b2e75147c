//! Formats the condition that a run waits for.

use api_types::BlockedOn;
use model::run::Origin;

use crate::app::App;

/// Formats the condition that a run waits for as a sentence.
pub(crate) fn format_blocked_on(app: &App, waiting: &BlockedOn) -> String {
    match waiting {
        BlockedOn::Worker => "It waits for a worker.".into(),
        BlockedOn::Backoff { until } => format!(
            "It waits until {}, because it failed before.",
            app.time.date_time(*until)
        ),
        BlockedOn::Budget { reason, .. } => format!("It waits, because {reason}."),
        BlockedOn::Session { state } => format!("It waits, because its session is {state}."),
        BlockedOn::Run {
            run,
            status,
            origin,
        } => {
            let whose = match origin {
                Origin::Person => "a person's words",
                Origin::Occurrence => "a scheduled turn",
                Origin::Task => "a task",
                Origin::Message => "a message",
            };
            format!("It waits for {run} ({whose}, {status}).")
        }
        BlockedOn::Approval { approval, title } => format!(
            "It waits for approval of {title:?}: `matins approval allow {approval}`, or deny."
        ),
        BlockedOn::Turn => "It waits for its turn among those that wait.".into(),
    }
}
