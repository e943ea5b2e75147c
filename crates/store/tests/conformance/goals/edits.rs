//! The edits of tasks by people.

use std::time::Duration;

use futures::future::join_all;
use model::{
    SessionId,
    event::Change,
    goal::{
        GoalState, NewTask, Plan, PlanError, Refusal, Reviews, StuckCause, TaskFields, TaskStatus,
    },
};
use store::{Error, GoalChange, TaskDetails};

use super::stage::{done, team, verdict, work};
use crate::{fixtures::TestStore, stage::Stage, without_locks::without_locks};

impl Stage {
    async fn details(&self, session: SessionId, key: &str) -> TaskDetails {
        let id = self.task_id(session, key).await;
        let found = self.store.task_details(self.scope(), id).await;
        found.unwrap()
    }

    /// Returns an edit of a task as it is now.
    async fn edit_of_task(
        &self,
        session: SessionId,
        key: &str,
        change: impl FnOnce(&mut TaskFields),
    ) -> GoalChange {
        let found = self.details(session, key).await;
        let before = TaskFields {
            title: found.task.title,
            description: found.description,
            acceptance: found.acceptance,
            priority: found.task.priority,
        };
        let mut after = before.clone();
        change(&mut after);
        GoalChange::EditTask {
            key: key.to_owned(),
            version: found.plan_version,
            before,
            after,
        }
    }

    async fn edit_task(
        &self,
        session: SessionId,
        key: &str,
        change: impl FnOnce(&mut TaskFields),
    ) -> Result<GoalState, Error> {
        let edit = self.edit_of_task(session, key, change).await;
        self.change(session, edit).await
    }

    /// Returns the versions of the plan in the events of a task.
    async fn logged_versions(&self, session: SessionId, key: &str) -> Vec<(TaskStatus, u32)> {
        let log = self.store.events(self.scope(), session, 0, 1000).await;
        let changes = log.unwrap().into_iter().filter_map(|event| {
            let Change::Task { change, .. } = event.change else {
                return None;
            };
            (change.key == key).then_some((change.status, change.plan_version))
        });
        changes.collect()
    }

    async fn logged_events(&self, session: SessionId) -> usize {
        let log = self.store.events(self.scope(), session, 0, 1000).await;
        log.unwrap().len()
    }
}

pub(crate) async fn edited_task_has_new_texts_in_later_prompts(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let reviewed = NewTask {
        review: true,
        ..work("b", &[])
    };
    let plan = [work("a", &[]), reviewed, work("c", &["b"])];
    let session = stage
        .planned_goal(db, team(1, Some(Reviews::Marked)), &plan)
        .await;
    let edit_of_b = |fields: &mut TaskFields| {
        fields.title = "Write b".into();
        fields.description = "In plain words.".into();
        fields.acceptance = vec!["It is short.".into()];
    };
    stage.edit_task(session, "b", edit_of_b).await.unwrap();
    let edit_of_c = |fields: &mut TaskFields| fields.title = "Read b".into();
    stage.edit_task(session, "c", edit_of_c).await.unwrap();
    let found = stage.details(session, "b").await;
    assert_eq!(found.task.title, "Write b");
    assert_eq!(
        (found.description.as_str(), found.acceptance.as_slice()),
        ("In plain words.", &["It is short.".to_owned()][..])
    );
    // 1. The turns of the tasks, and of the judge.
    let worker = stage.turn(db, session, "worker").await;
    stage.report(&worker, &done("A")).await.unwrap();
    stage.succeed(worker.run).await;
    let worker = stage.turn(db, session, "worker").await;
    let content = stage.run(worker.run).await.content;
    let beginning = "Work on the task `b`: Write b\n\nIn plain words.\n";
    assert!(content.starts_with(beginning), "{content}");
    assert!(content.contains("\n- It is short.\n"), "{content}");
    let listed = stage.store.list_tasks(&worker, stage.now()).await.unwrap();
    assert_eq!(listed.plan_version, 3);
    let titles: Vec<_> = listed.tasks.iter().map(|it| it.title.as_str()).collect();
    assert_eq!(titles[1..], ["Do a", "Write b", "Read b"]);
    stage.report(&worker, &done("B")).await.unwrap();
    stage.succeed(worker.run).await;
    let judge = stage.turn(db, session, "judge").await;
    let content = stage.run(judge.run).await.content;
    assert!(content.contains("task `b`: Write b\n"), "{content}");
    assert!(content.contains("\n1. It is short.\n"), "{content}");
    stage.report(&judge, &verdict(&["read it"])).await.unwrap();
    stage.succeed(judge.run).await;
    let worker = stage.turn(db, session, "worker").await;
    let content = stage.run(worker.run).await.content;
    assert!(content.contains("task `c`: Read b\n"), "{content}");
    // 2. The content is that by which a later plan repeats the finished task.
    let again = Plan {
        tasks: vec![NewTask {
            title: "Write b".into(),
            description: "In plain words.".into(),
            acceptance: vec!["It is short.".into()],
            ..work("again", &[])
        }],
        drops: Vec::new(),
    };
    let publish = GoalChange::Publish {
        version: 3,
        plan: again,
    };
    let refused = stage.change(session, publish).await;
    let Err(Error::Goal(Refusal::Plan(faults))) = refused else {
        panic!("{refused:?}");
    };
    assert!(matches!(faults[..], [PlanError::Duplicate { .. }]));
}

