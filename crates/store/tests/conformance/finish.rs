//! The end of a turn: its status, its message to people, and the memory that the seat keeps.

use model::{
    AcpSessionId,
    automation::AutomationState,
    event::Event,
    outcome::{FailureKind, Outcome, RunFailure, StopReason},
    policy::SessionMode,
    run::RunStatus::{self, Cancelled, Failed, Queued, Stalled, Succeeded},
    run::{Deferral, RunFlags, RunState},
    turn::{EntryKind, Role, TurnResult, WriteOutcome},
};
use serde_json::json;
use store::{Error, Scope, params};

use crate::{
    event_summary::{subject_id, summary},
    fixtures::TestStore,
    stage::{Stage, answer},
};

/// Returns every outcome, with the status and the reason that it leads to.
fn outcomes() -> Vec<(Outcome, RunStatus, Option<String>)> {
    let mut all = Vec::new();
    for stop in StopReason::ALL {
        let status = match stop {
            StopReason::EndTurn => Succeeded,
            _ => Failed,
        };
        let reason = (status != Succeeded).then(|| stop.to_string());
        all.push((Outcome::Stopped(*stop), status, reason));
    }
    let reason = "enough".to_owned();
    all.push((Outcome::Cancelled(reason.clone()), Cancelled, Some(reason)));
    for kind in FailureKind::ALL {
        let status = match kind {
            FailureKind::WorkerLost | FailureKind::Requeued => Stalled,
            _ => Failed,
        };
        let failure = RunFailure {
            kind: *kind,
            prompted: true,
            message: "it broke".into(),
        };
        all.push((Outcome::Failed(failure), status, Some(kind.to_string())));
    }
    all
}

pub(crate) async fn every_outcome_sets_status_and_transcript_end(db: &TestStore) {
    let stage = Stage::setup(db).await;
    for (outcome, status, reason) in outcomes() {
        let session = stage.session().await;
        let run = stage.send_message(session, "hello").await.run_id;
        stage.start(run).await;
        let settled = stage
            .finish(run, &TurnResult::with_outcome(outcome.clone()))
            .await;
        assert_eq!(settled, WriteOutcome::Committed, "{outcome:?}");
        let run = stage.run(run).await;
        assert_eq!(
            (run.status(), run.state.reason()),
            (status, reason.as_deref()),
            "{outcome:?}"
        );
        assert_eq!(run.state.ended_at(), Some(stage.now()));
        let stop = match &outcome {
            Outcome::Stopped(reason) => Some(reason.as_str()),
            _ => None,
        };
        assert_eq!(run.state.stop_reason(), stop);
        let shown = stage.transcript(session).await;
        assert_eq!(shown.len(), 2, "{outcome:?}: {shown:?}");
        assert!(shown[1].starts_with("system: "), "{shown:?}");
        // The displayed message begins with the stored one; a note on the next attempt may follow.
        let message = run.state.message().unwrap();
        assert!(shown[1].contains(message), "{shown:?} {message}");
    }
}

pub(crate) async fn finish_by_other_worker_changes_nothing(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    assert_eq!(stage.finish(run, &answer("x")).await, WriteOutcome::Fenced);
    stage.claim().await;
    assert_eq!(stage.finish(run, &answer("x")).await, WriteOutcome::Fenced);
    stage.begin(run).await;
    let other = model::WorkerId::from_stored("host-2-bbbbbbbb".into());
    let finished = answer("x");
    let finished = stage.store.finish(run, &other, &finished, stage.now());
    assert_eq!(finished.await.unwrap(), WriteOutcome::Fenced);
    assert_eq!(stage.transcript(session).await, ["user: hello"]);
}

