//! Changes of goals by people.

use std::{collections::BTreeMap, time::Duration};

use api_types::{Change, Goal, GoalBudgetPatch, GoalMove, GoalPatch, SessionEdit};
use model::{
    SessionId,
    entity::SeatSettings,
    goal::{GoalBudget, NewTask, PLANNER, Plan, WORKER},
    team::{SeatDefinition, TeamDefinition, TeamLimits},
};
use serde_json::{Value, json};
use service::{Error, ErrorKind};
use store::{GoalChange, NewGoal, Scope};
use uuid::Uuid;

use crate::world::World;

/// A draft with a planner and a worker, in a server with four workers.
pub(crate) struct Draft {
    pub(crate) world: World,
    pub(crate) session: SessionId,
}

impl Draft {
    pub(crate) async fn create() -> Self {
        let mut world = World::new().await;
        world.service = world.service.clone().with_workers(Some(4));
        let mut planner = SeatDefinition::new(PLANNER);
        planner.is_entry = true;
        let mut limits = TeamLimits::default();
        limits.graph.replans = 0;
        let team = TeamDefinition {
            name: "campaign".into(),
            limits,
            checks: BTreeMap::new(),
            seats: vec![planner, SeatDefinition::new(WORKER)],
        };
        let chat = world.conversation().await.id;
        let agents = world.store.seats(Scope::System, chat).await.unwrap();
        let agent = agents[0].agent_id;
        let agents = team.seats().into_iter();
        let agents = agents.map(|_| (agent, SeatSettings::default())).collect();
        let session = SessionId::from_uuid(Uuid::from_u128(7));
        let new = NewGoal {
            session,
            text: "Draft the campaign.".into(),
            key: None,
            title: None,
            cwd: None,
            placed_on: None,
            agents,
            team,
            approve_plan: false,
            budget: GoalBudget::default(),
            until: None,
            draft: true,
        };
        let created = world
            .store
            .create_goal(world.tenant, &new, world.clock_now());
        created.await.unwrap();
        Self { world, session }
    }

    async fn edit(&self, patch: &GoalPatch) -> Result<Goal, Error> {
        let service = &self.world.service;
        let before = service.goal_to_edit(&self.session.to_string()).await?;
        service.edit_goal(&before, patch).await
    }

    async fn goal(&self) -> Goal {
        let service = &self.world.service;
        service.goal(&self.session.to_string()).await.unwrap()
    }
}

fn limits(limits: &[(&str, u32)]) -> BTreeMap<String, u32> {
    let limits = limits.iter();
    limits.map(|(name, it)| ((*name).to_owned(), *it)).collect()
}

fn budget(patch: &Value) -> Change<GoalBudgetPatch> {
    serde_json::from_value(patch.clone()).unwrap()
}

#[tokio::test]
async fn edited_budget_keeps_limits_that_are_not_named() {
    let draft = Draft::create().await;
    let edit = async |patch: Value| {
        let patch = GoalPatch {
            budget: budget(&patch),
            ..GoalPatch::default()
        };
        draft.edit(&patch).await
    };
    let changed = async |patch: Value| {
        let goal = edit(patch).await.unwrap();
        serde_json::to_value(goal.summary.budget).unwrap()
    };
    let cost = |amount: &str, currency: &str| json!({ "amount": amount, "currency": currency });
    let both = json!({ "tokens": 700, "cost": cost("1", "USD") });
    assert_eq!(changed(both.clone()).await, both);
    assert_eq!(
        changed(json!({ "tokens": 5000 })).await,
        json!({ "tokens": 5000, "cost": cost("1", "USD") })
    );
    assert_eq!(
        changed(json!({ "cost": { "amount": "2.5" } })).await,
        json!({ "tokens": 5000, "cost": cost("2.5", "USD") })
    );
    assert_eq!(
        changed(json!({ "cost": { "currency": "eur" } })).await,
        json!({ "tokens": 5000, "cost": cost("2.5", "EUR") })
    );
    assert_eq!(changed(json!({})).await["tokens"], 5000);
    assert_eq!(
        changed(json!({ "tokens": null })).await,
        json!({ "tokens": null, "cost": cost("2.5", "EUR") })
    );
    let refused = [
        (json!({ "tokens": 0 }), "budget.tokens"),
        (json!({ "cost": { "amount": "0" } }), "budget.cost.amount"),
        (json!({ "cost": { "amount": "x" } }), "budget.cost.amount"),
        (json!({ "cost": { "amount": null } }), "budget.cost.amount"),
        (
            json!({ "cost": { "currency": "euros" } }),
            "budget.cost.currency",
        ),
        (
            json!({ "cost": { "currency": "" } }),
            "budget.cost.currency",
        ),
    ];
    for (patch, field) in refused {
        let error = edit(patch.clone()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{patch}: {error}");
        assert_eq!(error.field(), Some(field), "{patch}: {error}");
    }
    assert_eq!(
        changed(json!({ "tokens": 9, "cost": null })).await,
        json!({ "tokens": 9, "cost": null })
    );
    assert_eq!(changed(Value::Null).await, Value::Null);
    // A cost that the goal does not have yet needs both fields.
    let error = edit(json!({ "cost": { "amount": "1" } })).await;
    let error = error.unwrap_err();
    assert_eq!(error.field(), Some("budget.cost.currency"), "{error}");
}

#[tokio::test]
async fn edited_goal_leaves_one_worker_to_people() {
    let draft = Draft::create().await;
    let patch = GoalPatch {
        limits: limits(&[("parallel", 8)]),
        ..GoalPatch::default()
    };
    let edited = draft.edit(&patch).await.unwrap();
    assert_eq!(edited.limits["parallel"], 3);
    let patch = GoalPatch {
        limits: limits(&[("parallel", 2)]),
        ..GoalPatch::default()
    };
    let edited = draft.edit(&patch).await.unwrap();
    assert_eq!(edited.limits["parallel"], 2);
}

#[tokio::test]
async fn edit_of_stale_goal_changes_nothing() {
    let draft = Draft::create().await;
    let service = &draft.world.service;
    let session = draft.session.to_string();
    let patch = |name: &str, value: u32| GoalPatch {
        limits: limits(&[(name, value)]),
        ..GoalPatch::default()
    };
    let before = service.goal_to_edit(&session).await.unwrap();
    draft.edit(&patch("turns", 300)).await.unwrap();
    let error = service.edit_goal(&before, &patch("rounds", 2)).await;
    assert!(error.unwrap_err().is_changed());
    let present = draft.goal().await;
    assert_eq!(
        (present.limits["turns"], present.limits["rounds"]),
        (300, before.goal.limits["rounds"])
    );
    // Another server has more workers: its number of turns at a time stays.
    let service = service.clone().with_workers(Some(2));
    let before = service.goal_to_edit(&session).await.unwrap();
    let edited = service.edit_goal(&before, &patch("rounds", 2)).await;
    let edited = edited.unwrap();
    assert_eq!(edited.limits["parallel"], before.goal.limits["parallel"]);
    assert_eq!(edited.limits["rounds"], 2);
}

#[tokio::test]
async fn refused_edit_changes_no_field() {
    let draft = Draft::create().await;
    let World { store, tenant, .. } = &draft.world;
    // A plan of a person, after which the limits accept no further plan.
    let change = GoalChange::Publish {
        version: 0,
        plan: Plan {
            tasks: vec![NewTask::new("a", WORKER)],
            drops: Vec::new(),
        },
    };
    let now = draft.world.clock_now();
    let published = store.change_goal(*tenant, draft.session, &change, now);
    published.await.unwrap();
    let patch = GoalPatch {
        goal: Some("Draft two campaigns.".into()),
        limits: limits(&[("turns", 50)]),
        ..GoalPatch::default()
    };
    let refused = draft.edit(&patch).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Refused, "{refused}");
    let goal = draft.goal().await;
    assert_eq!(goal.limits["turns"], 200);
    assert_eq!(goal.summary.goal, "Draft the campaign.");
}

