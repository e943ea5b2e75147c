//! The usage of the earlier days of a month, as overviews show it.

use model::{outcome::FailureKind, policy::SessionMode};
use store::{OverviewPeriods, Scope, SessionDeletion, Store, params};

use super::FEW;
use crate::{
    budgets::answer_using,
    fixtures::TestStore,
    stage::{Stage, at, store_over},
};

/// Returns the turns of the day and of the month and the month's cost in millionths of a dollar, and the numbers of turns
/// of the earlier days that are over, that reported tokens and that reported a cost, as the overviews of a server show
/// them.
async fn shown_by(server: &Store, stage: &Stage) -> ([u64; 3], [u64; 3]) {
    let now = stage.now();
    let periods = OverviewPeriods {
        since: now,
        failures_since: now,
        today: now,
    };
    let read = server.overview(stage.tenant, periods, FEW, now).await;
    let read = read.unwrap();
    let (usage, before) = (read.usage, read.reported_before);
    let cost = usage.month.cost.get("USD").copied().unwrap_or(0);
    (
        [usage.day.turns, usage.month.turns, cost],
        [before.turns, before.with_tokens, before.with_cost],
    )
}

pub(crate) async fn overview_shows_usage_of_day_and_month(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let id = stage.automation("daily", SessionMode::Fresh).await;
    let take_turn = async || {
        let run = stage.fire_and_start(id).await;
        stage.end(run, &answer_using(10, 7)).await;
    };
    let shown = async || shown_by(&stage.store, &stage).await;
    take_turn().await;
    let failed = stage.fire_and_start(id).await;
    stage.fail(failed, FailureKind::AgentError).await;
    let again = stage
        .store
        .retry_run(stage.scope(), failed, None, stage.now());
    let again = again.await.unwrap().run_id;
    stage.start(again).await;
    stage.succeed(again).await;
    assert_eq!(shown().await, ([3, 3, 7], [0; 3]));
    stage.advance_seconds(24 * 60 * 60);
    let before = [2, 1, 1];
    assert_eq!(
        shown().await,
        ([0, 3, 7], before),
        "a retried input counts once"
    );
    // The sums of the days that are over are kept, those of today are read.
    take_turn().await;
    assert_eq!(shown().await, ([1, 4, 14], before));
    stage.clock.set(at("2026-06-01T00:00:00Z"));
    assert_eq!(shown().await, ([0; 3], [0; 3]), "another month");
}

pub(crate) async fn changed_day_of_overview_is_read_again(db: &TestStore) {
    let stage = Stage::setup(db).await;
    // Another server shows the overviews. It learns of changes from the database alone.
    let server = store_over(&db.database);
    let shown = async || shown_by(&server, &stage).await;
    let later = async || {
        stage.advance_seconds(11 * 60);
        shown().await
    };
    let first = stage.automation("first", SessionMode::Fresh).await;
    let [long, failed, ended] = [
        stage.fire_and_start(first).await,
        stage
            .send_message(stage.session().await, "one")
            .await
            .run_id,
        stage
            .send_message(stage.session().await, "two")
            .await
            .run_id,
    ];
    for run in [failed, ended] {
        stage.start(run).await;
    }
    stage.fail(failed, FailureKind::AgentError).await;
    stage.end(ended, &answer_using(10, 7)).await;
    // A second day, whose sums change no more.
    stage.clock.set(at("2026-05-05T09:00:00Z"));
    let second = stage.automation("second", SessionMode::Fresh).await;
    let run = stage.fire_and_start(second).await;
    stage.end(run, &answer_using(10, 7)).await;

    stage.clock.set(at("2026-05-07T09:00:00Z"));
    assert_eq!(shown().await, ([0, 4, 14], [3, 2, 2]), "a turn still runs");
    stage.end(long, &answer_using(10, 7)).await;
    assert_eq!(shown().await, ([0, 4, 21], [3, 2, 2]), "the days are kept");
    assert_eq!(later().await, ([0, 4, 21], [4, 3, 3]), "a turn ended late");
    let again = stage
        .store
        .retry_run(stage.scope(), failed, None, stage.now());
    let again = again.await.unwrap().run_id;
    assert_eq!(later().await, ([0, 4, 21], [3, 3, 3]), "another attempt");
    stage.start(again).await;
    stage.succeed(again).await;
    // Prove that the second day is not read again.
    let more = "update spending set cost = cost + 1000 where day = $1";
    let day = at("2026-05-05T00:00:00Z");
    db.run(Scope::System, more, params![day]).await.unwrap();
    assert_eq!(
        later().await,
        ([1, 5, 21], [3, 3, 3]),
        "nothing has changed"
    );
    let session = stage.session_of(ended).await;
    let deleted = stage
        .store
        .delete_session(stage.tenant, session, false, stage.now());
    let deleted = deleted.await.unwrap();
    assert!(matches!(deleted, SessionDeletion::Deleted { .. }));
    // A deleted run may have begun on any day since its creation, so that the second day is read again, too.
    assert_eq!(
        later().await,
        ([1, 5, 1021], [2, 2, 2]),
        "a deleted session"
    );
    // The clock was set back: nothing is kept of the days after it.
    stage.clock.set(at("2026-05-05T10:00:00Z"));
    assert_eq!(shown().await.1, [1, 1, 1]);
}
