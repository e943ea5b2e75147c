//! The checks of a database after a process was aborted.

use std::collections::BTreeSet;

use model::{RunId, entity::Run, event::Change, run::RunStatus};
use store::{RunFilter, Scope, Store, database::Statement, params};
use testkit::invariants::VIOLATION_QUERIES;

/// Returns all runs, oldest first.
pub(crate) async fn runs_oldest_first(store: &Store) -> Vec<Run> {
    loop {
        let all = RunFilter::default();
        match store.runs(Scope::System, all, 10_000).await {
            Ok(mut runs) => {
                runs.reverse();
                return runs;
            }
            // Hundreds of processes at once may leave a connection idle for longer than the database permits.
            Err(error) => assert!(error.is_transient(), "{error:?}"),
        }
    }
}

/// Returns the first row that must not be there, and the rule that it breaks.
async fn find_violation(store: &Store) -> Result<Option<String>, store::Error> {
    let mut tx = store.database().begin_read(Scope::System).await?;
    for (what, finding) in VIOLATION_QUERIES {
        let statement = Box::leak(Box::new(Statement::new("a check", finding, finding)));
        let found = tx.fetch_all(statement, params![]).await?;
        if !found.is_empty() {
            return Ok(Some(format!("there is {what}: {found:?}")));
        }
    }
    Ok(None)
}

/// Checks the invariants of every state (I1, I2, I4, I5).
pub(crate) async fn check_state(store: &Store) {
    let violation = loop {
        match find_violation(store).await {
            Ok(violation) => break violation,
            Err(error) => assert!(error.is_transient(), "{error:?}"),
        }
    };
    assert_eq!(violation, None);
    let mut seen = BTreeSet::new();
    for run in runs_oldest_first(store).await {
        if let (Some(trigger), 1) = (run.trigger_id, run.attempt) {
            let first = seen.insert((trigger, run.scheduled_for));
            assert!(first, "I1: a second row of one occurrence: {run:#?}");
        }
    }
}

/// Checks the invariants of a finished history (I3, I6). `ended_well` are the runs whose agents report that they ended
/// their turns.
pub(crate) async fn check_history(store: &Store, ended_well: &BTreeSet<RunId>) {
    check_state(store).await;
    for run in runs_oldest_first(store).await {
        assert!(run.status().is_over(), "I3: {run:#?} is not over");
        assert!(
            run.status() != RunStatus::Succeeded || ended_well.contains(&run.id),
            "I6: {run:#?} succeeded without its agent's word"
        );
        let Some(session) = run.session_id else {
            continue;
        };
        let shown = store.messages(Scope::System, session, 0, 10_000).await;
        let shown = shown.unwrap();
        let own = shown.iter().filter(|row| row.run_id == Some(run.id));
        let end = own.filter(|row| row.metadata["outcome"] == run.status().as_str());
        assert!(end.count() > 0, "I3: no visible end of {run:#?}");
        let events = store.events(Scope::System, session, 0, 10_000).await;
        let events = events.unwrap();
        let ends = events.iter().filter(|event| match &event.change {
            Change::Run { run_id, change } => *run_id == run.id && change.status() == run.status(),
            _ => false,
        });
        assert_eq!(ends.count(), 1, "I3: the log ends {run:#?} not once");
    }
}

/// Returns everything that is stored, to compare before and after.
pub(crate) async fn snapshot(store: &Store) -> Vec<String> {
    let scope = Scope::System;
    let mut rows = vec![format!("{:?}", store.oldest_heartbeat().await.unwrap())];
    for automation in store.automations(scope).await.unwrap().readable {
        let triggers = store.triggers(scope, automation.id).await.unwrap();
        rows.push(format!("{automation:?} {triggers:?}"));
    }
    let sessions = store.sessions(scope, None, None, 10_000).await.unwrap();
    for session in sessions {
        let seats = store.seats(scope, session.id).await.unwrap();
        let messages = store.messages(scope, session.id, 0, 10_000).await.unwrap();
        let events = store.events(scope, session.id, 0, 10_000).await.unwrap();
        rows.push(format!("{session:?} {seats:?} {messages:?} {events:?}"));
    }
    for run in runs_oldest_first(store).await {
        let record = store.run_record(scope, run.id).await.unwrap();
        let live = store.live_text(scope, run.id, 0).await.unwrap();
        rows.push(format!("{run:?} {record:?} {live:?}"));
    }
    rows
}
