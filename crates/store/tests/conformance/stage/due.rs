//! Automations with triggers, and their occurrences.

use model::{AutomationId, policy::SessionMode, schedule::Spec};

use super::Stage;

impl Stage {
    /// Creates an automation with triggers.
    pub(crate) async fn automation_with_triggers(
        &self,
        name: &str,
        mode: SessionMode,
        triggers: &[Spec],
    ) -> AutomationId {
        let mut new = self.new_automation(name, mode);
        new.triggers = triggers.to_vec();
        self.create(&new).await
    }

    /// Returns the automation's trigger with a schedule.
    pub(crate) async fn timed_trigger(&self, automation: AutomationId) -> model::entity::Trigger {
        let triggers = self.store.triggers(self.scope(), automation);
        let mut triggers = triggers.await.unwrap();
        triggers.retain(|trigger| trigger.spec != Spec::Manual {});
        triggers.remove(0)
    }

    /// Returns the rows of an automation's occurrences: instant, status, reason and count.
    pub(crate) async fn occurrences(&self, automation: AutomationId) -> Vec<String> {
        let mut runs = self.runs_of(automation).await;
        runs.sort_by_key(|run| run.scheduled_for);
        runs.iter()
            .map(|run| {
                let at = run.scheduled_for.unwrap();
                let reason = run.state.reason().unwrap_or("-");
                format!("{at} {} {reason} {}", run.status(), run.state.occurrences())
            })
            .collect()
    }
}
