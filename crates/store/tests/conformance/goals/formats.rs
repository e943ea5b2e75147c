//! Documents of goals with keys that this program does not know.

use model::{
    goal::{GoalBudget, TaskStatus},
    team::{CheckDefinition, SeatPolicies},
};
use serde_json::{Value, json};
use store::{
    GoalChange, Scope,
    database::{FromColumn, Param},
};

use super::{
    shared_directories::sharing,
    stage::{done, team, work},
};
use crate::{fixtures::TestStore, stage::Stage};

async fn column_of<T: FromColumn>(db: &TestStore, select: &str, id: impl Into<Param>) -> T {
    let rows = db.run(Scope::System, select, vec![id.into()]).await;
    rows.unwrap()[0].get("found").unwrap()
}

const PROGRESS: &str = "select progress as found from agent_tasks where id = $1";
const BUDGET: &str = "select budget as found from goals where session_id = $1";

/// Adds a key to a document, in the way of a later program.
async fn add_later_key(db: &TestStore, update: &str, mut document: Value, id: impl Into<Param>) {
    document["later_key"] = json!({ "a": 1 });
    let params = vec![(&document).into(), id.into()];
    db.run(Scope::System, update, params).await.unwrap();
}

pub(crate) async fn moved_task_keeps_unknown_keys(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let plan = [work("a", &[]), work("b", &["a"])];
    let session = stage.planned_goal(db, team(1, None), &plan).await;
    let update = "update agent_tasks set progress = $1 where id = $2";
    let mut tasks = Vec::new();
    for key in ["a", "b"] {
        let id = stage.task_id(session, key).await;
        let before: Value = column_of(db, PROGRESS, id).await;
        add_later_key(db, update, before, id).await;
        tasks.push(id);
    }
    // The end of one turn moves both tasks.
    let worker = stage.turn(db, session, "worker-1").await;
    stage.report(&worker, &done("A")).await.unwrap();
    stage.succeed(worker.run).await;
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.tasks[1].status, TaskStatus::Done);
    assert_eq!(view.tasks[2].status, TaskStatus::Running);
    for id in tasks {
        let progress: Value = column_of(db, PROGRESS, id).await;
        assert_eq!(progress["later_key"], json!({ "a": 1 }), "{progress}");
    }
    // A key that this program knows and leaves out does not come back: the seat of a turn that is over.
    let first = stage.task_id(session, "a").await;
    let progress: Value = column_of(db, PROGRESS, first).await;
    assert_eq!(progress.get("seat"), None, "{progress}");
}

pub(crate) async fn edited_budget_keeps_unknown_keys(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.goal(team(1, None)).await;
    let budget = |tokens| {
        GoalChange::Budget(GoalBudget {
            tokens,
            ..GoalBudget::default()
        })
    };
    stage.change(session, budget(Some(1000))).await.unwrap();
    let before: Value = column_of(db, BUDGET, session).await;
    let update = "update goals set budget = $1 where session_id = $2";
    add_later_key(db, update, before, session).await;
    let before: Value = column_of(db, BUDGET, session).await;
    // The time leaves the budget alone.
    let until = stage.now() + std::time::Duration::from_hours(1);
    let change = GoalChange::Until(until);
    stage.change(session, change).await.unwrap();
    let stored: Value = column_of(db, BUDGET, session).await;
    assert_eq!(stored, before);
    stage.change(session, budget(Some(2000))).await.unwrap();
    let stored: Value = column_of(db, BUDGET, session).await;
    assert_eq!(stored["tokens"], 2000);
    assert_eq!(stored["later_key"], json!({ "a": 1 }));
    // A limit that this program does not know stays when all others are removed, and the time too.
    stage.change(session, budget(None)).await.unwrap();
    let stored: Value = column_of(db, BUDGET, session).await;
    assert_eq!(stored["tokens"], Value::Null);
    assert_eq!(stored["later_key"], json!({ "a": 1 }));
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert!(view.budget.is_none() && view.until == Some(until));
}

pub(crate) async fn time_limit_of_check_needs_server_that_knows_it(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let of_goal = "select needs_format as found from goals where session_id = $1";
    let of_seats = "select min(needs_format) as found from agent_definitions where session_id = $1";
    for (seconds, goal, seats) in [(600, 1, 5), (90, 6, 6)] {
        let mut team = team(1, None);
        let check = CheckDefinition {
            command: "true".into(),
            timeout_seconds: seconds,
        };
        team.checks.insert("tests".into(), check);
        let session = stage.goal(team).await;
        let found = (
            column_of::<i64>(db, of_goal, session).await,
            column_of::<i64>(db, of_seats, session).await,
        );
        assert_eq!(found, (goal, seats), "{seconds} s");
    }
}

pub(crate) async fn policies_of_seat_need_server_that_knows_them(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let of_goal = "select needs_format as found from goals where session_id = $1";
    let of_seats = "select min(needs_format) as found from agent_definitions where session_id = $1";
    for (seconds, goal, seats) in [(600, 1, 5), (1200, 8, 8)] {
        let mut team = team(1, None);
        team.seats[1].policies = SeatPolicies {
            inactivity_seconds: seconds,
            ..SeatPolicies::default()
        };
        let session = stage.goal(team).await;
        let found = (
            column_of::<i64>(db, of_goal, session).await,
            column_of::<i64>(db, of_seats, session).await,
        );
        assert_eq!(found, (goal, seats), "{seconds} s");
    }
}

pub(crate) async fn shared_directory_needs_server_that_knows_it(db: &TestStore) {
    let stage = Stage::setup_on(sharing(db)).await;
    let of_seats = "select min(needs_format) as found from agent_definitions where session_id = $1";
    for (directory, format) in [("/srv/shared/project", 8), ("/srv/project", 5)] {
        let session = stage.goal_in(directory).await;
        let found: i64 = column_of(db, of_seats, session).await;
        assert_eq!(found, format, "{directory}");
    }
}