#[tokio::test]
async fn new_text_gives_goal_its_title_unless_person_chose_one() {
    let draft = Draft::create().await;
    let service = &draft.world.service;
    let session = draft.session.to_string();
    let edit = async |text: &str| {
        let patch = GoalPatch {
            goal: Some(text.to_owned()),
            limits: limits(&[("replans", 5)]),
            ..GoalPatch::default()
        };
        draft.edit(&patch).await.unwrap().summary.title
    };
    let name = async |title: &str| {
        let view = service.session(&session).await.unwrap();
        let seen = SessionEdit {
            title: view.session.title,
        };
        let to = SessionEdit {
            title: Some(title.to_owned()),
        };
        let named = service.edit_session(draft.session, &seen, &to).await;
        named.unwrap();
    };
    // The draft has no title, which is not that of its text.
    assert_eq!(edit("Draft two\ncampaigns.").await, None);
    name("Draft two campaigns.").await;
    let long = format!("Draft three. {}", "x".repeat(100));
    let cut = format!("Draft three. {}…", "x".repeat(66));
    assert_eq!(edit(&long).await, Some(cut));
    assert_eq!(edit("Draft four.").await.as_deref(), Some("Draft four."));
    name("Spring").await;
    assert_eq!(edit("Draft five.").await.as_deref(), Some("Spring"));
}

#[tokio::test]
async fn limits_of_goal_say_what_is_used_up_and_what_is_left() {
    let draft = Draft::create().await;
    let now = draft.world.clock_now();
    let patch = GoalPatch {
        limits: limits(&[("turns", 50)]),
        budget: budget(&json!({ "tokens": 700, "cost": { "amount": "6", "currency": "USD" } })),
        until: Some(now + Duration::from_hours(2)),
        ..GoalPatch::default()
    };
    draft.edit(&patch).await.unwrap();
    let lines = async || {
        let usage = draft.goal().await.limit_usage.into_iter();
        usage
            .map(|it| format!("{} {}: {}", it.limit, it.level, it.text))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        lines().await,
        [
            "cost enough: 0 of 6 USD, 6 USD left",
            "tokens enough: 0 of 700, 700 left",
            "turns enough: 0 of 50, 50 left",
            "time enough: 2h00 left",
        ]
    );
    draft.world.clock.advance(Duration::from_hours(3));
    assert_eq!(lines().await[3], "time used_up: used up 1h00 ago");
    let goal = draft.session.to_string();
    let service = &draft.world.service;
    let used = async || {
        let report = service.goal_report(&goal).await.unwrap().text;
        let (_, used) = report.split_once("\n## Usage\n\n").unwrap();
        used.to_owned()
    };
    let until = "(until 2026-11-21 11:00 UTC)";
    let others =
        "- Cost: 0 of 6 USD, 6 USD left\n- Tokens: 0 of 700, 700 left\n- Turns: 0 of 50, 50 left\n";
    assert_eq!(
        used().await,
        format!("{others}- Time: used up 1h00 ago {until}\n")
    );
    // The time of a goal that has ended runs no further.
    service.move_goal(&goal, GoalMove::Cancel).await.unwrap();
    assert_eq!(lines().await[3], "time used_up: used up");
    draft.world.clock.advance(Duration::from_hours(3));
    assert_eq!(used().await, format!("{others}- Time: used up {until}\n"));
}
