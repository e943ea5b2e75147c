//! Which triggers an edit removes.

use api_types::{AutomationRequest, AutomationView, Trigger, TriggerRequest, TriggerSpec};
use model::TriggerId;

use crate::failure::{Exit, Failure};

/// The triggers that an edit removes.
pub(super) struct Removals<'a> {
    /// Those that say what no other one says: an edit leaves them out, with everything else that it does.
    apart: Vec<&'a Trigger>,
    /// Those that have a twin, such as a second webhook: only their ids tell them apart, and an edit names
    /// none. They go after it.
    pub(super) by_id: Vec<TriggerId>,
}

impl<'a> Removals<'a> {
    /// Finds the triggers that are named.
    pub(super) fn of(given: &[String], seen: &'a AutomationView) -> Result<Self, Failure> {
        let mut removals = Self {
            apart: Vec::new(),
            by_id: Vec::new(),
        };
        for given in given {
            let found = named(given, seen)?;
            let twins = seen.triggers.iter().filter(|one| one.spec == found.spec);
            if removals.apart.iter().any(|one| one.id == found.id) {
                continue;
            }
            if twins.count() == 1 {
                removals.apart.push(found);
            } else if !removals.by_id.contains(&found.id) {
                removals.by_id.push(found.id);
            }
        }
        Ok(removals)
    }

    /// Leaves out what an edit can leave out.
    pub(super) fn apply(&self, request: &mut AutomationRequest) {
        let removed: Vec<_> = self
            .apart
            .iter()
            .filter_map(|trigger| TriggerRequest::of(&trigger.spec))
            .collect();
        request
            .triggers
            .retain(|trigger| !removed.contains(trigger));
    }
}

/// The trigger of an id, the beginning of one, or of what only one says.
fn named<'a>(given: &str, seen: &'a AutomationView) -> Result<&'a Trigger, Failure> {
    let name = &seen.automation.name;
    let timed = || {
        let triggers = seen.triggers.iter();
        triggers.filter(|trigger| trigger.spec != TriggerSpec::Manual {})
    };
    let by_id: Vec<_> = timed()
        .filter(|trigger| begins(trigger.id, given))
        .collect();
    let found = if by_id.is_empty() {
        timed()
            .filter(|trigger| says(&trigger.spec, given))
            .collect()
    } else {
        by_id
    };
    match found[..] {
        [trigger] => Ok(trigger),
        [] => {
            let message = format!("find the trigger {given:?} of {name}: there is none");
            Err(Failure::message(Exit::NotFound, message).with_hint(format!(
                "`matins automation show {name}` tells its triggers"
            )))
        }
        _ => {
            let several = found
                .iter()
                .map(|trigger| format!("{} ({})", trigger.id, trigger.spec));
            let several = several.collect::<Vec<_>>().join(", ");
            let message = format!("tell which trigger of {name} {given:?} is: it may be {several}");
            Err(Failure::message(Exit::NotFound, message).with_hint("give more of the id"))
        }
    }
}

/// Whether an id begins so, with or without what stands before the underscore.
fn begins(id: TriggerId, given: &str) -> bool {
    let bare = given.strip_prefix("trg_").unwrap_or(given);
    let shown = id.to_string();
    let digits = shown.strip_prefix("trg_").unwrap_or(&shown);
    !bare.is_empty() && digits.starts_with(bare)
}

/// Whether a trigger says this, with its zone or without.
fn says(spec: &TriggerSpec, given: &str) -> bool {
    let alone = match spec {
        TriggerSpec::Cron { expression, .. } => expression == given,
        TriggerSpec::Every { period, .. } => period.to_string() == given,
        TriggerSpec::At { at, .. } => at.to_string() == given,
        TriggerSpec::Webhook {} => given == "webhook",
        TriggerSpec::Manual {} => false,
    };
    alone || spec.to_string() == given
}
