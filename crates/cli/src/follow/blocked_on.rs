//! Formats the condition that a run waits for.

use api_types::BlockedOn;
use model::run::Origin;

use crate::{app::App, output::excerpt};

/// Formats the condition that a run waits for as a sentence.
pub(crate) fn format_blocked_on(app: &App, waiting: &BlockedOn) -> String {
    match waiting {
        BlockedOn::Worker => "It waits for a worker.".into(),
        BlockedOn::Instance { name, .. } => {
            format!(
                "It waits for the instance {}, which is offline.",
                excerpt(name, 80)
            )
        }
        BlockedOn::Delivery {
            name,
            reason: Some(reason),
            until,
            ..
        } => {
            let name = excerpt(name, 80);
            let again = until.map_or_else(String::new, |until| {
                format!(" The next attempt is at {}.", app.time.date_time(until))
            });
            format!(
                "It waits for its delivery to {name}: {}.{again}",
                excerpt(reason, 300)
            )
        }
        BlockedOn::Delivery { name, .. } => {
            format!("It waits for its delivery to {}.", excerpt(name, 80))
        }
        BlockedOn::Runtime {
            name,
            online,
            delivered_at,
            ..
        } => {
            let name = excerpt(name, 80);
            let offline = if *online { "" } else { ", which is offline" };
            let at = app.time.date_time(*delivered_at);
            format!("It waits for the runtime of {name}{offline}. Its file was delivered at {at}.")
        }
        BlockedOn::Directory { reason } => {
            format!("It waits for a server that has its directory ({reason}).")
        }
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
            let source = match origin {
                Origin::Person => "a person's message",
                Origin::Occurrence => "a scheduled turn",
                Origin::Task => "a task",
                Origin::Message => "a message",
            };
            format!("It waits for {run} ({source}, {status}).")
        }
        BlockedOn::Approval { approval, title } => format!(
            "It waits for approval of {title:?}: `matins approval allow {approval}` allows it, \
             `matins approval deny {approval}` denies it."
        ),
        BlockedOn::Answer { question, text } => format!(
            "It waits for an answer to {text:?}: `matins question show {question}` shows the form, \
             `matins question decline {question}` declines it."
        ),
        BlockedOn::Turn => "It waits behind other queued runs.".into(),
    }
}
