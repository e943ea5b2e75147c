//! The owners of runs, on which the rules of turns depend.

use std::{collections::HashMap, sync::LazyLock};

use uuid::Uuid;

use crate::{
    budget::{self, Budget},
    entity::{Automation, Run, RunTask},
    ids::{AutomationId, TenantId},
    permission::PermissionRule,
    policy::{Overlap, Policies},
    prompt::PromptTemplate,
    run::Origin,
    tools::AgentCron,
    transcript::AutomationSource,
};

/// The policies of runs without an automation.
static DEFAULT_POLICIES: LazyLock<Policies> = LazyLock::new(Policies::default);

/// The owner of a run. It decides about the policies, the permission rules, the prompt template and the budgets of a turn.
#[derive(Debug, Clone, Copy)]
pub enum RunOwner<'a> {
    /// A message of a person, or the answer to a question that a turn without an automation has asked.
    Person,
    /// An occurrence of this automation.
    Occurrence(&'a Automation),
    /// The answer to a question that a turn of this automation has asked.
    Answer(&'a Automation),
    /// Messages of other seats.
    SeatMessages,
    /// A turn of a goal's task.
    Task,
}

impl<'a> RunOwner<'a> {
    /// Returns the owner of a run with this origin. `automation` is the automation of the run.
    pub const fn new(origin: Origin, automation: Option<&'a Automation>) -> Self {
        match (origin, automation) {
            (Origin::Occurrence, Some(automation)) => Self::Occurrence(automation),
            (Origin::Person, Some(automation)) => Self::Answer(automation),
            (Origin::Message, _) => Self::SeatMessages,
            (Origin::Task, _) => Self::Task,
            // A transition that cancels a run of a corrupt automation goes on without the automation.
            (Origin::Person | Origin::Occurrence, None) => Self::Person,
        }
    }

    /// Returns the owner of a run whose automation is among `automations`.
    pub fn of(run: &Run, automations: &'a HashMap<AutomationId, Automation>) -> Self {
        let automation = run.automation_id.and_then(|id| automations.get(&id));
        Self::new(run.origin, automation)
    }

    /// Returns the automation of an occurrence or of an answer.
    pub const fn automation(self) -> Option<&'a Automation> {
        match self {
            Self::Occurrence(automation) | Self::Answer(automation) => Some(automation),
            Self::Person | Self::SeatMessages | Self::Task => None,
        }
    }

    /// Returns the automation, as the transcript names it.
    pub fn automation_source(self) -> Option<AutomationSource> {
        self.automation().map(|automation| AutomationSource {
            automation_id: automation.id,
            automation_name: automation.name.clone(),
        })
    }

    /// Returns the policies of the turn.
    pub fn policies(self) -> &'a Policies {
        self.automation()
            .map_or(&*DEFAULT_POLICIES, |automation| &automation.policies)
    }

    /// Returns the permission rules that apply beside those of the agent.
    pub fn permissions(self) -> &'a [PermissionRule] {
        self.automation()
            .map_or(&[][..], |automation| automation.permissions.0.as_slice())
    }

    /// Returns the template of the prompt. `task` is the task of the run, whose prompt a goal has chosen.
    pub fn template(self, task: Option<RunTask>) -> PromptTemplate<'a> {
        match self {
            Self::Task => {
                let prompt = task.and_then(|task| task.prompt);
                prompt.map_or(PromptTemplate::Message, PromptTemplate::Goal)
            }
            Self::Person | Self::Answer(_) | Self::SeatMessages => PromptTemplate::Message,
            Self::Occurrence(automation) => PromptTemplate::Automation {
                name: &automation.name,
            },
        }
    }

    /// Returns the owner, the ID and the limits of the budget that limits the run beside that of its tenant.
    pub fn budget(self) -> Option<(budget::Owner, Uuid, &'a Budget)> {
        let automation = self.automation()?;
        let budget = &automation.policies.budget;
        Some((budget::Owner::Automation, automation.id.uuid(), budget))
    }

    /// Returns `true` if the run waits while its budget is used up. A person waits for the answer, so that the run of a
    /// message fails instead.
    pub const fn waits_for_budget(self) -> bool {
        match self {
            Self::Person => false,
            Self::Occurrence(_) | Self::Answer(_) | Self::SeatMessages | Self::Task => true,
        }
    }

    /// Returns `true` if the run must not run at the same time as another exclusive run of its automation.
    pub fn is_exclusive(self) -> bool {
        self.automation().is_some_and(|automation| {
            automation.policies.overlap(automation.session_mode) != Overlap::Allow
        })
    }

    /// Returns the rule for new automations that the agent makes in the turn. A person's message allows them. Messages of
    /// other seats do not, and an answer has the rule of the turn that asked, so that an agent cannot evade its own rule by
    /// a message or a question.
    pub fn agent_cron(self) -> AgentCron {
        match self {
            Self::Person => AgentCron::Allow,
            Self::Occurrence(automation) | Self::Answer(automation) => automation.agent_cron(),
            Self::SeatMessages | Self::Task => AgentCron::Deny,
        }
    }
}

