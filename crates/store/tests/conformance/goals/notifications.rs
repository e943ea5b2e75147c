//! The notifications of goals, and of the questions of their agents.

use model::{
    EndpointId,
    goal::{GoalState, PauseReason, StuckCause, TaskKind, TaskStatus},
    notification::NotificationKind as Kind,
    policy::SessionMode,
};
use store::{GoalChange, GoalFilter, NewEndpoint, Notice, Page, Scope, TaskCount, params};

use super::stage::{done, team, work};
use crate::{fixtures::TestStore, notifications::new_endpoint, stage::Stage};

impl Stage {
    /// Returns the kinds of the deliveries of an endpoint, sorted.
    async fn delivered_kinds(&self, id: EndpointId) -> Vec<Kind> {
        let sent = self.deliveries(id).await;
        let mut kinds: Vec<Kind> = sent.iter().map(|sent| sent.kind).collect();
        kinds.sort_unstable();
        kinds
    }

    /// Returns the only notice of a kind.
    async fn notice(&self, kind: Kind) -> Notice {
        let mut found = self.notices().await;
        found.retain(|notice| notice.kind == kind);
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }
}

pub(crate) async fn pause_and_end_of_goal_are_delivered_once_to_each_endpoint(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let pauses = stage
        .endpoint("pauses", &[Kind::GoalPaused, Kind::GoalStuck])
        .await;
    let ends = stage
        .endpoint("ends", &[Kind::GoalDone, Kind::GoalFailed])
        .await;
    let sessions = stage.endpoint("sessions", &[Kind::SessionState]).await;
    // 1. A goal that a person pauses and resumes, and that is reached.
    let session = stage
        .planned_goal(db, team(1, None), &[work("a", &[])])
        .await;
    stage.change(session, GoalChange::Pause).await.unwrap();
    stage.create_deliveries(&[(pauses, 1)]).await;
    let paused = stage.notice(Kind::GoalPaused).await;
    let goal = paused.goal.as_ref().unwrap();
    assert_eq!(goal.state, GoalState::Paused(PauseReason::Person));
    stage.change(session, GoalChange::Resume).await.unwrap();
    let worker = stage.turn(db, session, "worker-1").await;
    stage.report(&worker, &done("A")).await.unwrap();
    stage.succeed(worker.run).await;
    let report = stage.turn(db, session, "planner").await;
    stage.succeed(report.run).await;
    // 2. A goal that a person cancels.
    let cancelled = stage.goal(team(1, None)).await;
    stage.change(cancelled, GoalChange::Cancel).await.unwrap();

    // The sessions are still announced as before: each is created and closed.
    stage.create_deliveries(&[(ends, 2), (sessions, 4)]).await;
    assert_eq!(stage.delivered_kinds(pauses).await, [Kind::GoalPaused]);
    assert_eq!(
        stage.delivered_kinds(ends).await,
        [Kind::GoalDone, Kind::GoalFailed]
    );
    assert_eq!(
        stage.delivered_kinds(sessions).await,
        [Kind::SessionState; 4]
    );
    let done = stage.notice(Kind::GoalDone).await;
    assert_eq!(done.session.unwrap().id, session);
    let goal = done.goal.unwrap();
    assert_eq!((goal.session, goal.state), (session, GoalState::Done));
    assert_eq!(
        (goal.text.as_str(), goal.open_questions),
        ("Draft the campaign.", 0)
    );
    let of_plan = TaskCount {
        kind: TaskKind::Work,
        status: TaskStatus::Done,
        number: 1,
    };
    assert!(goal.tasks.contains(&of_plan), "{:?}", goal.tasks);
    let failed = stage.notice(Kind::GoalFailed).await.goal.unwrap();
    assert_eq!(
        (failed.session, failed.state),
        (cancelled, GoalState::Cancelled)
    );
    // The resume was no other pause.
    stage.notice(Kind::GoalPaused).await;
    // Notifications of other kinds describe no goal.
    for notice in stage.notices().await {
        assert_eq!(notice.goal.is_some(), notice.kind.describes_goal());
    }
}

