//! `matins endpoint`: manages the endpoints of outgoing notifications.

use api_types::{
    Delivery, Endpoint, EndpointRequest, MAX_OVERLAP_SECONDS, NotificationKind, RotationRequest,
};
use clap::Subcommand;
use client::PageParams;

use crate::{
    app::App,
    commands::options::parse_seconds,
    error::{CliError, Exit},
    output::{excerpt, table},
};

/// The number of deliveries that `show` lists.
const MAX_LISTED_DELIVERIES: u32 = 20;

/// Endpoints: addresses to which notifications go, signed
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Add an endpoint and print the secret that signs what it is sent, this one time
    Add {
        /// Its name
        name: String,
        /// Where it is, such as `https://example.org/matins`
        url: String,
        /// What it is told of, such as run.failed; may be given again
        #[arg(long = "event", value_name = "EVENT", required = true)]
        events: Vec<NotificationKind>,
        /// The only automation of which it is told
        #[arg(long)]
        automation: Option<String>,
        /// The only channel of whose sessions it is told, such as slack
        #[arg(long)]
        channel: Option<String>,
    },
    /// Change an endpoint; what is not named stays
    Edit {
        #[command(flatten)]
        selector: EndpointSelector,
        /// Another name
        #[arg(long)]
        name: Option<String>,
        /// Another address
        #[arg(long)]
        url: Option<String>,
        /// What it is told of instead; may be given again
        #[arg(long = "event", value_name = "EVENT")]
        events: Vec<NotificationKind>,
    },
    /// List the endpoints by name
    List,
    /// Show an endpoint with what it was sent last
    Show(EndpointSelector),
    /// Remove an endpoint with what it was sent
    Delete(EndpointSelector),
    /// Send an endpoint nothing more until it is enabled
    Disable(EndpointSelector),
    /// Let an endpoint be sent notifications again
    Enable(EndpointSelector),
    /// Send an endpoint something that tells nothing, to see whether it arrives
    Test(EndpointSelector),
    /// Make another secret and print it; the one before holds as well for a while
    RotateSecret {
        #[command(flatten)]
        selector: EndpointSelector,
        /// How long the one before holds as well: 0s to 30d
        #[arg(long, value_name = "PERIOD", default_value = "1d", value_parser = parse_overlap)]
        overlap: u32,
    },
    /// Show something that was sent, with each attempt
    Delivery {
        /// The delivery, by its id
        delivery: String,
    },
    /// Try something that was sent once more
    Redeliver {
        /// The delivery, by its id
        delivery: String,
    },
}

#[derive(Debug, clap::Args)]
struct EndpointSelector {
    /// The endpoint: its name or its id
    endpoint: String,
}

pub(crate) async fn run(args: Args, app: &App) -> Result<Exit, CliError> {
    let (endpoint, told) = match args.command {
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
            let told =
                "It is sent by whoever serves; `matins endpoint delivery` shows what became of it.";
            return print_delivery(app, &sent, Some(told));
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
            return print_delivery(
                app,
                &again,
                Some("It is tried once more by whoever serves."),
            );
        }
    };
    if app.output.json {
        app.output.document(&endpoint)?;
    } else {
        let name = excerpt(&endpoint.name, 80);
        app.output
            .line(&format!("{told} {name} ({}).", endpoint.id))?;
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
    let made = app.client.create_endpoint(request).await?;
    if app.output.json {
        return Ok(app.output.document(&made)?);
    }
    let Some(secret) = &made.secret else {
        let message = "show the secret: the endpoint was made, and its secret was lost on its way";
        return Err(CliError::message(Exit::Failed, message).with_hint(format!(
            "`matins endpoint rotate-secret {}` makes another one",
            made.endpoint.id
        )));
    };
    app.output.line(secret)?;
    app.output.aside(&format!(
        "This secret signs what {} is sent: it is shown this one time.",
        made.endpoint.id
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
        return Ok(app.output.line("\nNothing was sent yet.")?);
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
        "MADE",
        "LAST ANSWER",
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
    lines.extend(next.map(|next| ("next try", app.time.date_time(next))));
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
        let log = table(["ATTEMPT", "AT", "ANSWER"], rows);
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
