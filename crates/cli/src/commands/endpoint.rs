//! `matins endpoint`: manages the endpoints of outgoing notifications.

use api_types::{
    Delivery, Endpoint, EndpointRequest, MAX_OVERLAP_SECONDS, NotificationKind, RotationRequest,
};
use clap::{
    Subcommand,
    builder::{PossibleValuesParser, TypedValueParser as _, ValueParser},
};
use client::PageParams;

use crate::{
    app::App,
    commands::options::parse_seconds,
    error::{CliError, Exit},
    output::{excerpt, table},
};

/// The number of deliveries that `show` lists.
const MAX_LISTED_DELIVERIES: u32 = 20;

/// Manage endpoints: addresses that receive signed notifications
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Add an endpoint and print the secret that signs its notifications, which is shown only once
    #[command(visible_alias = "create")]
    Add {
        /// The name of the endpoint
        name: String,
        // The help is no doc comment, because rustdoc demands brackets around the URL.
        #[arg(help = "The address, such as https://example.org/matins")]
        url: String,
        /// An event to notify the endpoint of, such as run.failed; may be repeated
        #[arg(long = "event", value_name = "EVENT", required = true, value_parser = event_parser())]
        events: Vec<NotificationKind>,
        /// Notify the endpoint only of this automation
        #[arg(long)]
        automation: Option<String>,
        /// Notify the endpoint only of sessions of this channel, such as slack
        #[arg(long)]
        channel: Option<String>,
    },
    /// Change an endpoint; everything that no option names stays as it is
    Edit {
        #[command(flatten)]
        selector: EndpointSelector,
        /// The new name
        #[arg(long)]
        name: Option<String>,
        /// The new address
        #[arg(long)]
        url: Option<String>,
        /// An event to notify the endpoint of, instead of the present ones; may be repeated
        #[arg(long = "event", value_name = "EVENT", value_parser = event_parser())]
        events: Vec<NotificationKind>,
    },
    /// List the endpoints by name
    #[command(visible_alias = "ls")]
    List,
    /// Show an endpoint with its latest deliveries
    Show(EndpointSelector),
    /// Delete an endpoint with its deliveries
    #[command(visible_alias = "rm")]
    Delete(EndpointSelector),
    /// Disable an endpoint: it receives no notifications until it is enabled
    Disable(EndpointSelector),
    /// Enable a disabled endpoint
    Enable(EndpointSelector),
    /// Send a test notification to an endpoint
    Test(EndpointSelector),
    /// Create a new secret and print it; the previous one stays valid for a while
    RotateSecret {
        #[command(flatten)]
        selector: EndpointSelector,
        /// The time for which the previous secret stays valid: 0s to 30d
        #[arg(long, value_name = "PERIOD", default_value = "1d", value_parser = parse_overlap)]
        overlap: u32,
    },
    /// Show a delivery with each attempt
    Delivery {
        /// The ID of the delivery
        delivery: String,
    },
    /// Send a delivery once more
    Redeliver {
        /// The ID of the delivery
        delivery: String,
    },
}

/// Returns the parser of an event, which gives help and completions all events that an endpoint can choose.
fn event_parser() -> ValueParser {
    let kinds = NotificationKind::ALL.iter();
    let words = kinds
        .filter(|kind| kind.is_subscribable())
        .map(|kind| kind.as_str());
    PossibleValuesParser::new(words)
        .try_map(|word| word.parse::<NotificationKind>())
        .into()
}

#[derive(Debug, clap::Args)]
struct EndpointSelector {
    /// The endpoint: its name or its ID
    endpoint: String,
}

