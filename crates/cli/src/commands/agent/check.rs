//! `matins agent check`: probes an agent and prints its features, its limits and the missing steps of its setup.

use std::time::Duration;

use api_types::{
    AgentConfig, CheckDepth, CheckResponse, LimitsEnforcedBy, ResourceLimits, RestoreProbe,
    SessionProbe, SignIn,
};

use super::{
    offers::{format_agent_version, format_restore_method},
    own_tools::format_own_tools,
};
use crate::{
    app::App,
    error::{CliError, Exit},
    output::{ATTENTION, BAD, GOOD, continued, excerpt, one_line, paint},
};

/// The maximum number of settings of an agent that are shown.
const MAX_SHOWN_SETTINGS: usize = 8;
/// The maximum number of characters of a shown value.
const MAX_VALUE_CHARS: usize = 60;
/// The width of the names of the rows.
const NAME_COLUMNS: usize = 12;

pub(super) async fn check(app: &App, name: &str, depth: CheckDepth) -> Result<Exit, CliError> {
    let checked = app.client.check_agent(name, depth).await?;
    let usable = is_usable(&checked);
    if app.output.json {
        app.output.document(&checked)?;
    } else {
        app.output.line(&format_check(&checked))?;
    }
    Ok(if usable { Exit::Done } else { Exit::Failed })
}

/// `true` if the agent can take a turn: it opened a session and, if that was tried, restored it.
fn is_usable(checked: &CheckResponse) -> bool {
    let opened = matches!(checked.findings.session, Some(SessionProbe::Opened { .. }));
    let restored = !matches!(checked.findings.restore, Some(RestoreProbe::Failed { .. }));
    opened && restored
}

fn format_check(checked: &CheckResponse) -> String {
    let offers = checked.agent.offers.clone().unwrap_or_default();
    let agent = format_agent_version(&offers).unwrap_or_else(|| "an agent without a name".into());
    let mut rows = vec![
        ("sessions", format_sessions(checked)),
        ("offers", format_features(checked)),
        ("sign-in", format_sign_in(checked)),
    ];
    if let Some(session) = &checked.findings.session {
        let mut text = format_new_session(session);
        if let (SessionProbe::Failed { .. }, Some(hint)) = (session, &checked.sign_in_hint) {
            // Some agents do not report that a sign-in is missing, so print the hint after any failure.
            let hint = one_line(hint);
            text = format!(
                "{text}\n{:NAME_COLUMNS$}the sign-in may be missing: {hint}",
                ""
            );
        }
        rows.push(("session", text));
        rows.extend(setting_rows(session));
    }
    match &checked.findings.restore {
        Some(RestoreProbe::Restored { turn, took }) => {
            let text = format!(
                "a turn in {}, restored by another process in {}",
                format_seconds(*turn),
                format_seconds(*took)
            );
            rows.push(("restore", paint(GOOD, &text)));
        }
        Some(RestoreProbe::Failed { reason }) => {
            rows.push(("restore", paint(BAD, &continued(reason, NAME_COLUMNS))));
        }
        None => {}
    }
    rows.push(("tools", format_tools(&checked.agent.config)));
    rows.push(("limits", format_limits(checked)));
    rows.push(("took", format_startup(checked)));
    let version = checked.findings.protocol_version;
    let name = one_line(&checked.agent.name);
    let head = format!("{name}: {agent}, protocol version {version}");
    let rows = rows
        .into_iter()
        .map(|(name, text)| format!("  {name:<9} {text}"));
    let lines: Vec<_> = std::iter::once(head).chain(rows).collect();
    lines.join("\n")
}

/// Formats the tools of Matins that the agent gets, and the rule for its requests to use them.
pub(super) fn format_tools(config: &AgentConfig) -> String {
    format_own_tools(config.tools, &config.own_tools)
}

fn format_sessions(checked: &CheckResponse) -> String {
    if checked.can_restore {
        let by = format_restore_method(
            &checked.agent,
            &checked.agent.offers.clone().unwrap_or_default(),
        );
        let text = format!("can be restored {by}, so every kind of automation works");
        paint(GOOD, &text)
    } else {
        paint(
            ATTENTION,
            "cannot be restored: only automations with fresh sessions work",
        )
    }
}

fn format_features(checked: &CheckResponse) -> String {
    let offers = checked.agent.offers.clone().unwrap_or_default();
    let flags = [
        ("resume", offers.resume),
        ("load", offers.load),
        ("list", offers.list),
        ("close", offers.close),
        ("delete", offers.delete),
    ];
    let flags: Vec<_> = flags
        .iter()
        .filter(|(_, offered)| *offered)
        .map(|(name, _)| (*name).to_owned())
        .collect();
    let prompts = ["text".to_owned()].into_iter().chain(offers.prompts);
    let prompts: Vec<_> = prompts.collect();
    format!(
        "{}; prompts with {}; MCP servers by {}",
        format_names(&flags),
        format_names(&prompts),
        format_names(&offers.mcp)
    )
}

