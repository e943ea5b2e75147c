//! `matins agent show`: prints the configuration of an agent, without starting it.

use api_types::PermissionRules;
use model::permission::Verdict;

use super::check::format_tools;
use crate::{
    app::App,
    error::CliError,
    output::{clean, excerpt, field_row, one_line},
};

/// The maximum number of characters of a shown value.
const MAX_VALUE_CHARS: usize = 200;

pub(super) async fn show(app: &App, name: &str) -> Result<(), CliError> {
    let agent = app.client.agent(name).await?.value;
    if app.output.json {
        return Ok(app.output.document(&agent)?);
    }
    let config = &agent.config;
    let joined =
        |names: Vec<&str>| (!names.is_empty()).then(|| excerpt(&names.join(" "), MAX_VALUE_CHARS));
    let settings: Vec<_> = config
        .settings
        .iter()
        .map(|(id, value)| format!("{id}={value}"))
        .collect();
    let fields = [
        (
            "command",
            joined(config.command.iter().map(String::as_str).collect()),
        ),
        (
            "env",
            joined(config.env.keys().map(String::as_str).collect()),
        ),
        (
            "pass env",
            joined(config.pass_env.iter().map(String::as_str).collect()),
        ),
        ("sign-in", config.authenticate.clone()),
        ("mode", config.mode.clone()),
        (
            "settings",
            joined(settings.iter().map(String::as_str).collect()),
        ),
        ("restore", Some(config.restore.to_string())),
        ("rules", format_rules(&config.permissions)),
        ("tools", Some(format_tools(config))),
    ];
    app.output.line(&clean(&agent.name))?;
    for (name, value) in fields {
        if let Some(value) = value {
            app.output.line(&field_row(name, &one_line(&value)))?;
        }
    }
    Ok(())
}

/// Formats rules as the options that set them. Returns `None` if there are none.
fn format_rules(rules: &PermissionRules) -> Option<String> {
    let rules: Vec<_> = rules
        .0
        .iter()
        .map(|rule| {
            let option = match rule.verdict {
                Verdict::Allow => "--allow",
                Verdict::Deny => "--deny",
            };
            match &rule.title {
                Some(title) => format!("{option} \"{}:{title}\"", rule.tool),
                None => format!("{option} \"{}\"", rule.tool),
            }
        })
        .collect();
    (!rules.is_empty()).then(|| rules.join(" "))
}
