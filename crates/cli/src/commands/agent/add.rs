//! `matins agent add`.

use std::collections::BTreeMap;

use model::{
    agent::{AgentConfig, ResourceLimits, RestoreBy},
    tools::ToolAccess,
};

use crate::{
    app::App,
    commands::options::{RuleOptions, SettingOptions, parse_pair, shell_word},
    error::CliError,
};

#[derive(Debug, clap::Args)]
pub(super) struct AddArgs {
    /// The name of the agent
    name: String,
    /// A variable for the agent's environment; may be repeated
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = parse_pair)]
    env: Vec<(String, String)>,
    /// A variable that the agent inherits from the server's environment, such as one with an API key; may be
    /// repeated
    #[arg(long = "pass-env", value_name = "NAME")]
    pass_env: Vec<String>,
    /// The sign-in method, if the agent requires a sign-in; `matins agent check` lists the methods
    #[arg(long, value_name = "METHOD")]
    authenticate: Option<String>,
    /// The method of restoring sessions: auto, resume or load
    #[arg(long, value_name = "METHOD", default_value_t = RestoreBy::Auto)]
    restore: RestoreBy,
    /// The minimum time between the first turn of a session and its restore, in seconds [default: 0]
    #[arg(long, value_name = "SECONDS")]
    restore_after: Option<u32>,
    /// The maximum time for the agent to start, and again to create a session, in seconds [default: 60]
    #[arg(long, value_name = "SECONDS")]
    start_limit: Option<u32>,
    /// The maximum time for the agent to restore a session, in seconds [default: 120]
    #[arg(long, value_name = "SECONDS")]
    restore_limit: Option<u32>,
    /// The tools of Matins that the agent gets: all, read or none [default: all]
    #[arg(long, value_name = "TOOLS")]
    tools: Option<ToolAccess>,
    // The help is no doc comment, because Clippy demands backticks around the title.
    #[arg(
        long,
        value_name = "TITLE",
        help = "The title of the agent's permission requests for tools of Matins, with {tool} for the name of the tool, \
                such as 'mcp__matins__{tool}': they are allowed, unless a rule denies them; may be repeated"
    )]
    own_tools: Vec<String>,
    #[command(flatten)]
    limits: LimitOptions,
    #[command(flatten)]
    rules: RuleOptions,
    #[command(flatten)]
    settings: SettingOptions,
    /// The agent's program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Limits of the agent's processes.
#[derive(Debug, clap::Args)]
struct LimitOptions {
    /// The maximum memory of all its processes, such as 2G or 512M [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    memory_limit: Option<u64>,
    /// The maximum number of its processes and threads, or none for no limit [default: 4096]
    #[arg(long, value_name = "COUNT", value_parser = parse_count)]
    processes_limit: Option<CountOrNone>,
    /// The maximum processor time of all its processes, in seconds [default: no limit]
    #[arg(long, value_name = "SECONDS")]
    cpu_seconds: Option<u64>,
    /// The maximum number of open files of each process [default: no limit]
    #[arg(long, value_name = "COUNT")]
    open_files: Option<u64>,
    /// The maximum size of a file that a process writes, such as 1G [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    file_size: Option<u64>,
}

/// A number, or `None` for the word `none`. The wrapper keeps clap from treating the `Option` as an optional flag.
#[derive(Debug, Clone, Copy)]
struct CountOrNone(Option<u64>);

impl LimitOptions {
    fn resource_limits(&self) -> ResourceLimits {
        let default = ResourceLimits::default();
        ResourceLimits {
            memory_bytes: self.memory_limit,
            processes: self
                .processes_limit
                .map_or(default.processes, |count| count.0),
            cpu_seconds: self.cpu_seconds,
            open_files: self.open_files,
            file_bytes: self.file_size,
        }
    }
}

fn parse_count(text: &str) -> Result<CountOrNone, String> {
    if text == "none" {
        return Ok(CountOrNone(None));
    }
    let count = text.parse().map_err(|_| "expected a number, or none")?;
    Ok(CountOrNone(Some(count)))
}

/// Parses a size with a unit in powers of 1024.
fn parse_size(text: &str) -> Result<u64, String> {
    let accepted = "expected a number of bytes, or a number with K, M, G or T, such as 512M";
    let upper = text.trim().to_ascii_uppercase();
    let plain = upper.trim_end_matches("IB").trim_end_matches('B');
    let (digits, shift) = match plain.char_indices().next_back() {
        Some((end, 'K')) => (&plain[..end], 10),
        Some((end, 'M')) => (&plain[..end], 20),
        Some((end, 'G')) => (&plain[..end], 30),
        Some((end, 'T')) => (&plain[..end], 40),
        _ => (plain, 0),
    };
    let number: u64 = digits.trim().parse().map_err(|_| accepted)?;
    number
        .checked_mul(1 << shift)
        .ok_or_else(|| format!("the size is too large; {accepted}"))
}

pub(super) async fn add(app: &App, add: AddArgs) -> Result<(), CliError> {
    let mut config = AgentConfig::new(add.command);
    config.env = add.env.into_iter().collect::<BTreeMap<_, _>>();
    config.pass_env = add.pass_env;
    config.authenticate = add.authenticate;
    config.restore = add.restore;
    config.restore_after_seconds = add.restore_after.unwrap_or(config.restore_after_seconds);
    config.start_seconds = add.start_limit.unwrap_or(config.start_seconds);
    config.restore_seconds = add.restore_limit.unwrap_or(config.restore_seconds);
    config.tools = add.tools.unwrap_or(config.tools);
    config.own_tools = add.own_tools;
    config.limits = add.limits.resource_limits();
    config.permissions = add.rules.rules();
    let settings = add.settings.settings();
    config.mode = settings.mode;
    config.settings = settings.values;
    let agent = app
        .client
        .put_agent(&add.name, &config.into(), None)
        .await?;
    if app.output.json {
        return Ok(app.output.document(&agent)?);
    }
    app.output.line(&format!(
        "Added the agent {}. `matins agent check {}` shows its features.",
        agent.name,
        shell_word(&agent.name)
    ))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_parse_with_common_units() {
        for (text, bytes) in [
            ("1048576", 1 << 20),
            ("512M", 512 << 20),
            ("2g", 2 << 30),
            ("2 GiB", 2 << 30),
            ("64kb", 64 << 10),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "M", "-1", "1.5G", "lots", "99999999999T"] {
            let refused = parse_size(text).unwrap_err();
            assert!(refused.contains("such as 512M"), "{text}: {refused}");
        }
    }
}