pub(crate) async fn answer_of_automation_is_message_with_source(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.automation("report", SessionMode::Fresh).await;
    let run = stage.fire(automation).await.run_id;
    let assignment = stage.start(run).await;
    stage.end(run, &answer("All is well.")).await;
    let session = stage.session_of(run).await;
    let rows = stage.store.messages(stage.scope(), session, 0, 10);
    let rows = rows.await.unwrap();
    assert_eq!(rows.len(), 2, "an answer needs no system message");
    assert_eq!(
        (rows[1].role, rows[1].kind),
        (Role::Assistant, EntryKind::Message)
    );
    assert_eq!(rows[1].content, "All is well.");
    assert_eq!(
        rows[1].metadata,
        json!({
            "_automation_turn": true,
            "automation_id": automation.to_string(),
            "automation_name": "report",
            "automation_run_id": run.to_string(),
            "automation_prompt_ref": assignment.prompt.prompt_ref,
            "outcome": "succeeded",
        })
    );
    assert_eq!(stage.run(run).await.state.message(), None);
}

pub(crate) async fn run_names_include_answer(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.automation("report", SessionMode::Fresh).await;
    let run = stage.fire(automation).await.run_id;
    let names = async |run| {
        let names = stage.store.run_names(stage.scope(), run).await;
        names.unwrap()
    };
    let waits = names(run).await;
    assert_eq!((waits.answer, waits.instance_name), (None, None));
    stage.start(run).await;
    // Only the answer counts, not a thought or a notice.
    let running = names(run).await;
    assert_eq!(running.answer, None);
    stage.end(run, &answer("All is well.")).await;
    let ended = names(run).await;
    assert_eq!(ended.answer.as_deref(), Some("All is well."));
    assert_eq!(ended.automation_name.as_deref(), Some("report"));
    assert!(
        ended.agent_name.is_some() && ended.instance_name.is_some(),
        "{ended:?}"
    );
    // A run without an automation names none.
    let session = stage.session().await;
    let message = stage.send_message(session, "hello").await.run_id;
    assert_eq!(names(message).await.automation_name, None);
    let other = stage.store.ensure_tenant("other", stage.now()).await;
    let scope = Scope::Tenant(other.unwrap());
    let hidden = stage.store.run_names(scope, run).await;
    assert!(matches!(hidden, Err(Error::NotFound { .. })), "{hidden:?}");
}

pub(crate) async fn empty_answer_leaves_notice_of_no_answer(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    stage.start(run).await;
    let finished = TurnResult {
        flags: RunFlags {
            empty_answer: true,
            permissions_denied: 2,
            ..RunFlags::default()
        },
        ..answer(" \n")
    };
    stage.end(run, &finished).await;
    let ended = stage.run(run).await;
    assert_eq!(
        (ended.status(), ended.state.flags()),
        (Succeeded, finished.flags)
    );
    assert_eq!(
        stage.transcript(session).await,
        [
            "user: hello",
            "system: The agent ended its turn with no answer."
        ]
    );
}

pub(crate) async fn partial_answer_is_kept_and_marked_interrupted(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    stage.start(run).await;
    let finished = TurnResult {
        outcome: Outcome::Stopped(StopReason::MaxTokens),
        ..answer("Half of")
    };
    stage.end(run, &finished).await;
    let rows = stage.store.messages(stage.scope(), session, 0, 10);
    let rows = rows.await.unwrap();
    assert_eq!(rows[1].content, "Half of");
    assert_eq!(rows[1].metadata["interrupted"], true);
    assert_eq!(rows[2].kind, EntryKind::Notice);
    assert_eq!(rows[2].metadata["outcome"], "failed");
}

pub(crate) async fn only_completed_turn_updates_seat_memory(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let memory = || async {
        let seats = stage.store.seats(stage.scope(), session).await.unwrap();
        (seats[0].acp_session_id.clone(), seats[0].turns)
    };
    for (outcome, _, _) in outcomes() {
        for turn_ended in [false, true] {
            let before = memory().await;
            let run = stage.send_message(session, "hello").await.run_id;
            stage.start(run).await;
            let id = AcpSessionId::new(format!("memory of {run}"));
            let finished = TurnResult {
                acp_session_id: Some(id.clone()),
                turn_ended,
                ..TurnResult::with_outcome(outcome.clone())
            };
            stage.end(run, &finished).await;
            let expected = if turn_ended {
                (Some(id), before.1 + 1)
            } else {
                before
            };
            assert_eq!(memory().await, expected, "{outcome:?} {turn_ended}");
            // A further attempt would occupy the seat for the next outcome.
            let rest = stage
                .store
                .cancel_session_runs(stage.scope(), session, "next", stage.now());
            rest.await.unwrap();
        }
    }
}

