//! The edits that agents report outside of the paths of their tasks.

use model::{
    MessageId, RunId, SessionId,
    goal::{Directory, EditsOutsideWrites, NewTask, Reviews},
    turn::{Entry, EntryKind, Role, WriteOutcome},
};
use serde_json::{Value, json};
use store::NewGoal;

use super::stage::{done, team, work};
use crate::{
    fixtures::{TestStore, id},
    stage::Stage,
};

/// Returns a tool call as the transcript keeps it.
fn call(kind: &str, status: &str, locations: &Value, content: &Value) -> Entry {
    Entry {
        id: MessageId::from_uuid(id()),
        role: Role::Tool,
        kind: EntryKind::ToolCall,
        content: "Call".into(),
        metadata: json!({
            "tool_call_id": "1", "tool_kind": kind, "status": status, "input": { "path": "/input" },
            "output": null, "content": content, "locations": locations,
        }),
    }
}

fn edit(path: &str) -> Entry {
    call(
        "edit",
        "completed",
        &json!([{ "path": path }]),
        &Value::Null,
    )
}

fn writing(key: &str, path: &str) -> NewTask {
    NewTask {
        writes: Some(vec![path.to_owned()]),
        ..work(key, &[])
    }
}

impl Stage {
    async fn goal_of(&self, new: &NewGoal) -> SessionId {
        let created = self.store.create_goal(self.tenant, new, self.now());
        created.await.unwrap()
    }

    async fn record_calls(&self, run: RunId, calls: &[Entry]) {
        let recorded = self
            .store
            .record(run, &self.worker, calls, self.now())
            .await;
        assert_eq!(recorded.unwrap(), WriteOutcome::Committed);
    }

    /// Returns the edits of each task, by its key, from the report. Checks that each task by itself has the same.
    async fn edits(&self, session: SessionId) -> Vec<(String, EditsOutsideWrites)> {
        let rows = self.store.goal_report(self.scope(), session).await.unwrap();
        let mut edits = Vec::new();
        for task in &rows.goal.tasks {
            let of_task = rows.edits_outside_writes.get(&task.id).cloned();
            let details = self.store.task_details(self.scope(), task.id).await;
            let by_itself = details.unwrap().edits_outside_writes;
            assert_eq!(by_itself, of_task.clone().unwrap_or_default());
            edits.extend(of_task.map(|of_task| (task.key.clone(), of_task)));
        }
        edits
    }
}

fn edits_of(key: &str, paths: &[&str]) -> (String, EditsOutsideWrites) {
    let paths = paths.iter().map(|path| (*path).to_owned()).collect();
    (key.to_owned(), EditsOutsideWrites { paths, more: 0 })
}

pub(crate) async fn edits_outside_of_paths_of_tasks_are_in_report(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_goal(team(1, Some(Reviews::All)));
    new.cwd = Some("/srv/app".into());
    let session = stage.goal_of(&new).await;
    // 1. A planner writes nothing unless its team says so.
    let planner = stage.turn(db, session, "planner").await;
    stage
        .record_calls(planner.run, &[edit("/srv/app/plan.md")])
        .await;
    let plan = [writing("a", "src"), writing("b", "docs")];
    for task in &plan {
        stage.stage_task(&planner, task).await.unwrap();
    }
    stage.succeed(planner.run).await;
    // 2. Completed calls that change files count, by their locations and their diffs.
    let worker = stage.turn(db, session, "worker").await;
    let none = Value::Null;
    let locations = json!([{ "path": "/etc/hosts", "line": 3 }, { "path": 7 }, "/text", null]);
    let content = json!([
        { "type": "diff", "path": "/srv/app/docs/b.md", "oldText": "b", "newText": "c" },
        { "type": "diff", "path": "/srv/app/src/b.rs", "newText": "c" },
        { "type": "content", "path": "/content", "content": { "type": "text", "text": "c" } },
        "/text",
    ]);
    let too_large = json!({ "omitted_bytes": 70_000 });
    let other = json!([{ "path": "/other" }]);
    let calls = [
        edit("/srv/app/src/a.rs"),
        call("delete", "completed", &locations, &none),
        call("move", "completed", &none, &content),
        edit("/etc/hosts"),
        call("edit", "completed", &too_large, &too_large),
        call("edit", "failed", &other, &none),
        call("edit", "in_progress", &other, &none),
        call("read", "completed", &other, &none),
        call("execute", "completed", &other, &none),
    ];
    stage.record_calls(worker.run, &calls).await;
    let of_plan = edits_of("plan#1", &["plan.md"]);
    let of_a = edits_of("a", &["/etc/hosts", "docs/b.md"]);
    assert_eq!(stage.edits(session).await, [of_plan.clone(), of_a.clone()]);
    // 3. The review of a task is no work on it.
    stage.report(&worker, &done("A")).await.unwrap();
    stage.succeed(worker.run).await;
    let judge = stage.turn(db, session, "judge").await;
    stage.record_calls(judge.run, &[edit("/judge")]).await;
    assert_eq!(stage.edits(session).await, [of_plan, of_a]);
}

pub(crate) async fn edits_in_own_folder_are_bounded_and_relative_on_any_server(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_goal(team(1, None));
    new.team.seats[1].directory = Directory::Own;
    let session = stage.goal_of(&new).await;
    stage.plan(db, session, &[writing("a", "src")]).await;
    let worker = stage.turn(db, session, "worker").await;
    // The data folder is that of another server.
    let path = |name: &str| edit(&format!("/elsewhere/{session}/worker/{name}"));
    stage.record_calls(worker.run, &[path("src/a.rs")]).await;
    assert_eq!(stage.edits(session).await, []);
    let mut calls: Vec<Entry> = (0..25).map(|no| path(&format!("{no:02}"))).collect();
    calls.push(path("00"));
    stage.record_calls(worker.run, &calls).await;
    let first: Vec<String> = (0..20).map(|no| format!("{no:02}")).collect();
    let expected = EditsOutsideWrites {
        paths: first,
        more: 5,
    };
    assert_eq!(stage.edits(session).await, [("a".to_owned(), expected)]);
    // A path that is too long is cut.
    let long = edit(&format!("/{}", "é".repeat(5_000)));
    stage.record_calls(worker.run, &[long]).await;
    let found = stage.edits(session).await;
    assert_eq!(found[0].1.paths[0].chars().count(), 1024);
}
