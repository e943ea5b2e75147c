//! The summary of pending work.

use model::policy::SessionMode;
use store::SchedulerStatus;

use crate::{
    fixtures::TestStore,
    stage::{Stage, at, hourly},
};

pub(crate) async fn scheduler_status_returns_next_due_work(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let nothing = SchedulerStatus {
        due: None,
        backoff: None,
        question_deadline: None,
        goal_deadline: None,
        has_idle_goal: false,
        has_seat_change: false,
        has_lost_checks: false,
        has_promotable: false,
        has_removed_instance: false,
        directory_refusal: None,
        has_outdated_triggers: false,
    };
    assert_eq!(
        stage.store.scheduler_status(stage.now()).await.unwrap(),
        nothing
    );
    let to_come = stage.store.automation_summary(stage.scope()).await;
    assert_eq!(to_come.unwrap(), (0, None));

    stage.automation("by hand", SessionMode::Fresh).await;
    let report = stage
        .automation_with_triggers("report", SessionMode::Fresh, &[hourly()])
        .await;
    let status = stage.store.scheduler_status(stage.now()).await.unwrap();
    assert_eq!(status.due, Some(at("2026-05-04T10:00:00Z")));
    assert_eq!(status.next_work_at(), status.due);
    let to_come = stage.store.automation_summary(stage.scope()).await;
    assert_eq!(to_come.unwrap(), (2, Some(report)));
}