pub(crate) async fn run(args: Args, app: &App) -> Result<Exit, CliError> {
    let (endpoint, action) = match args.command {
        Command::Add {
            name,
            url,
            events,
            automation,
            channel,
        } => {
            let request = EndpointRequest {
                name,
                url,
                events,
                automation,
                channel,
            };
            add(app, &request).await?;
            return Ok(Exit::Done);
        }
        Command::Edit {
            selector: named,
            name,
            url,
            events,
        } => {
            let edited = edit(app, &named.endpoint, name, url, events).await?;
            (edited, "Changed")
        }
        Command::List => {
            list(app).await?;
            return Ok(Exit::Done);
        }
        Command::Show(named) => {
            show(app, &named.endpoint).await?;
            return Ok(Exit::Done);
        }
        Command::Delete(named) => {
            let deleted = app.client.delete_endpoint(&named.endpoint).await?;
            (deleted, "Deleted")
        }
        Command::Disable(named) => {
            let disabled = app.client.disable_endpoint(&named.endpoint).await?;
            (disabled, "Disabled")
        }
        Command::Enable(named) => {
            let enabled = app.client.enable_endpoint(&named.endpoint).await?;
            (enabled, "Enabled")
        }
        Command::Test(named) => {
            let sent = app.client.test_endpoint(&named.endpoint).await?;
            let remark = "The server sends it; `matins endpoint delivery` shows the result.";
            return print_delivery(app, &sent, Some(remark));
        }
        Command::RotateSecret {
            selector: named,
            overlap,
        } => {
            let rotation = RotationRequest {
                overlap_seconds: overlap,
            };
            let client = &app.client;
            let rotated = client
                .rotate_endpoint_secret(&named.endpoint, rotation)
                .await?;
            super::secret::print_rotated(app, &rotated)?;
            return Ok(Exit::Done);
        }
        Command::Delivery { delivery: id } => {
            let shown = app.client.delivery(&id).await?;
            return print_delivery(app, &shown, None);
        }
        Command::Redeliver { delivery: id } => {
            let again = app.client.redeliver(&id).await?;
            return print_delivery(app, &again, Some("The server sends it once more."));
        }
    };
    if app.output.json {
        app.output.document(&endpoint)?;
    } else {
        let name = excerpt(&endpoint.name, 80);
        app.output
            .line(&format!("{action} {name} ({}).", endpoint.id))?;
    }
    Ok(Exit::Done)
}

/// Parses the time for which the previous secret remains valid, in seconds. Zero is valid.
pub(super) fn parse_overlap(text: &str) -> Result<u32, String> {
    let seconds = match text {
        "0s" => Ok(0),
        text => parse_seconds(text),
    };
    seconds
        .ok()
        .filter(|seconds| *seconds <= MAX_OVERLAP_SECONDS)
        .ok_or_else(|| "expected a period from 0s to 30d, such as 0s, 90m or 1d".to_owned())
}

async fn add(app: &App, request: &EndpointRequest) -> Result<(), CliError> {
    let created = app.client.create_endpoint(request).await?;
    if app.output.json {
        return Ok(app.output.document(&created)?);
    }
    let Some(secret) = &created.secret else {
        let message = "the endpoint was added, but its secret was lost in transit";
        return Err(CliError::message(Exit::Failed, message).with_hint(format!(
            "`matins endpoint rotate-secret {}` creates a new one",
            created.endpoint.id
        )));
    };
    app.output.line(secret)?;
    app.output.aside(&format!(
        "This secret signs the notifications of {}. It is shown only once.",
        created.endpoint.id
    ));
    Ok(())
}

async fn edit(
    app: &App,
    given: &str,
    name: Option<String>,
    url: Option<String>,
    events: Vec<NotificationKind>,
) -> Result<Endpoint, CliError> {
    // The API replaces whole endpoints, so start from the present values. The tag makes it refuse a concurrent
    // change.
    let seen = app.client.endpoint(given).await?;
    let Endpoint {
        id,
        name: name_before,
        url: url_before,
        events: events_before,
        automation_id,
        channel,
        ..
    } = seen.value;
    let request = EndpointRequest {
        name: name.unwrap_or(name_before),
        url: url.unwrap_or(url_before),
        events: if events.is_empty() {
            events_before
        } else {
            events
        },
        automation: automation_id.map(|id| id.to_string()),
        channel,
    };
    let id = id.to_string();
    let replaced = app
        .client
        .replace_endpoint(&id, &request, seen.tag.as_deref());
    Ok(replaced.await?)
}

async fn list(app: &App) -> Result<(), CliError> {
    let endpoints = app.client.endpoints().await?.items;
    if app.output.json {
        return Ok(app.output.document(&endpoints)?);
    }
    if endpoints.is_empty() {
        return Ok(app.output.line("No endpoints.")?);
    }
    let rows = endpoints.iter().map(|endpoint| {
        [
            excerpt(&endpoint.name, 40),
            format_state(app, endpoint),
            excerpt(&endpoint.url, 80),
            format_events(endpoint),
        ]
    });
    let headings = ["NAME", "STATE", "ADDRESS", "EVENTS"];
    Ok(app.output.line(&table(headings, rows))?)
}

