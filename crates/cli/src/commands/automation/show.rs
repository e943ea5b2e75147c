//! Prints automations.

use api_types::{
    Automation, AutomationItem, AutomationPage, AutomationView, BudgetUsage, MAX_PAGE_ITEMS,
    NewerFormat, Trigger, TriggerSpec, UnreadableAutomation, UpcomingRun,
};
use client::{AutomationFilter, PageParams};
use model::{
    approval::OnUnmatched, automation::AutomationState, policy::Policies, schedule::QuietHours,
};
use serde::Serialize;

use crate::{
    app::App,
    commands::{
        budget,
        options::format_period,
        run::{RunRow, runs_table},
    },
    error::CliError,
    local_zone::ChosenZone,
    output::{ATTENTION, BOLD, Output, clean, excerpt, field_row, one_line, paint, table},
};

/// The number of columns of the list.
const LIST_COLUMNS: usize = 8;

/// An entry of the list.
#[derive(Serialize)]
#[serde(untagged)]
enum ListEntry<'a> {
    Readable(&'a AutomationItem),
    Unreadable(&'a UnreadableAutomation),
}

fn list_row(item: &AutomationItem) -> [String; LIST_COLUMNS] {
    let next = item.next_run.as_ref();
    let last = item.outcomes.first();
    [
        excerpt(&item.name, 40),
        item.state.to_string(),
        format_schedules(&item.triggers).join(", "),
        item.session_mode.to_string(),
        item.agent.clone(),
        next.map(|run| run.display.clone()).unwrap_or_default(),
        last.map(|run| run.status.to_string()).unwrap_or_default(),
        format_attention(item),
    ]
}

/// Formats the reason why the automation needs attention, on one line.
fn format_attention(item: &AutomationItem) -> String {
    match (&item.newer_format, &item.removed_instance, &item.attention) {
        (Some(newer), ..) => format_too_new(*newer),
        (None, Some(instance), _) => format_removed_instance(instance),
        (None, None, Some(text)) => excerpt(text, 60),
        (None, None, None) => String::new(),
    }
}

fn format_removed_instance(name: &str) -> String {
    format!(
        "its instance {} was removed: its runs fail",
        excerpt(name, 40)
    )
}

fn format_too_new(NewerFormat { needed, honoured }: NewerFormat) -> String {
    format!("needs document format {needed}, but this server supports formats up to {honoured}")
}

/// Returns all automations by name, or only those whose turns go to `session`. Reads them page by page.
async fn all_automations(app: &App, session: Option<String>) -> Result<AutomationPage, CliError> {
    let mut all = AutomationPage::default();
    let mut filter = AutomationFilter {
        session,
        page: PageParams::first(MAX_PAGE_ITEMS),
        ..AutomationFilter::default()
    };
    loop {
        let page = app.client.automations(&filter).await?;
        all.items.extend(page.items);
        all.unreadable.extend(page.unreadable);
        if page.next.is_none() {
            break;
        }
        filter.page.after = page.next;
    }
    all.items.sort_by(|left, right| left.name.cmp(&right.name));
    all.unreadable
        .sort_by(|left, right| left.name.cmp(&right.name));
    Ok(all)
}

pub(super) async fn list(app: &App, session: Option<String>) -> Result<(), CliError> {
    let in_session = session.is_some();
    let list = all_automations(app, session).await?;
    if app.output.json {
        let views = list.items.iter().map(ListEntry::Readable);
        let unreadable = list.unreadable.iter().map(ListEntry::Unreadable);
        let all: Vec<_> = views.chain(unreadable).collect();
        return Ok(app.output.document(&all)?);
    }
    if list.items.is_empty() && list.unreadable.is_empty() && in_session {
        return Ok(app.output.line("No automation uses this session.")?);
    }
    if list.items.is_empty() && list.unreadable.is_empty() {
        return Ok(app
            .output
            .line("No automations. `matins automation add --help` shows how to add one.")?);
    }
    let whole = list.items.iter().map(list_row);
    let unreadable = list.unreadable.iter().map(|broken| {
        let mut row = [const { String::new() }; LIST_COLUMNS];
        row[0] = excerpt(&broken.name, 40);
        row[1] = "unreadable".into();
        row[LIST_COLUMNS - 1] = excerpt(&broken.unreadable, 200);
        row
    });
    let rows = whole.chain(unreadable);
    let headings = [
        "NAME",
        "STATE",
        "SCHEDULE",
        "SESSION",
        "AGENT",
        "NEXT RUN",
        "LAST RUN",
        "ATTENTION",
    ];
    Ok(app.output.line(&table(headings, rows))?)
}

/// Prints the result of a change: the action, the automation, the zone that the command has chosen, and the next runs.
pub(super) fn print_result(
    app: &App,
    view: &AutomationView,
    action: &str,
    zone: Option<&ChosenZone>,
) -> Result<(), CliError> {
    if app.output.json {
        if let Some(zone) = zone {
            zone.print(app.output)?;
        }
        return Ok(app.output.document(view)?);
    }
    let name = paint(BOLD, &one_line(&view.automation.name));
    let id = view.automation.id;
    app.output.line(&format!("{action} {name} ({id})"))?;
    if let Some(zone) = zone {
        zone.print(app.output)?;
    }
    print_upcoming_runs(app, view)
}

/// An automation with its usage.
#[derive(Serialize)]
struct AutomationDetails<'a> {
    #[serde(flatten)]
    view: &'a AutomationView,
    usage: &'a BudgetUsage,
}

