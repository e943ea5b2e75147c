//! Prints automations.

use api_types::{
    AutomationPage, AutomationView, Fire, MAX_PAGE_ITEMS, NewerFormat, Spending, Trigger,
    TriggerSpec, UnreadableAutomation,
};
use client::{AutomationFilter, Part};
use model::{approval::Unruled, automation::AutomationState, policy::Policies};
use serde::Serialize;

use crate::{
    app::App,
    commands::{budget, options::length, run::runs_table},
    failure::Failure,
    output::{ATTENTION, BOLD, Output, clean, excerpt, paint, table},
};

/// The number of columns of the list.
const COLUMNS: usize = 8;

/// An entry of the list.
#[derive(Serialize)]
#[serde(untagged)]
enum Listed<'a> {
    Whole(&'a AutomationView),
    Unreadable(&'a UnreadableAutomation),
}

fn row(view: &AutomationView) -> [String; COLUMNS] {
    let next = view.next_fires.first();
    let last = view.last_runs.first();
    [
        excerpt(&view.automation.name, 40),
        view.automation.state.to_string(),
        schedules(view).join(", "),
        view.automation.session_mode.to_string(),
        view.agent.clone(),
        next.map(|fire| fire.shown.clone()).unwrap_or_default(),
        last.map(|run| run.status.to_string()).unwrap_or_default(),
        attention(view),
    ]
}

/// Formats the reason why the automation needs attention, on one line.
fn attention(view: &AutomationView) -> String {
    match (&view.newer_format, &view.automation.attention) {
        (Some(newer), _) => too_new(*newer),
        (None, Some(text)) => excerpt(text, 60),
        (None, None) => String::new(),
    }
}

fn too_new(NewerFormat { needed, honoured }: NewerFormat) -> String {
    format!("needs format {needed}, this server honours {honoured}")
}

/// Returns all automations by name, or only those whose turns go to `session`. Reads them page by page.
async fn all(app: &App, session: Option<String>) -> Result<AutomationPage, Failure> {
    let mut all = AutomationPage::default();
    let mut filter = AutomationFilter {
        session,
        part: Part::first(MAX_PAGE_ITEMS),
        ..AutomationFilter::default()
    };
    loop {
        let page = app.client.automations(&filter).await?;
        all.items.extend(page.items);
        all.unreadable.extend(page.unreadable);
        if page.next.is_none() {
            break;
        }
        filter.part.after = page.next;
    }
    all.items
        .sort_by(|one, other| one.automation.name.cmp(&other.automation.name));
    all.unreadable
        .sort_by(|one, other| one.name.cmp(&other.name));
    Ok(all)
}

pub(super) async fn list(app: &App, session: Option<String>) -> Result<(), Failure> {
    let in_session = session.is_some();
    let list = all(app, session).await?;
    if app.output.json {
        let views = list.items.iter().map(Listed::Whole);
        let unreadable = list.unreadable.iter().map(Listed::Unreadable);
        let all: Vec<_> = views.chain(unreadable).collect();
        return Ok(app.output.document(&all)?);
    }
    if list.items.is_empty() && list.unreadable.is_empty() && in_session {
        return Ok(app.output.line("No automations go to it.")?);
    }
    if list.items.is_empty() && list.unreadable.is_empty() {
        return Ok(app
            .output
            .line("No automations. `matins automation add --help` shows how to make one.")?);
    }
    let whole = list.items.iter().map(row);
    let unreadable = list.unreadable.iter().map(|broken| {
        let mut row = [const { String::new() }; COLUMNS];
        row[0] = excerpt(&broken.name, 40);
        row[1] = "unreadable".into();
        row[COLUMNS - 1] = excerpt(&broken.unreadable, 200);
        row
    });
    let rows = whole.chain(unreadable);
    let headings = [
        "NAME",
        "STATE",
        "SCHEDULE",
        "SESSION",
        "AGENT",
        "NEXT FIRE",
        "LAST RUN",
        "ATTENTION",
    ];
    Ok(app.output.line(&table(headings, rows))?)
}

/// Prints the result of a change: the automation and its next runs.
pub(super) fn answer(app: &App, view: &AutomationView, told: &str) -> Result<(), Failure> {
    if app.output.json {
        return Ok(app.output.document(view)?);
    }
    let name = paint(BOLD, &view.automation.name);
    let id = view.automation.id;
    app.output.line(&format!("{told} {name} ({id})"))?;
    fires(app, view)
}

/// An automation with its usage.
#[derive(Serialize)]
struct Whole<'a> {
    #[serde(flatten)]
    view: &'a AutomationView,
    spending: &'a Spending,
}

