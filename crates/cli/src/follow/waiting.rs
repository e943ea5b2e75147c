//! Formats the condition that a run waits for.

use api_types::Waiting;
use model::run::Origin;

use crate::app::App;

/// Formats the condition that a run waits for as a sentence.
pub(crate) fn waits(app: &App, waiting: &Waiting) -> String {
    match waiting {
        Waiting::Worker => "It waits for a worker.".into(),
        Waiting::Backoff { until } => format!(
            "It waits until {}, because it failed before.",
            app.time.date_time(*until)
        ),
        Waiting::Budget { reason, .. } => format!("It waits, because {reason}."),
        Waiting::Session { state } => format!("It waits, because its session is {state}."),
        Waiting::Run {
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
        Waiting::Approval { approval, title } => format!(
            "It waits for approval of {title:?}: `matins approval allow {approval}`, or deny."
        ),
        Waiting::Turn => "It waits for its turn among those that wait.".into(),
    }
}
