//! Automations with budgets, and their usage.

use model::{
    AutomationId, RunId,
    automation::AutomationState,
    budget::{Account, Accounts},
    entity::Automation,
    policy::SessionMode,
    turn::StartReply,
};
use serde_json::Value;

use super::Stage;
use crate::budgets::{answer_using, budget};

impl Stage {
    /// Creates an automation with a budget.
    pub(crate) async fn automation_with_budget(
        &self,
        name: &str,
        mode: SessionMode,
        limits: &[&str],
    ) -> AutomationId {
        let mut new = self.new_automation(name, mode);
        new.policies.budget = budget(limits);
        self.create(&new).await
    }

    pub(crate) async fn limit_tenant(&self, limits: &[&str]) {
        let budget = budget(limits);
        let set = self
            .store
            .set_tenant_budget(self.tenant, None, &budget, self.now());
        set.await.unwrap();
    }

    pub(crate) async fn read_automation(&self, id: AutomationId) -> Automation {
        self.store.automation(self.scope(), id).await.unwrap()
    }

    pub(crate) async fn automation_usage(&self, id: AutomationId) -> Account {
        let scope = self.scope();
        let found = self.store.automation_usage(scope, id, self.now());
        found.await.unwrap()
    }

    pub(crate) async fn tenant_usage(&self) -> Account {
        let (scope, tenant) = (self.scope(), self.tenant);
        let found = self.store.tenant_usage(scope, tenant, self.now());
        found.await.unwrap()
    }

    pub(crate) async fn record_usage(&self, run: RunId, usage: &Value) -> Option<Accounts> {
        let spent = self
            .store
            .record_usage(run, &self.worker, usage, self.now());
        spent.await.unwrap()
    }

    /// Fires an automation and completes a turn with this usage.
    pub(crate) async fn turn_using(&self, id: AutomationId, tokens: u64, micros: u64) -> RunId {
        let run = self.fire(id).await.run_id;
        self.start(run).await;
        self.end(run, &answer_using(tokens, micros)).await;
        run
    }

    /// Claims a run and tries to begin its turn.
    pub(crate) async fn claim_and_begin(&self, run: RunId) -> StartReply {
        assert_eq!(self.claim().await, Some(run));
        self.begin(run).await
    }

    /// Fails unless an automation has paused itself with this reason.
    pub(crate) async fn assert_paused_by_budget(&self, id: AutomationId, message: &str) {
        let found = self.read_automation(id).await;
        assert_eq!(found.state, AutomationState::Paused);
        assert_eq!(found.pause_reason.as_deref(), Some("budget"));
        assert_eq!(
            found.attention.unwrap(),
            format!("paused itself: {message}")
        );
    }
}
