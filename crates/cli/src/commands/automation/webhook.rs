//! `matins automation webhook`: shows the path of a webhook and the secret that signs requests to it.

use api_types::{RotationRequest, Trigger, TriggerRequest, TriggerSpec};

use crate::{
    app::App,
    commands::{endpoint::parse_overlap, options::shell_word, secret},
    error::{CliError, Exit},
};

/// Show the secret of an automation's webhook, and the path for signed requests
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The automation: its name, its ID or a prefix of its ID
    automation: String,
    /// The trigger, by its ID or a prefix of its ID, if the automation has several webhooks
    #[arg(long)]
    trigger: Option<String>,
    /// Add a webhook to the automation
    #[arg(long, conflicts_with = "trigger")]
    add: bool,
    /// Create a new secret; the previous one stays valid for a while
    #[arg(long, conflicts_with = "add")]
    rotate: bool,
    /// The time for which the previous secret stays valid: 0s to 30d
    #[arg(
        long,
        value_name = "PERIOD",
        default_value = "1d",
        requires = "rotate",
        value_parser = parse_overlap
    )]
    overlap: u32,
}

pub(super) async fn run(args: Args, app: &App) -> Result<(), CliError> {
    let automation = &args.automation;
    let trigger = match args.trigger {
        Some(trigger) => trigger,
        None if args.add => {
            // The response does not name the new trigger, so compare it with the triggers before.
            let before = app.client.triggers(automation).await?.items;
            let webhook = TriggerRequest::Webhook {};
            let added = app.client.add_trigger(automation, &webhook, None).await?;
            let is_new = |it: &Trigger| before.iter().all(|trigger| trigger.id != it.id);
            only_webhook(automation, added.triggers.into_iter().filter(is_new))?
        }
        None => only_webhook(automation, app.client.triggers(automation).await?.items)?,
    };
    if args.rotate {
        let rotation = RotationRequest {
            overlap_seconds: args.overlap,
        };
        let client = &app.client;
        let rotated = client
            .rotate_webhook_secret(automation, &trigger, rotation)
            .await?;
        return secret::print_rotated(app, &rotated);
    }
    let found = app.client.webhook_secret(automation, &trigger).await?;
    if app.output.json {
        return Ok(app.output.document(&found)?);
    }
    app.output.line(&found.secret)?;
    app.output.aside(&format!(
        "This secret signs requests to {} of the server (Standard Webhooks).",
        found.path
    ));
    Ok(())
}

/// Returns the ID of the only webhook among the triggers. Fails if there is none or more than one.
fn only_webhook(
    automation: &str,
    triggers: impl IntoIterator<Item = Trigger>,
) -> Result<String, CliError> {
    let webhook = |trigger: &Trigger| matches!(trigger.spec, TriggerSpec::Webhook {});
    let mut webhooks = triggers.into_iter().filter(webhook).map(|it| it.id);
    match (webhooks.next(), webhooks.next()) {
        (Some(id), None) => Ok(id.to_string()),
        (None, _) => {
            let message = format!(
                "the automation `{}` has no webhook",
                automation.escape_debug()
            );
            let failure = CliError::message(Exit::NotFound, message);
            let name = shell_word(automation);
            Err(failure.with_hint(format!("`matins automation webhook {name} --add` adds one")))
        }
        (Some(one), Some(other)) => {
            let message = format!(
                "the automation `{}` has several webhooks, such as {one} and {other}",
                automation.escape_debug()
            );
            let failure = CliError::message(Exit::Usage, message);
            Err(failure.with_hint("name one with `--trigger`"))
        }
    }
}
