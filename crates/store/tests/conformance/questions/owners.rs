//! The owners of the turns that answers and defaults start.

use model::{
    AutomationId, QuestionId, RunId,
    permission::{PermissionRule, PermissionRules, Verdict},
    policy::{Overlap, SessionMode},
    precheck::Precheck,
    run::{Origin, RunStatus},
    tools::AgentCron,
    turn::StartReply,
};
use store::{RunFilter, Scope, params};

use crate::{budgets::budget, fixtures::TestStore, stage::Stage, tool_calls::start};

impl Stage {
    /// Creates an automation with a rule, a budget and an overlap policy.
    async fn ruled_automation(&self) -> (AutomationId, PermissionRule) {
        let rule = PermissionRule {
            tool: "edit".into(),
            title: None,
            verdict: Verdict::Deny,
        };
        let mut new = self.new_automation("digest", SessionMode::Continuous);
        new.policies.overlap = Some(Overlap::Queue);
        new.policies.budget = budget(&["3 turns/day"]);
        new.permissions = PermissionRules(vec![rule.clone()]);
        (self.create(&new).await, rule)
    }
}

pub(crate) async fn answer_keeps_its_automation(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (automation, rule) = stage.ruled_automation().await;
    let caller = start(&stage, stage.fire(automation).await.run_id).await;
    let mut asked = Vec::new();
    for text in ["1?", "2?", "3?"] {
        asked.push(stage.ask_person(&caller, text).await.unwrap().id);
        stage.advance_seconds(1);
    }
    stage.succeed(caller.run).await;
    // A precheck decides about occurrences alone.
    let edited = stage.edit(automation, false, |to| {
        to.policies.precheck = Some(Precheck::new(vec!["is-there-news".into()]));
    });
    edited.await.unwrap();
    let newest = async || stage.runs_of(automation).await.pop().unwrap();
    let is_occurrence = async |run: RunId| {
        let sql = "select exclusive, priority from agent_runs where id = $1";
        let rows = db.run(Scope::System, sql, params![run]).await.unwrap();
        let ranks_as_one = rows[0].get::<i64>("priority").unwrap() == 1;
        ranks_as_one && rows[0].get::<bool>("exclusive").unwrap()
    };
    // 1. The answer of a person.
    stage.answer_question(asked[0], "yes").await.unwrap();
    let run = newest().await;
    assert_eq!((run.origin, run.trigger_id), (Origin::Person, None));
    assert!(is_occurrence(run.id).await);
    let turn = stage.start(run.id).await;
    assert!(turn.permissions.0.contains(&rule), "{turn:?}");
    assert_eq!(turn.policies.budget, budget(&["3 turns/day"]));
    assert_eq!(turn.accounts.accounts.len(), 1);
    assert!(turn.prompt.text.ends_with("Answer: yes"), "{turn:?}");
    let shown = stage.transcript(run.session_id.unwrap()).await;
    let says = format!("user: ci answered your question {}.", asked[0]);
    assert!(
        shown.iter().any(|line| line.starts_with(&says)),
        "{shown:#?}"
    );
    stage.succeed(run.id).await;
    // 2. The default. Its turn has the rule of the automation about further ones, too.
    let expire = async |asked: QuestionId| {
        let deadline = stage.question(asked).await.deadline_at;
        stage.clock.set(deadline);
        assert_eq!(stage.expire_questions(deadline).await, 1);
        let run = newest().await.id;
        assert!(is_occurrence(run).await);
        run
    };
    let caller = start(&stage, expire(asked[1]).await).await;
    let turn = stage.store.calling_turn(&caller, stage.now()).await;
    assert_eq!(turn.unwrap().agent_cron(), AgentCron::Deny);
    stage.succeed(caller.run).await;
    // 3. These turns have used up the budget, for which the last one waits.
    let last = expire(asked[2]).await;
    let reply = stage.claim_and_begin(last).await;
    assert!(matches!(reply, StartReply::Deferred), "{reply:?}");
    assert_eq!(stage.status(last).await, RunStatus::Deferred);
    let found = stage.read_automation(automation).await;
    assert_eq!(found.pause_reason.as_deref(), Some("budget"));
}

pub(crate) async fn answer_outlives_its_automation(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let new = stage.new_automation("digest", SessionMode::Continuous);
    let automation = stage.create(&new).await;
    let first = stage.fire(automation).await.run_id;
    let caller = start(&stage, first).await;
    let mut asked = Vec::new();
    for text in ["1?", "2?", "3?"] {
        asked.push(stage.ask_person(&caller, text).await.unwrap().id);
        stage.advance_seconds(1);
    }
    stage.succeed(caller.run).await;
    let newest = async || stage.runs_of(automation).await.pop().unwrap();
    // 1. No occurrence is skipped because of an answer, and none cancels it.
    stage.answer_question(asked[0], "yes").await.unwrap();
    let answer = newest().await.id;
    for overlap in [Overlap::Skip, Overlap::CancelRunning] {
        let edited = stage.edit(automation, false, |to| {
            to.policies.overlap = Some(overlap);
        });
        edited.await.unwrap();
        let fired = stage.fire(automation).await.run_id;
        assert_eq!(
            stage.status(fired).await,
            RunStatus::Deferred,
            "{overlap:?}"
        );
        assert_eq!(stage.status(answer).await, RunStatus::Queued, "{overlap:?}");
    }
    // 2. Once the automation is deleted, an answer is an input of the person.
    let deleted = stage
        .store
        .delete_automation(stage.scope(), automation, stage.now());
    deleted.await.unwrap();
    let session = stage.run(answer).await.session_id;
    let inputs = async || {
        let filter = RunFilter {
            session,
            ..RunFilter::default()
        };
        let runs = stage.store.runs(stage.scope(), filter, 100).await.unwrap();
        let runs = runs.iter().filter(|run| run.automation_id.is_none());
        runs.map(|run| run.origin).collect::<Vec<_>>()
    };
    stage.answer_question(asked[1], "no").await.unwrap();
    assert_eq!(inputs().await, [Origin::Person]);
    // 3. A default is a message of the seat to itself, because no person has chosen it.
    let deadline = stage.question(asked[2]).await.deadline_at;
    stage.clock.set(deadline);
    assert_eq!(stage.expire_questions(deadline).await, 1);
    assert_eq!(inputs().await, [Origin::Message, Origin::Person]);
}