fn format_names(names: &[String]) -> String {
    match names {
        [] => "nothing".to_owned(),
        names => one_line(&names.join(", ")),
    }
}

/// Formats the ways to sign in if the agent requires it. Otherwise formats the ways that the agent announces.
fn format_sign_in(checked: &CheckResponse) -> String {
    let ways = &checked.findings.sign_in;
    if checked.findings.session != Some(SessionProbe::SignInNeeded) {
        let named: Vec<_> = ways.iter().map(|way| way.id.clone()).collect();
        return match (&checked.agent.config.authenticate, named.as_slice()) {
            (Some(method), _) => format!("done by {}", one_line(method)),
            (None, []) => "not required, and no method offered".to_owned(),
            (None, named) => format!("not required; methods: {}", format_names(named)),
        };
    }
    let head = paint(BAD, "required before the agent creates a session");
    let ways = ways.iter().map(format_sign_in_method);
    let lines: Vec<_> = std::iter::once(head)
        .chain(checked.sign_in_hint.as_deref().map(one_line))
        .chain(ways)
        .collect();
    lines.join(&format!("\n{:NAME_COLUMNS$}", ""))
}

fn format_sign_in_method(way: &SignIn) -> String {
    let id = excerpt(&way.id, MAX_VALUE_CHARS);
    let name = excerpt(&way.name, MAX_VALUE_CHARS);
    let how = if way.terminal {
        "at a terminal".to_owned()
    } else {
        format!("`agent add ... --authenticate {id}`")
    };
    let description = excerpt(&way.description, 2 * MAX_VALUE_CHARS);
    let description = if description.is_empty() {
        String::new()
    } else {
        format!(" {description}")
    };
    format!("{id} ({how}): {name}.{description}")
}

fn format_new_session(session: &SessionProbe) -> String {
    match session {
        SessionProbe::Opened { took, deleted, .. } => {
            let after = if *deleted {
                "and deleted again"
            } else {
                "and kept, because the agent cannot delete sessions"
            };
            format!("created in {}, {after}", format_seconds(*took))
        }
        SessionProbe::SignInNeeded => paint(BAD, "not created: the agent requires a sign-in"),
        SessionProbe::Failed { reason } => paint(BAD, &continued(reason, NAME_COLUMNS)),
    }
}

fn setting_rows(session: &SessionProbe) -> Vec<(&'static str, String)> {
    let SessionProbe::Opened {
        modes, settings, ..
    } = session
    else {
        return Vec::new();
    };
    let mut rows = Vec::new();
    if let [now, others @ ..] = modes.as_slice() {
        let shown = |mode: &String| excerpt(mode, MAX_VALUE_CHARS);
        let others = others.iter().map(|mode| format!(", {}", shown(mode)));
        rows.push((
            "modes",
            format!("{} (now){}", shown(now), others.collect::<String>()),
        ));
    }
    if !settings.is_empty() {
        let shown = settings.iter().take(MAX_SHOWN_SETTINGS);
        let shown: Vec<_> = shown
            .map(|(id, value)| {
                let id = excerpt(id, MAX_VALUE_CHARS);
                format!("{id}={}", excerpt(value, MAX_VALUE_CHARS))
            })
            .collect();
        rows.push(("settings", shown.join(", ")));
    }
    rows
}

fn format_limits(checked: &CheckResponse) -> String {
    let ResourceLimits {
        memory_bytes,
        processes,
        cpu_seconds,
        open_files,
        file_bytes,
    } = checked.agent.config.limits;
    let given = [
        memory_bytes.map(|bytes| format!("{} of memory", format_size(bytes))),
        processes.map(|count| format!("{count} processes and threads")),
        cpu_seconds.map(|seconds| format!("{seconds} s of processor time")),
        open_files.map(|count| format!("{count} open files each")),
        file_bytes.map(|bytes| format!("files up to {}", format_size(bytes))),
    ];
    let given: Vec<_> = given.into_iter().flatten().collect();
    let enforced = match &checked.findings.limits_enforced_by {
        LimitsEnforcedBy::Kernel => "enforced by the kernel".to_owned(),
        LimitsEnforcedBy::Guard { because } => {
            format!("enforced by the guard, which checks once a second ({because})")
        }
        LimitsEnforcedBy::Unknown => "not checked".to_owned(),
    };
    match given.as_slice() {
        [] => "none".to_owned(),
        given => format!("{}; {enforced}", given.join(", ")),
    }
}

fn format_startup(checked: &CheckResponse) -> String {
    let memory = checked.findings.memory_bytes.map(format_size);
    let memory = memory.map_or_else(String::new, |memory| format!(", {memory} of memory"));
    format!(
        "{} to start{memory}; {} in all",
        format_seconds(checked.findings.start),
        format_seconds(checked.took)
    )
}

fn format_seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// Formats a number of bytes.
fn format_size(bytes: u64) -> String {
    if bytes >= 1 << 20 {
        format!("{} MiB", bytes >> 20)
    } else {
        format!("{} KiB", bytes >> 10)
    }
}