pub(crate) async fn finish_stores_usage_title_and_record(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let title = || async {
        let found = stage.store.session(stage.scope(), session).await;
        found.unwrap().title
    };
    for (title_of_agent, kept) in [("Mail", "Mail"), ("Other", "Mail")] {
        let run = stage.send_message(session, "hello").await.run_id;
        stage.start(run).await;
        let finished = TurnResult {
            usage: Some(json!({ "tokens": 42 })),
            title: Some(title_of_agent.into()),
            diagnostics: json!({ "exit": 0 }),
            error: Some("a long story".into()),
            ..answer("Yes.")
        };
        stage.end(run, &finished).await;
        assert_eq!(stage.run(run).await.usage, finished.usage);
        assert_eq!(title().await.unwrap(), kept, "the first title stays");
        let record = stage.store.run_record(stage.scope(), run).await;
        let record = record.unwrap().unwrap();
        assert_eq!(record.diagnostics, finished.diagnostics);
        assert_eq!(record.error, finished.error);
        assert!(
            record.rendered_prompt.is_some(),
            "the record keeps the prompt that was sent"
        );
    }
}

pub(crate) async fn unrequested_cancelled_end_counts_as_failure(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_automation("report", SessionMode::Fresh);
    new.policies.pause_after_failures = 2;
    let automation = stage.create(&new).await;
    let failures = async || {
        let found = stage.store.automation(stage.scope(), automation).await;
        let found = found.unwrap();
        (found.state, found.consecutive_failures)
    };
    let cancelled = TurnResult::with_outcome(Outcome::Stopped(StopReason::Cancelled));

    // If a person cancelled the run, its end is no failure, whichever end is recorded first.
    let run = stage.fire(automation).await.run_id;
    stage.start(run).await;
    let failure_as_cancellation =
        stage
            .store
            .cancel_run(stage.scope(), run, "not wanted", stage.now());
    failure_as_cancellation.await.unwrap();
    stage.end(run, &cancelled).await;
    let ended = stage.run(run).await;
    assert_eq!(
        (ended.status(), ended.state.reason()),
        (Cancelled, Some("not wanted"))
    );
    assert_eq!(failures().await, (AutomationState::Enabled, 0));

    for count in 1..=2 {
        let run = stage.fire(automation).await.run_id;
        stage.start(run).await;
        stage.end(run, &cancelled).await;
        let ended = stage.run(run).await;
        assert_eq!(
            (ended.status(), ended.state.reason()),
            (Failed, Some("cancelled"))
        );
        assert_eq!(stage.attempts(run).await.len(), 1, "the run is not retried");
        assert_eq!(failures().await.1, count);
        let message = ended.state.message().unwrap();
        assert!(
            message.contains("without a request to cancel it"),
            "{message}"
        );
    }
    assert_eq!(failures().await.0, AutomationState::Paused);
}

pub(crate) async fn automation_with_consecutive_failures_is_paused(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_automation("report", SessionMode::Fresh);
    new.policies.pause_after_failures = 3;
    let automation = stage.create(&new).await;
    let found = || async {
        let found = stage.store.automation(stage.scope(), automation).await;
        found.unwrap()
    };
    let turn = async |outcome: Outcome| {
        let run = stage.fire(automation).await.run_id;
        stage.start(run).await;
        stage.end(run, &TurnResult::with_outcome(outcome)).await;
    };
    let refusal = || Outcome::Stopped(StopReason::Refusal);
    turn(refusal()).await;
    turn(refusal()).await;
    turn(Outcome::Cancelled("no matter".into())).await;
    assert_eq!(found().await.consecutive_failures, 2);
    turn(Outcome::Stopped(StopReason::EndTurn)).await;
    assert_eq!(
        found().await.consecutive_failures,
        0,
        "a success resets the failures"
    );
    for _ in 0..3 {
        assert_eq!(found().await.state, AutomationState::Enabled);
        turn(refusal()).await;
    }
    let paused = found().await;
    assert_eq!(paused.state, AutomationState::Paused);
    assert_eq!(paused.pause_reason.as_deref(), Some("failures"));
    assert!(paused.attention.unwrap().contains("3 consecutive failures"));

    let resumed = stage
        .store
        .resume_automation(stage.scope(), automation, stage.now());
    resumed.await.unwrap();
    let resumed = found().await;
    assert_eq!(
        (resumed.state, resumed.consecutive_failures),
        (AutomationState::Enabled, 0)
    );
    assert_eq!((resumed.attention, resumed.pause_reason), (None, None));
}

