//! What the next run of an automation would be: its prompt, its session, its rules and its instants.

use std::time::Duration;

use api_types::{ClockChange, DryRun, DryRunRequest};
use model::{
    Timestamp,
    permission::PermissionRules,
    prompt::{self, PromptContext, PromptTemplate},
    schedule::{ClockChangeKind, Schedule, Spec},
};
use store::NewAutomation;

use crate::{
    Error, Service, boxed,
    edit_automation::definition_of,
    naming,
    upcoming_runs::{self, MAX_UPCOMING_RUNS},
};

/// How far ahead a change of clocks is looked for. Each zone that changes its clocks does so within a year.
const CLOCK_CHANGES_AHEAD: Duration = Duration::from_hours(366 * 24);

impl Service {
    /// Returns what the next run of an automation would be. Stores nothing, and starts no agent.
    ///
    /// # Errors
    ///
    /// Returns an error if the definition is invalid, or if the request names neither an automation nor a definition.
    #[boxed]
    pub async fn dry_run(&self, request: &DryRunRequest) -> Result<DryRun, Error> {
        let now = self.now();
        let seen = match &request.automation {
            Some(given) => Some(self.automation(given).await?),
            None => None,
        };
        let before = seen.as_ref().map(definition_of);
        let mut definition = match (&request.definition, &before) {
            (Some(definition), _) => self.define(definition, before.as_ref(), now).await?,
            (None, Some(before)) => before.clone(),
            (None, None) => {
                return Err(Error::Missing {
                    field: "definition",
                    expected: "expected `automation`, `definition` or both".into(),
                });
            }
        };
        if definition.name.is_empty() {
            definition.name = match &before {
                Some(before) => before.name.clone(),
                None => naming::derive_name(&definition.prompt),
            };
        }
        let specs = &definition.triggers;
        let quiet = &definition.policies.quiet_hours;
        let upcoming_runs = upcoming_runs::upcoming_of_triggers(
            specs.iter(),
            quiet,
            now,
            Timestamp::MAX,
            MAX_UPCOMING_RUNS,
        )?;
        let next = upcoming_runs.first().map_or(now, |run| run.at);
        let rendered = render(&definition, next, now)?;
        let agent = self.store.agent(self.scope(), definition.agent).await?;
        let mut rules = agent.config.permissions.0.clone();
        rules.extend(definition.permissions.0.iter().cloned());
        // The session is the present one only if the definition still leads there.
        let session = match (&definition.bound_session_key, &before) {
            (Some(key), _) => self
                .store
                .session_by_key(self.tenant, key)
                .await?
                .map(Into::into),
            (None, Some(before)) if before.session_mode == definition.session_mode => {
                seen.as_ref().and_then(|seen| seen.session.clone())
            }
            (None, _) => None,
        };
        let usage = match &seen {
            Some(seen) => Some(
                self.automation_usage(&seen.automation.id.to_string())
                    .await?,
            ),
            None => None,
        };
        Ok(DryRun {
            agent: agent.name,
            session_mode: definition.session_mode,
            cwd: definition
                .cwd
                .or_else(|| session.as_ref().and_then(|session| session.cwd.clone())),
            session,
            prompt: rendered.text,
            prompt_ref: rendered.prompt_ref.into(),
            scheduled_for: next,
            permissions: PermissionRules(rules).into(),
            on_unmatched: definition.policies.on_unmatched,
            usage,
            clock_changes: clock_changes(specs, now)?,
            upcoming_runs,
        })
    }
}

/// Renders the prompt of the run at an instant: of the trigger that fires then, or of a webhook or a person.
fn render(
    definition: &NewAutomation,
    at: Timestamp,
    now: Timestamp,
) -> Result<prompt::RenderedPrompt, Error> {
    let before = at.saturating_sub(Duration::from_micros(1));
    let mut fires = None;
    for spec in &definition.triggers {
        if Schedule::parse(spec)?.next_after(before.max(now)) == Some(at) {
            fires = Some(spec);
            break;
        }
    }
    let webhook = definition
        .triggers
        .iter()
        .find(|spec| **spec == Spec::Webhook {});
    let context = PromptContext {
        template: PromptTemplate::Automation {
            name: &definition.name,
        },
        content: &definition.prompt,
        trigger: fires.or(webhook),
        scheduled_for: Some(at),
        payload: None,
        interrupted: None,
        earlier_state: None,
    };
    prompt::render_turn_prompt(&context).map_err(Error::Prompt)
}

/// Returns the next change of clocks that concerns a fixed time of each trigger.
pub(crate) fn clock_changes(specs: &[Spec], now: Timestamp) -> Result<Vec<ClockChange>, Error> {
    let mut changes = Vec::new();
    for spec in specs {
        let Some(change) = Schedule::parse(spec)?.clock_change(now, now + CLOCK_CHANGES_AHEAD)
        else {
            continue;
        };
        let zone = spec.zone()?;
        let day = change.wall.strftime("%a %Y-%m-%d");
        let time = change.wall.strftime("%H:%M");
        let runs_at = change
            .at
            .jiff()
            .to_zoned(zone.jiff().clone())
            .strftime("%H:%M")
            .to_string();
        let (is_gap, text) = match change.kind {
            ClockChangeKind::Gap => {
                let text =
                    format!("{day} has no {time}, because clocks go forward; it runs at {runs_at}");
                (true, text)
            }
            ClockChangeKind::Repeat => {
                let text = format!(
                    "{day} has {time} twice, because clocks go back; it runs the first time only"
                );
                (false, text)
            }
        };
        changes.push(ClockChange {
            is_gap,
            at: change.at,
            text,
        });
    }
    changes.sort_by_key(|change| change.at);
    changes.dedup();
    Ok(changes)
}
