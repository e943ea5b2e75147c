//! Old internal records are removed, and transcripts are kept.

use std::time::Duration;

use daemon::housekeeping::{TrimProgress, tick};
use model::{Clock as _, limits, policy::SessionMode};
use store::Scope;

use crate::world::{World, automation, eventually};

const DAY: Duration = Duration::from_hours(24);

pub(crate) async fn housekeeping_removes_old_records_and_keeps_transcript(world: &World) {
    let agent = world.agent(&world.script()).await;
    let session = world.session(agent).await;
    let run = world.send_message(session, "hello").await;
    world.take_turns().await;
    let said = world.transcript(session).await;
    assert!(!said.is_empty());
    let host = world.host_with(|settings, _| {
        settings.retain_records = Some(30 * DAY);
        settings.retain_events = Some(90 * DAY);
    });
    let record = async || {
        let record = host.store.run_record(Scope::System, run).await;
        record.unwrap()
    };
    let oldest = async || {
        let oldest = host.store.oldest_event_seq(Scope::System, session).await;
        oldest.unwrap()
    };
    world.clock.advance(40 * DAY);
    let now = world.clock.now();
    let mut round = TrimProgress::default();
    let mut next = tick(&host, &mut round, now).await.unwrap();
    while next < now + limits::HOUSEKEEPING_INTERVAL {
        assert_eq!(
            next,
            now + limits::HOUSEKEEPING_PAUSE,
            "soon, while there is more"
        );
        next = tick(&host, &mut round, now).await.unwrap();
    }
    assert_eq!(record().await, None);
    assert_eq!(oldest().await, 1, "its log is young enough");

    // The loop of a server does the same.
    world.clock.advance(60 * DAY);
    let server = daemon::Daemon::start(host.clone());
    eventually("a trimmed log", async || (oldest().await > 1).then_some(())).await;
    server.stop().await;
    assert_eq!(world.transcript(session).await, said);
    assert_eq!(world.run(run).await.id, run);
}

pub(crate) async fn housekeeping_without_retention_keeps_records_and_events(world: &World) {
    let agent = world.agent(&world.script()).await;
    world
        .create_automation(&automation(agent, SessionMode::Continuous))
        .await;
    let session = world.session(agent).await;
    let run = world.send_message(session, "hello").await;
    world.take_turns().await;
    world.clock.advance(4000 * DAY);
    let now = world.clock.now();
    // Rows without a retention setting are removed in any case, such as sums that no budget needs any more.
    let mut round = TrimProgress::default();
    while tick(&world.host, &mut round, now).await.unwrap() != now + limits::HOUSEKEEPING_INTERVAL {
    }
    let record = world.host.store.run_record(Scope::System, run).await;
    assert!(record.unwrap().is_some());
    let oldest = world
        .host
        .store
        .oldest_event_seq(Scope::System, session)
        .await;
    assert_eq!(oldest.unwrap(), 1);
}
