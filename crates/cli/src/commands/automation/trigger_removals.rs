//! Selects the triggers that an edit removes.

use api_types::{AutomationRequest, AutomationView, Trigger, TriggerRequest, TriggerSpec};
use model::TriggerId;

use crate::error::{CliError, Exit};

/// The triggers that an edit removes.
pub(super) struct TriggerRemovals<'a> {
    /// The triggers whose specification is unique in the automation. The edit removes them by omitting them.
    unique: Vec<&'a Trigger>,
    /// The triggers with an identical twin, such as a second webhook. An edit request contains no IDs, so it cannot
    /// distinguish them; they are removed by ID after the edit.
    pub(super) by_id: Vec<TriggerId>,
}

impl<'a> TriggerRemovals<'a> {
    /// Finds the triggers that the user named.
    pub(super) fn find(given: &[String], seen: &'a AutomationView) -> Result<Self, CliError> {
        let mut removals = Self {
            unique: Vec::new(),
            by_id: Vec::new(),
        };
        for given in given {
            let found = find_trigger(given, seen)?;
            let twins = seen.triggers.iter().filter(|it| it.spec == found.spec);
            if removals.unique.iter().any(|it| it.id == found.id) {
                continue;
            }
            if twins.count() == 1 {
                removals.unique.push(found);
            } else if !removals.by_id.contains(&found.id) {
                removals.by_id.push(found.id);
            }
        }
        Ok(removals)
    }

    /// Removes the triggers with a unique specification from the request.
    pub(super) fn apply(&self, request: &mut AutomationRequest) {
        let removed: Vec<_> = self
            .unique
            .iter()
            .filter_map(|trigger| TriggerRequest::of(&trigger.spec))
            .collect();
        request
            .triggers
            .retain(|trigger| !removed.contains(trigger));
    }
}

/// Returns the trigger with the given ID, ID prefix or specification. Fails if there is none or more than one.
fn find_trigger<'a>(given: &str, seen: &'a AutomationView) -> Result<&'a Trigger, CliError> {
    let name = &seen.automation.name;
    let timed = || {
        let triggers = seen.triggers.iter();
        triggers.filter(|trigger| trigger.spec != TriggerSpec::Manual {})
    };
    let by_id: Vec<_> = timed()
        .filter(|trigger| id_starts_with(trigger.id, given))
        .collect();
    let found = if by_id.is_empty() {
        timed()
            .filter(|trigger| matches_spec(&trigger.spec, given))
            .collect()
    } else {
        by_id
    };
    match found[..] {
        [trigger] => Ok(trigger),
        [] => {
            let message = format!("the automation `{name}` has no trigger `{given}`");
            Err(
                CliError::message(Exit::NotFound, message).with_hint(format!(
                    "`matins automation show {name}` lists its triggers"
                )),
            )
        }
        _ => {
            let several = found
                .iter()
                .map(|trigger| format!("{} ({})", trigger.id, trigger.spec));
            let several = several.collect::<Vec<_>>().join(", ");
            let message =
                format!("the trigger `{given}` of the automation `{name}` is ambiguous: {several}");
            Err(CliError::message(Exit::NotFound, message)
                .with_hint("give a longer prefix of the ID"))
        }
    }
}

/// `true` if the ID begins with `given`, with or without the prefix `trg_`.
fn id_starts_with(id: TriggerId, given: &str) -> bool {
    let bare = given.strip_prefix("trg_").unwrap_or(given);
    let shown = id.to_string();
    let digits = shown.strip_prefix("trg_").unwrap_or(&shown);
    !bare.is_empty() && digits.starts_with(bare)
}

/// `true` if the trigger has this specification, written with or without its zone.
fn matches_spec(spec: &TriggerSpec, given: &str) -> bool {
    let alone = match spec {
        TriggerSpec::Cron { expression, .. } => expression == given,
        TriggerSpec::Every { period, .. } => period.to_string() == given,
        TriggerSpec::At { at, .. } => at.to_string() == given,
        TriggerSpec::Webhook {} => given == "webhook",
        TriggerSpec::Manual {} => false,
    };
    alone || spec.to_string() == given
}
