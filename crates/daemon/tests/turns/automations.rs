//! Automations of the tests.

use model::{
    AgentId,
    entity::SeatSettings,
    permission::PermissionRules,
    policy::{Policies, SessionMode},
    schedule::Spec,
};
use store::NewAutomation;

/// Returns an automation that is due at 08:00 UTC each day, ten seconds after the test begins.
pub(crate) fn automation(agent: AgentId, mode: SessionMode) -> NewAutomation {
    NewAutomation {
        name: "daily monitor".into(),
        prompt: "Check the logs".into(),
        agent,
        cwd: None,
        placed_on: None,
        session_mode: mode,
        bound_session_key: None,
        policies: Policies::default(),
        settings: SeatSettings::default(),
        permissions: PermissionRules::default(),
        triggers: vec![Spec::Cron {
            expression: "0 8 * * *".into(),
            zone: "UTC".into(),
        }],
    }
}

/// Returns a continuous automation that is fired only on demand.
pub(crate) fn on_demand(agent: AgentId) -> NewAutomation {
    NewAutomation {
        triggers: Vec::new(),
        ..automation(agent, SessionMode::Continuous)
    }
}