/// The account to which the usage of a run counts, beside the budget of its tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spender {
    /// The tenant itself: messages of people and of other seats, and tasks of goals.
    Tenant,
    /// The automation of an occurrence or of an answer.
    Automation(AutomationId),
}

impl Spender {
    /// Returns the account of a run, by the automation of its row.
    pub const fn new(automation: Option<AutomationId>) -> Self {
        match automation {
            None => Self::Tenant,
            Some(id) => Self::Automation(id),
        }
    }

    /// Returns the automation of the account.
    pub const fn automation(self) -> Option<AutomationId> {
        match self {
            Self::Tenant => None,
            Self::Automation(id) => Some(id),
        }
    }

    /// Returns the ID of the account.
    pub fn id(self, tenant: TenantId) -> Uuid {
        match self {
            Self::Tenant => tenant.uuid(),
            Self::Automation(id) => id.uuid(),
        }
    }

    /// Returns the IDs whose budgets the usage counts towards: the account and the tenant, each once.
    pub fn limited_ids(self, tenant: TenantId) -> impl Iterator<Item = Uuid> {
        let automation = self.automation().map(AutomationId::uuid);
        automation.into_iter().chain([tenant.uuid()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_without_automation_has_defaults() {
        for origin in Origin::ALL {
            let owner = RunOwner::new(*origin, None);
            assert_eq!(owner.policies(), &Policies::default());
            assert_eq!(owner.permissions(), []);
            assert!(matches!(owner.template(None), PromptTemplate::Message));
            assert!(
                owner.budget().is_none() && !owner.is_exclusive(),
                "{origin}"
            );
        }
    }

    #[test]
    fn messages_of_seats_have_fewer_rights_than_those_of_people() {
        let (person, seats) = (
            RunOwner::new(Origin::Person, None),
            RunOwner::new(Origin::Message, None),
        );
        assert_eq!(seats.agent_cron(), AgentCron::Deny);
        assert_eq!(person.agent_cron(), AgentCron::Allow);
        assert!(seats.waits_for_budget() && !person.waits_for_budget());
    }

    #[test]
    fn usage_counts_once_towards_each_budget() {
        let (tenant, automation) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let ids = |spender: Spender| -> Vec<Uuid> {
            spender.limited_ids(TenantId::from_uuid(tenant)).collect()
        };
        assert_eq!(ids(Spender::Tenant), [tenant]);
        let spender = Spender::Automation(AutomationId::from_uuid(automation));
        assert_eq!(ids(spender), [automation, tenant]);
    }

    #[test]
    fn people_start_before_occurrences_and_these_before_agents() {
        let of = |priority| {
            Origin::ALL
                .iter()
                .filter(move |it| it.priority() == priority)
        };
        assert!(of(0).eq(&[Origin::Person]));
        assert!(of(1).eq(&[Origin::Occurrence]));
        assert!(of(2).eq(&[Origin::Task, Origin::Message]));
    }
}