fn format_events(endpoint: &Endpoint) -> String {
    let events = endpoint.events.iter().map(|event| event.as_str());
    events.collect::<Vec<_>>().join(", ")
}

fn format_state(app: &App, endpoint: &Endpoint) -> String {
    match (endpoint.disabled_at, endpoint.failing_since) {
        (Some(_), _) => "disabled".to_owned(),
        (None, Some(since)) => format!("failing since {}", app.time.date_time(since)),
        (None, None) => "enabled".to_owned(),
    }
}

async fn show(app: &App, given: &str) -> Result<(), CliError> {
    let endpoint = app.client.endpoint(given).await?.value;
    let id = endpoint.id.to_string();
    let sent = app
        .client
        .deliveries(&id, &PageParams::first(MAX_LISTED_DELIVERIES))
        .await?
        .items;
    if app.output.json {
        let shown = serde_json::json!({ "endpoint": endpoint, "deliveries": sent });
        return Ok(app.output.document(&shown)?);
    }
    let mut lines = vec![
        ("endpoint", id),
        ("name", excerpt(&endpoint.name, 80)),
        ("address", excerpt(&endpoint.url, 200)),
        ("state", format_state(app, &endpoint)),
        ("events", format_events(&endpoint)),
    ];
    let reason = endpoint.disabled_reason.as_deref();
    lines.extend(reason.map(|reason| ("reason", excerpt(reason, 200))));
    lines.extend(
        endpoint
            .automation_id
            .map(|id| ("automation", id.to_string())),
    );
    let channel = endpoint.channel.as_deref();
    lines.extend(channel.map(|channel| ("channel", excerpt(channel, 80))));
    for (name, value) in lines {
        app.output.line(&format!("{name:<12} {value}"))?;
    }
    if sent.is_empty() {
        return Ok(app.output.line("\nNo deliveries yet.")?);
    }
    let rows = sent.iter().map(|delivery| {
        [
            delivery.id.to_string(),
            delivery.kind.to_string(),
            delivery.state.to_string(),
            delivery.attempts.to_string(),
            app.time.date_time(delivery.created_at),
            format_last_answer(delivery),
        ]
    });
    let headings = [
        "DELIVERY",
        "EVENT",
        "STATE",
        "ATTEMPTS",
        "CREATED",
        "LAST RESPONSE",
    ];
    Ok(app.output.line(&format!("\n{}", table(headings, rows)))?)
}

fn format_last_answer(delivery: &Delivery) -> String {
    match (&delivery.last_error, delivery.last_status) {
        (Some(error), _) => excerpt(error, 80),
        (None, Some(status)) => status.to_string(),
        (None, None) => String::new(),
    }
}

fn print_delivery(
    app: &App,
    view: &api_types::DeliveryView,
    aside: Option<&str>,
) -> Result<Exit, CliError> {
    if app.output.json {
        app.output.document(view)?;
        return Ok(Exit::Done);
    }
    let delivery = &view.delivery;
    let mut lines = vec![
        ("delivery", delivery.id.to_string()),
        ("event", delivery.kind.to_string()),
        ("state", delivery.state.to_string()),
        ("attempts", delivery.attempts.to_string()),
    ];
    let next = delivery.next_attempt_at;
    lines.extend(next.map(|next| ("next attempt", app.time.date_time(next))));
    for (name, value) in lines {
        app.output.line(&format!("{name:<12} {value}"))?;
    }
    if !view.log.is_empty() {
        let rows = view.log.iter().map(|attempt| {
            let answer = match (&attempt.error, attempt.status) {
                (Some(error), _) => excerpt(error, 80),
                (None, Some(status)) => status.to_string(),
                (None, None) => String::new(),
            };
            [
                attempt.number.to_string(),
                app.time.date_time(attempt.started_at),
                answer,
            ]
        });
        let log = table(["ATTEMPT", "AT", "RESPONSE"], rows);
        app.output.line(&format!("\n{log}"))?;
    }
    if let Some(aside) = aside {
        app.output.aside(aside);
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_overlap_is_zero_to_thirty_days() {
        for (text, seconds) in [("0", 0), ("0s", 0), ("90m", 5400), ("30d", 2_592_000)] {
            assert_eq!(parse_overlap(text), Ok(seconds), "{text}");
        }
        for text in ["", "1", "-1s", "31d", "30d1s", "soon"] {
            let refused = parse_overlap(text).unwrap_err();
            assert!(refused.contains("0s to 30d"), "{text}: {refused}");
        }
    }
}