pub(super) async fn whole(app: &App, view: &AutomationView) -> Result<(), Failure> {
    let id = view.automation.id.to_string();
    let spending = &app.client.automation_usage(&id).await?;
    if app.output.json {
        return Ok(app.output.document(&Whole { view, spending })?);
    }
    let automation = &view.automation;
    let output = app.output;
    // 1. The name, and the reasons for attention.
    output.line(&format!(
        "{}  {}",
        paint(BOLD, &automation.name),
        automation.id
    ))?;
    warnings(output, view)?;
    // 2. The properties and policies.
    let policies = Policies::from(automation.policies.clone());
    let session = match (&view.session, &automation.bound_session_key) {
        (_, Some(key)) => format!("bound to {key}"),
        (Some(session), None) => format!("{}, now {}", automation.session_mode, session.id),
        (None, None) => automation.session_mode.to_string(),
    };
    let state = match &automation.pause_reason {
        Some(reason) => format!("{}: {reason}", automation.state),
        None => automation.state.to_string(),
    };
    for (name, value) in [
        ("state", Some(state)),
        ("schedule", Some(schedules(view).join(", "))),
        ("session", Some(session)),
        ("agent", Some(view.agent.clone())),
        ("directory", automation.cwd.clone()),
        ("overlap", Some(view.overlap.to_string())),
        (
            "catch-up",
            Some(format!(
                "{} within {}",
                policies.catch_up,
                length(policies.catch_up_window_seconds)
            )),
        ),
        (
            "quiet",
            Some(policies.quiet_hours.to_string()).filter(|hours| !hours.is_empty()),
        ),
        (
            "limits",
            Some(format!(
                "{} a turn, {} of silence, {} attempts",
                length(policies.timeout_seconds.into()),
                length(policies.inactivity_seconds.into()),
                policies.retry.attempts
            )),
        ),
        ("budget", budget::limits(&policies.budget)),
        ("used", budget::used(spending)),
        (
            "unruled",
            (policies.unruled == Unruled::Ask).then(|| {
                let wait = length(policies.ask_seconds.into());
                format!("ask a person, for {wait} at the most")
            }),
        ),
        (
            "precheck",
            policies.precheck.as_ref().map(super::policies::shown),
        ),
        (
            "failures",
            Some(automation.consecutive_failures)
                .filter(|failures| *failures > 0)
                .map(|failures| format!("{failures} in a row")),
        ),
    ] {
        if let Some(value) = value {
            output.line(&format!("  {name:12}{}", clean(&value)))?;
        }
    }
    // 3. The prompt, the triggers, the next runs and the last runs.
    output.line(&format!(
        "\nPrompt\n{}\n",
        clean(automation.prompt.trim_end())
    ))?;
    let timed: Vec<_> = timed(view).collect();
    if timed.len() > 1 {
        output.line("Triggers")?;
        for trigger in timed {
            output.line(&format!("  {}  {}", trigger.id, trigger.spec))?;
        }
        output.line("")?;
    }
    fires(app, view)?;
    if !view.last_runs.is_empty() {
        let runs = runs_table(app, &view.last_runs).await?;
        output.line(&format!("\nLast runs\n{runs}"))?;
    }
    Ok(())
}

/// Prints the reasons why the automation needs attention.
fn warnings(output: Output, view: &AutomationView) -> Result<(), Failure> {
    if let Some(attention) = &view.automation.attention {
        output.line(&paint(ATTENTION, &format!("  {}", clean(attention))))?;
    }
    if let Some(newer) = view.newer_format {
        let text = format!(
            "  {}: it does not run here, and shows only a part",
            too_new(newer)
        );
        output.line(&paint(ATTENTION, &text))?;
    }
    Ok(())
}

fn fires(app: &App, view: &AutomationView) -> Result<(), Failure> {
    if view.next_fires.is_empty() {
        let why = match view.automation.state {
            AutomationState::Paused => "It is paused, so nothing is due.",
            _ => "Nothing is due by time; `matins automation fire` runs it.",
        };
        return Ok(app.output.line(why)?);
    }
    let spread = match view.automation.policies.jitter_seconds {
        0 => String::new(),
        seconds => format!(", each up to {} later", length(seconds.into())),
    };
    app.output.line(&format!("Next fires{spread}"))?;
    instants(app, &view.next_fires)
}

/// Prints due times, one per line.
pub(super) fn instants(app: &App, fires: &[Fire]) -> Result<(), Failure> {
    for Fire { shown, quiet, .. } in fires {
        let quiet = if *quiet {
            "  (quiet hours: will be skipped)"
        } else {
            ""
        };
        app.output.line(&format!("  {shown}{quiet}"))?;
    }
    Ok(())
}

/// Returns the schedules of an automation. Every automation has a manual trigger, so that one counts only if it is
/// the only trigger.
fn schedules(view: &AutomationView) -> Vec<String> {
    let timed: Vec<_> = timed(view)
        .map(|trigger| trigger.spec.to_string())
        .collect();
    if timed.is_empty() {
        vec!["on demand".into()]
    } else {
        timed
    }
}

/// Returns all triggers except the manual one.
fn timed(view: &AutomationView) -> impl Iterator<Item = &Trigger> {
    view.triggers
        .iter()
        .filter(|trigger| trigger.spec != TriggerSpec::Manual {})
}