pub(crate) async fn retried_failures_count_once(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.automation("report", SessionMode::Fresh).await;
    let mut run = stage.fire(automation).await.run_id;
    for attempt in 1..=3 {
        stage.start(run).await;
        stage.fail(run, FailureKind::Start).await;
        let found = stage.store.automation(stage.scope(), automation).await;
        let expected = i64::from(attempt == 3);
        assert_eq!(found.unwrap().consecutive_failures, expected);
        stage.advance_seconds(3600);
        stage.store.promote_due(stage.now()).await.unwrap();
        run = stage.attempts(run).await.last().unwrap().id;
    }
}

pub(crate) async fn finish_and_next_start_are_one_transaction(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let first = stage.send_message(session, "one").await.run_id;
    let second = stage.send_message(session, "two").await.run_id;
    stage.start(first).await;
    let before = stage.store.session(stage.scope(), session).await.unwrap();
    stage.succeed(first).await;
    assert_eq!(stage.statuses([first, second]).await, [Succeeded, Queued]);
    let events = stage
        .store
        .events(stage.scope(), session, before.last_seq, 10);
    let kinds: Vec<_> = events
        .await
        .unwrap()
        .into_iter()
        .map(|event| summary(&event.change))
        .collect();
    assert_eq!(kinds, ["message", "run succeeded", "run queued"]);
}

pub(crate) async fn trivial_answers_are_stored_and_logged(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.automation("watch", SessionMode::Continuous).await;
    for words in ["Nothing to report.", "NO_REPLY", "HEARTBEAT_OK", "."] {
        let run = stage.fire(automation).await.run_id;
        stage.start(run).await;
        stage.end(run, &answer(words)).await;
        let session = stage.session_of(run).await;
        let rows = stage.store.messages(stage.scope(), session, 0, 100);
        let rows = rows.await.unwrap();
        let kept = rows.last().unwrap();
        assert_eq!((kept.content.as_str(), kept.run_id), (words, Some(run)));
        let events = stage.store.events(stage.scope(), session, 0, 100);
        let events = events.await.unwrap();
        let is_of_row = |event: &&Event| subject_id(&event.change) == kept.id.to_string();
        assert_eq!(events.iter().filter(is_of_row).count(), 1, "{words}");
    }
}

pub(crate) async fn run_row_without_reason_is_readable(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    stage.start(run).await;
    let refused = TurnResult::with_outcome(Outcome::Stopped(StopReason::Refusal));
    assert_eq!(stage.finish(run, &refused).await, WriteOutcome::Committed);
    // No transition writes this state, but no constraint forbids it.
    let sql = "update agent_runs set reason = null";
    db.run(Scope::System, sql, params![]).await.unwrap();
    let found = stage.run(run).await;
    assert_eq!(found.status(), Failed);
    assert_eq!(found.state.reason(), Some("unknown"));
}

pub(crate) async fn run_deferred_for_unknown_reason_waits_for_its_instant(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let first = stage.send_message(session, "one").await.run_id;
    stage.start(first).await;
    let second = stage.send_message(session, "two").await.run_id;
    let until = stage.now() + std::time::Duration::from_mins(1);
    let sql =
        "update agent_runs set not_before = $1, reason = 'weather', message = 'rain' where id = $2";
    let changed = db.run(Scope::System, sql, params![until, second]).await;
    changed.unwrap();
    let found = stage.run(second).await;
    assert_eq!(found.state, RunState::Deferred(Deferral::Backoff(until)));
}