pub(crate) async fn stuck_goal_is_delivered_as_stuck_and_later_as_failed(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let chosen = [Kind::GoalPaused, Kind::GoalStuck, Kind::GoalFailed];
    let endpoint = stage.endpoint("goals", &chosen).await;
    stage.stuck_goal(db).await;
    stage.create_deliveries(&[(endpoint, 1)]).await;
    assert_eq!(stage.delivered_kinds(endpoint).await, [Kind::GoalStuck]);
    let goal = stage.notice(Kind::GoalStuck).await.goal.unwrap();
    assert_eq!(goal.state, GoalState::Stuck(StuckCause::Idle));

    stage.advance_seconds(3 * 3600);
    let passed = stage.store.pass_goal_deadlines(stage.now()).await;
    assert_eq!(passed.unwrap(), 1);
    stage.create_deliveries(&[(endpoint, 2)]).await;
    assert_eq!(
        stage.delivered_kinds(endpoint).await,
        [Kind::GoalFailed, Kind::GoalStuck]
    );
    let goal = stage.notice(Kind::GoalFailed).await.goal.unwrap();
    assert_eq!(goal.state, GoalState::GivenUp);
}

pub(crate) async fn question_is_delivered_once_with_its_goal(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let endpoint = stage.endpoint("asked", &[Kind::QuestionAsked]).await;
    let automation = stage.automation("daily", SessionMode::Fresh).await;
    let of_automation = NewEndpoint {
        automation: Some(automation),
        ..new_endpoint("daily", &[Kind::QuestionAsked])
    };
    let of_automation = stage.endpoint_with(of_automation).await;
    let of_channel = NewEndpoint {
        channel: Some("slack".into()),
        ..new_endpoint("slack", &[Kind::QuestionAsked])
    };
    let of_channel = stage.endpoint_with(of_channel).await;
    let session = stage
        .planned_goal(db, team(1, None), &[work("a", &[])])
        .await;
    let worker = stage.turn(db, session, "worker-1").await;
    let asked = stage.ask_person(&worker, "Which colour?").await.unwrap();
    // A repeated call asks nothing new.
    stage.ask_person(&worker, "Which colour?").await.unwrap();
    stage.create_deliveries(&[(endpoint, 1)]).await;
    let notice = stage.notice(Kind::QuestionAsked).await;
    assert_eq!(notice.question.as_ref(), Some(&asked));
    assert_eq!(notice.run.as_ref().unwrap().id, worker.run);
    let goal = notice.goal.as_ref().unwrap();
    assert_eq!((goal.session, goal.open_questions), (session, 1));
    for filtered in [of_automation, of_channel] {
        assert!(!stage.subscription(filtered).await.wants(&notice));
    }
    // The goal and its list count it, too.
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!((view.open_questions, view.open_approvals), (1, 0));
    let all = GoalFilter::default();
    let listed = stage.store.goal_page(stage.tenant, all, Page::first(1));
    assert_eq!(listed.await.unwrap()[0].open_questions, 1);
    // The answer is no notification.
    stage.succeed(worker.run).await;
    stage.answer_question(asked.id, "blue").await.unwrap();
    let again = stage.turn(db, session, "worker-1").await;
    let other = stage.ask_person(&again, "Which size?").await.unwrap();
    stage.create_deliveries(&[(endpoint, 2)]).await;
    assert_eq!(
        stage.delivered_kinds(endpoint).await,
        [Kind::QuestionAsked; 2]
    );
    let notices = stage.notices().await;
    let mut questions = notices.iter().filter_map(|it| it.question.as_ref());
    let newest = questions.find(|question| question.id == other.id).unwrap();
    assert_eq!(newest.text, "Which size?");
}

pub(crate) async fn goal_and_question_of_later_version_do_not_stop_notifications(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let chosen = [Kind::GoalPaused, Kind::QuestionAsked];
    let endpoint = stage.endpoint("goals", &chosen).await;
    let session = stage
        .planned_goal(db, team(1, None), &[work("a", &[])])
        .await;
    let worker = stage.turn(db, session, "worker-1").await;
    stage.ask_person(&worker, "Which colour?").await.unwrap();
    stage.change(session, GoalChange::Pause).await.unwrap();
    for sql in [
        "update goals set reason = 'moonlight' where session_id = $1",
        "update questions set body = '7' where session_id = $1",
    ] {
        db.run(Scope::System, sql, params![session]).await.unwrap();
    }
    stage.create_deliveries(&[(endpoint, 2)]).await;
    for kind in chosen {
        let notice = stage.notice(kind).await;
        assert_eq!((notice.goal, notice.question), (None, None));
    }
}
