//! Group commit: concurrent requests share one transaction.

use futures::future::join_all;
use model::{SessionId, WorkerId, session::SessionEvent, turn::WriteOutcome};
use store::Error;

use crate::{
    fixtures::TestStore,
    stage::{Stage, answer},
};

pub(crate) async fn failed_message_in_batch_fails_alone(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut sessions = Vec::new();
    for _ in 0..5 {
        sessions.push(stage.session().await);
    }
    let closed = stage.session().await;
    let (scope, now) = (stage.scope(), stage.now());
    let complete = stage
        .store
        .transition_session(scope, closed, SessionEvent::Complete, None, now);
    complete.await.unwrap();
    let missing = SessionId::from_uuid(uuid::Uuid::from_u128(7));
    let all = sessions.iter().chain([&closed, &missing]).cycle().take(70);
    let replies = all.map(async |session| {
        let reply = stage
            .store
            .send_message(stage.tenant, *session, None, "Words", now)
            .await;
        (*session, reply)
    });
    for (session, reply) in join_all(replies).await {
        match reply {
            Ok(_) => assert!(sessions.contains(&session)),
            Err(Error::Refused(_)) => assert_eq!(session, closed),
            Err(Error::NotFound { .. }) => assert_eq!(session, missing),
            Err(other) => panic!("{other:?}"),
        }
    }
    for session in sessions {
        let runs = stage.store.runs(
            scope,
            store::RunFilter {
                session: Some(session),
                ..store::RunFilter::default()
            },
            100,
        );
        assert_eq!(runs.await.unwrap().len(), 10);
    }
}

pub(crate) async fn finish_by_other_worker_in_same_batch_is_fenced(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "Words").await.run_id;
    stage.start(run).await;
    let stranger = WorkerId::from_stored("elsewhere-1-00000001".into());
    let (theirs, own, again) = (answer("Theirs"), answer("Own"), answer("Again"));
    let now = stage.now();
    // All three are submitted before the first transaction begins.
    let ends = [
        (&stranger, &theirs),
        (&stage.worker, &own),
        (&stage.worker, &again),
    ];
    let ends = ends.map(|(worker, finished)| stage.store.finish(run, worker, finished, now));
    let settled = join_all(ends).await;
    let settled: Vec<WriteOutcome> = settled.into_iter().map(Result::unwrap).collect();
    assert_eq!(
        settled,
        [
            WriteOutcome::Fenced,
            WriteOutcome::Committed,
            WriteOutcome::Fenced
        ]
    );
    let transcript = stage.transcript(session).await;
    assert!(transcript.iter().any(|line| line.contains("Own")));
    assert!(!transcript.iter().any(|line| line.contains("Theirs")));
    assert!(!transcript.iter().any(|line| line.contains("Again")));
}