/// Returns the rows about the rights of agents, and about the agent that has made the automation.
fn rows_about_agents(
    app: &App,
    automation: &Automation,
    policies: &Policies,
) -> [(&'static str, Option<String>); 5] {
    let default = Policies::default();
    let made_by = automation.made_by.as_ref().map(|made_by| {
        format!(
            "the agent of session {}, as `{}` in run {}",
            made_by.session_id,
            one_line(&made_by.name),
            made_by.run_id
        )
    });
    let (tools, agent_cron) = (policies.tools, policies.agent_cron);
    [
        ("tools", (tools != default.tools).then(|| tools.to_string())),
        (
            "agent cron",
            (agent_cron != default.agent_cron).then(|| agent_cron.to_string()),
        ),
        (
            "run reports",
            (policies.run_reports != default.run_reports).then(|| policies.run_reports.to_string()),
        ),
        ("made by", made_by),
        (
            "expires",
            automation.expires_at.map(|end| app.time.date_time(end)),
        ),
    ]
}

pub(super) async fn print_details(app: &App, view: &AutomationView) -> Result<(), CliError> {
    let id = view.automation.id.to_string();
    let usage = &app.client.automation_usage(&id).await?;
    if app.output.json {
        return Ok(app.output.document(&AutomationDetails { view, usage })?);
    }
    let automation = &view.automation;
    let output = app.output;
    // 1. The name, and the reasons for attention.
    output.line(&format!(
        "{}  {}",
        paint(BOLD, &one_line(&automation.name)),
        automation.id
    ))?;
    print_warnings(output, view)?;
    // 2. The properties and policies.
    let policies = Policies::from(automation.policies.clone());
    let session = match (&view.session, &automation.bound_session_key) {
        (_, Some(key)) => format!("bound to {key}"),
        (Some(session), None) => format!("{}, now {}", automation.session_mode, session.id),
        (None, None) => automation.session_mode.to_string(),
    };
    for (name, value) in [
        ("state", Some(format_state(automation))),
        (
            "schedule",
            Some(format_schedules(&view.triggers).join(", ")),
        ),
        ("session", Some(session)),
        ("agent", Some(view.agent.clone())),
        ("directory", automation.cwd.clone()),
        ("instance", format_instance(view)),
        ("overlap", Some(view.overlap.to_string())),
        (
            "catch-up",
            Some(format!(
                "{} within {}",
                policies.catch_up,
                format_period(policies.catch_up_window_seconds)
            )),
        ),
        (
            "quiet hours",
            format_quiet_hours(&policies.quiet_hours, &view.triggers),
        ),
        (
            "limits",
            Some(format!(
                "{} per turn, {} of inactivity, {} attempts",
                format_period(policies.timeout_seconds.into()),
                format_period(policies.inactivity_seconds.into()),
                policies.retry.attempts
            )),
        ),
        ("budget", budget::format_limits(&policies.budget)),
        ("used", budget::format_usage(usage)),
        (
            "unmatched",
            (policies.on_unmatched == OnUnmatched::RequestApproval).then(|| {
                let wait = format_period(policies.ask_seconds.into());
                format!("ask a person, for at most {wait}")
            }),
        ),
        (
            "precheck",
            policies
                .precheck
                .as_ref()
                .map(super::policies::format_precheck),
        ),
        (
            "failures",
            Some(automation.consecutive_failures)
                .filter(|failures| *failures > 0)
                .map(|failures| format!("{failures} in a row")),
        ),
    ]
    .into_iter()
    .chain(rows_about_agents(app, automation, &policies))
    {
        if let Some(value) = value {
            output.line(&field_row(name, &value))?;
        }
    }
    // 3. The prompt, the triggers, the next runs and the last runs.
    output.line(&format!(
        "\nPrompt\n{}\n",
        clean(automation.prompt.trim_end())
    ))?;
    let timed: Vec<_> = non_manual_triggers(&view.triggers).collect();
    if timed.len() > 1 {
        output.line("Triggers")?;
        for trigger in timed {
            output.line(&format!("  {}  {}", trigger.id, trigger.spec))?;
        }
        output.line("")?;
    }
    print_upcoming_runs(app, view)?;
    print_last_runs(app, view)
}

/// Formats quiet hours with the zone that they have for each kind of trigger. Returns `None` if there are none.
fn format_quiet_hours(hours: &QuietHours, triggers: &[Trigger]) -> Option<String> {
    if *hours == QuietHours::default() {
        return None;
    }
    let mut zones: Vec<&str> = triggers
        .iter()
        .filter_map(|trigger| match &trigger.spec {
            TriggerSpec::Cron { zone, .. }
            | TriggerSpec::Every { zone, .. }
            | TriggerSpec::At { zone, .. } => Some(zone.as_str()),
            TriggerSpec::Webhook {} => Some("UTC for webhooks"),
            TriggerSpec::Manual {} => None,
        })
        .collect();
    zones.sort_unstable();
    zones.dedup();
    Some(if zones.is_empty() {
        format!("{hours} (not for runs on demand)")
    } else {
        format!("{hours} ({})", zones.join(", "))
    })
}

fn format_state(automation: &Automation) -> String {
    match &automation.pause_reason {
        Some(reason) => format!("{}: {reason}", automation.state),
        None => automation.state.to_string(),
    }
}

/// Formats the instance on which the turns are placed. Returns `None` if they are not placed.
fn format_instance(view: &AutomationView) -> Option<String> {
    let id = view.automation.placed_on?;
    Some(match (&view.instance, &view.removed_instance) {
        (Some(name), _) => excerpt(name, 80),
        (None, Some(name)) => format!("{}, which was removed", excerpt(name, 80)),
        (None, None) => format!("{id}, which was removed"),
    })
}

fn print_last_runs(app: &App, view: &AutomationView) -> Result<(), CliError> {
    if !view.last_runs.is_empty() {
        let name = excerpt(&view.automation.name, 40);
        let rows = view
            .last_runs
            .iter()
            .map(|run| RunRow::new(run, name.clone()));
        let runs = runs_table(app, rows);
        app.output.line(&format!("\nLast runs\n{runs}"))?;
    }
    Ok(())
}

/// Prints the reasons why the automation needs attention.
fn print_warnings(output: Output, view: &AutomationView) -> Result<(), CliError> {
    if let Some(attention) = &view.automation.attention {
        output.line(&paint(ATTENTION, &format!("  {}", one_line(attention))))?;
    }
    if let Some(instance) = &view.removed_instance {
        let text = format!("  {}", format_removed_instance(instance));
        output.line(&paint(ATTENTION, &text))?;
    }
    if let Some(newer) = view.newer_format {
        let text = format!(
            "  {}: it does not run on this server, and is shown only in part",
            format_too_new(newer)
        );
        output.line(&paint(ATTENTION, &text))?;
    }
    Ok(())
}

fn print_upcoming_runs(app: &App, view: &AutomationView) -> Result<(), CliError> {
    if view.upcoming_runs.is_empty() {
        let reason = match view.automation.state {
            AutomationState::Paused => "It is paused, so it has no next run.",
            _ => "It has no next run by time; `matins automation fire` runs it now.",
        };
        return Ok(app.output.line(reason)?);
    }
    let spread = match view.automation.policies.jitter_seconds {
        0 => String::new(),
        seconds => format!(", each up to {} later", format_period(seconds.into())),
    };
    app.output.line(&format!("Next runs{spread}"))?;
    print_instants(app, &view.upcoming_runs)
}

/// Prints due times, one per line.
pub(super) fn print_instants(app: &App, runs: &[UpcomingRun]) -> Result<(), CliError> {
    for UpcomingRun {
        display,
        in_quiet_hours,
        ..
    } in runs
    {
        let remark = if *in_quiet_hours {
            "  (quiet hours: will be skipped)"
        } else {
            ""
        };
        app.output.line(&format!("  {display}{remark}"))?;
    }
    Ok(())
}

/// Formats the schedules of an automation. Every automation has a manual trigger, so that one counts only if it is the
/// only trigger.
fn format_schedules(triggers: &[Trigger]) -> Vec<String> {
    let timed: Vec<_> = non_manual_triggers(triggers)
        .map(|trigger| trigger.spec.to_string())
        .collect();
    if timed.is_empty() {
        vec!["on demand".into()]
    } else {
        timed
    }
}

/// Returns all triggers except the manual one.
fn non_manual_triggers(triggers: &[Trigger]) -> impl Iterator<Item = &Trigger> {
    triggers
        .iter()
        .filter(|trigger| trigger.spec != TriggerSpec::Manual {})
}