pub(crate) async fn priority_that_person_changes_decides_next_turn(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let plan = ["a", "b", "c"].map(|key| work(key, &[]));
    let session = stage.planned_goal(db, team(1, None), &plan).await;
    let first = |fields: &mut TaskFields| fields.priority = 0;
    stage.edit_task(session, "c", first).await.unwrap();
    assert_eq!(stage.details(session, "c").await.task.priority, 0);
    let worker = stage.turn(db, session, "worker").await;
    stage.report(&worker, &done("A")).await.unwrap();
    stage.succeed(worker.run).await;
    let tasks = stage.tasks(session).await;
    assert_eq!(tasks[3], "c RUNNING nothing", "{tasks:?}");
}

pub(crate) async fn edit_of_task_is_new_version_of_plan_and_event(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(1, None), &[work("a", &[]), work("b", &[])])
        .await;
    let ready = TaskStatus::Ready;
    assert_eq!(stage.logged_versions(session, "b").await, [(ready, 1)]);
    let retitled = async |title: &str| {
        let title = title.to_owned();
        stage
            .edit_of_task(session, "b", |fields| fields.title = title)
            .await
    };
    let (edit, stale) = (retitled("Write b").await, retitled("Draft b").await);
    // 1. An edit without a difference, and one with a fault.
    let before = stage.logged_events(session).await;
    stage.edit_task(session, "b", |_| {}).await.unwrap();
    let refused = stage
        .edit_task(session, "b", |fields| fields.priority = 10)
        .await;
    assert!(
        matches!(refused, Err(Error::Goal(Refusal::Plan(_)))),
        "{refused:?}"
    );
    assert_eq!(stage.logged_events(session).await, before);
    assert_eq!(stage.details(session, "b").await.plan_version, 1);
    // 2. An edit, and one of the same version.
    stage.change(session, edit).await.unwrap();
    assert_eq!(
        stage.logged_versions(session, "b").await,
        [(ready, 1), (ready, 2)]
    );
    assert_eq!(stage.logged_events(session).await, before + 1);
    let refused = stage.change(session, stale).await;
    assert!(
        matches!(refused, Err(Error::StaleVersion { what: "task", .. })),
        "{refused:?}"
    );
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.plan_version, 2);
    let versions = view.tasks.iter().map(|task| task.plan_version);
    assert!(versions.eq([0, 1, 2]), "{view:?}");
    assert_eq!(view.tasks[2].title, "Write b");
    // 3. A plan of a person that has read the version before.
    let publish = GoalChange::Publish {
        version: 1,
        plan: Plan {
            tasks: Vec::new(),
            drops: vec!["b".into()],
        },
    };
    let refused = stage.change(session, publish).await;
    assert!(
        matches!(refused, Err(Error::Goal(Refusal::Version { .. }))),
        "{refused:?}"
    );
}

