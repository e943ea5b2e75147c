//! The invariants, checked after each scenario.

use std::collections::HashSet;

use model::{entity::Run, run::RunStatus};
use store::Scope;
use testkit::{
    processes::processes_with_marker,
    scripted::{Event, PromptLog},
};

use crate::world::World;

/// Panics if an invariant is violated.
pub(crate) async fn check(world: &World) {
    let runs = world.runs().await;
    check_one_first_attempt_per_instant(&runs);
    for run in runs.iter().filter(|run| run.status().is_over()) {
        check_no_processes_left(run);
        check_visible_end(world, run).await;
        let (live, _) = world
            .store()
            .live_text(Scope::System, run.id, 0)
            .await
            .unwrap();
        assert_eq!(live, "", "text being written is left of {run:#?}");
    }
    check_logs_without_gap(world).await;
    check_successes_against_agents(world, &runs);
}

fn check_one_first_attempt_per_instant(runs: &[Run]) {
    let mut seen = HashSet::new();
    for run in runs.iter().filter(|run| run.attempt == 1) {
        if let (Some(trigger), Some(instant)) = (run.trigger_id, run.scheduled_for) {
            assert!(
                seen.insert((trigger, instant)),
                "a second run of the same instant: {run:#?}"
            );
        }
    }
}

fn check_no_processes_left(run: &Run) {
    let left = processes_with_marker(&run.id.to_string()).unwrap();
    assert!(left.is_empty(), "{left:#?} are left of {run:#?}");
}

async fn check_visible_end(world: &World, run: &Run) {
    let (Some(_), Some(session)) = (run.state.started_at(), run.session_id) else {
        return;
    };
    let transcript = world.transcript(session).await;
    let own = transcript.iter().filter(|row| row.run_id == Some(run.id));
    let end = own.filter(|row| row.metadata["outcome"] == run.status().as_str());
    assert!(end.count() > 0, "no visible end of {run:#?}");
}

async fn check_logs_without_gap(world: &World) {
    let store = world.store();
    let sessions = store
        .sessions(Scope::System, None, None, 1000)
        .await
        .unwrap();
    for session in sessions {
        let events = store
            .events(Scope::System, session.id, 0, 100_000)
            .await
            .unwrap();
        let numbers: Vec<i64> = events.iter().map(|event| event.seq).collect();
        // Retention removes only the beginning of a log.
        let oldest = store
            .oldest_event_seq(Scope::System, session.id)
            .await
            .unwrap();
        let expected: Vec<i64> = (oldest..=session.last_seq).collect();
        assert_eq!(numbers, expected);
    }
}

/// Checks that turns of one agent session never overlap, and that an agent's log confirms each success.
fn check_successes_against_agents(world: &World, runs: &[Run]) {
    let mut ended = 0;
    for entry in std::fs::read_dir(world.home.path()).unwrap() {
        let path = entry.unwrap().path().join("ledger.jsonl");
        let ledger = PromptLog::read(&path).unwrap_or_default();
        ledger.check_turns_disjoint().unwrap();
        let end = Event::PromptFinished("end_turn".into());
        ended += ledger.events().filter(|event| **event == end).count();
    }
    let claimed = runs
        .iter()
        .filter(|run| run.status() == RunStatus::Succeeded);
    assert!(
        claimed.count() <= ended,
        "{ended} turns were ended by agents"
    );
}