pub(crate) async fn task_in_other_state_or_goal_that_is_over_is_not_edited(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let plan = ["a", "b", "c"].map(|key| work(key, &[]));
    let session = stage.planned_goal(db, team(1, None), &plan).await;
    let worker = stage.turn(db, session, "worker").await;
    stage.report(&worker, &done("A")).await.unwrap();
    stage.succeed(worker.run).await;
    let cancel = GoalChange::CancelTask("c".into());
    stage.change(session, cancel).await.unwrap();
    let retitle = |fields: &mut TaskFields| fields.title = "Other".into();
    for (key, expected) in [
        ("plan#1", TaskStatus::Done),
        ("a", TaskStatus::Done),
        ("b", TaskStatus::Running),
        ("c", TaskStatus::Cancelled),
    ] {
        let refused = stage.edit_task(session, key, retitle).await;
        let Err(Error::Goal(Refusal::Task { status, .. })) = refused else {
            panic!("{key}: {refused:?}");
        };
        assert_eq!(status, expected, "{key}");
        assert_ne!(stage.details(session, key).await.task.title, "Other");
    }
    // A goal that is over.
    let session = stage.planned_goal(db, team(1, None), &plan).await;
    let edit = stage.edit_of_task(session, "b", retitle).await;
    stage.change(session, GoalChange::Cancel).await.unwrap();
    let refused = stage.change(session, edit).await;
    assert!(
        matches!(refused, Err(Error::Goal(Refusal::Closed(_)))),
        "{refused:?}"
    );
    // The plan of a draft can have tasks, too.
    let mut new = stage.new_goal(team(1, None));
    new.draft = true;
    let created = stage.store.create_goal(stage.tenant, &new, stage.now());
    let session = created.await.unwrap();
    let publish = GoalChange::Publish {
        version: 0,
        plan: Plan {
            tasks: vec![work("a", &[])],
            drops: Vec::new(),
        },
    };
    stage.change(session, publish).await.unwrap();
    let edited = stage.edit_task(session, "a", retitle).await;
    assert_eq!(edited.unwrap(), GoalState::Draft);
    assert_eq!(stage.details(session, "a").await.task.title, "Other");
}

pub(crate) async fn edited_task_that_has_failed_waits_for_its_retry(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.stuck_goal(db).await;
    let deadline = async || {
        let view = stage.store.goal(stage.scope(), session).await.unwrap();
        view.check_at.unwrap()
    };
    let before = deadline().await;
    stage.advance_seconds(60);
    let describe = |fields: &mut TaskFields| fields.description = "Ask the editor.".into();
    let edited = stage.edit_task(session, "a", describe).await;
    assert_eq!(edited.unwrap(), GoalState::Stuck(StuckCause::Idle));
    assert_eq!(deadline().await, before + Duration::from_mins(1));
    assert!(stage.claim().await.is_none());
    let failed = stage.logged_versions(session, "a").await;
    assert_eq!(failed.last(), Some(&(TaskStatus::Failed, 2)));
    let retry = GoalChange::Retry("a".into());
    stage.change(session, retry).await.unwrap();
    let worker = stage.turn(db, session, "worker").await;
    let content = stage.run(worker.run).await.content;
    assert!(content.contains("\nAsk the editor.\n"), "{content}");
}

pub(crate) async fn edits_without_locks_of_one_version_have_one_winner(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(1, None), &[work("a", &[]), work("b", &[])])
        .await;
    let stores = without_locks(db).await;
    let mut edits = Vec::new();
    for title in ["One", "Two", "Three", "Four"] {
        let edit = stage.edit_of_task(session, "b", |fields| fields.title = title.into());
        edits.push((title, edit.await));
    }
    let stage = &stage;
    let racing = edits
        .iter()
        .zip(stores.iter().cycle())
        .map(|((title, edit), store)| async move {
            loop {
                let edited = store.change_goal(stage.tenant, session, edit, stage.now());
                match edited.await {
                    Err(error) if error.is_transient() => tokio::task::yield_now().await,
                    Err(Error::StaleVersion { .. }) => return None,
                    edited => {
                        edited.unwrap();
                        return Some(*title);
                    }
                }
            }
        });
    let winners = join_all(racing).await.into_iter().flatten();
    let winners: Vec<_> = winners.collect();
    assert_eq!(winners.len(), 1, "{winners:?}");
    let found = stage.details(session, "b").await;
    assert_eq!(
        (found.task.title.as_str(), found.plan_version),
        (winners[0], 2)
    );
}
