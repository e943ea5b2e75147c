//! Tests of every pair of state and event, and of the diagrams in `docs/states.md`.

use std::{fs, path::Path};

use crate::{
    approval::ApprovalStatus, automation::AutomationState, lifecycle::Lifecycle,
    question::QuestionStatus, run::RunStatus, session::SessionStatus,
};

/// Returns one line for each state: the state after each event in order, or `-` if the event is refused.
fn table<S: Lifecycle>() -> Vec<String> {
    let line = |state: &S| {
        let next = S::EVENTS.iter().map(|event| match state.apply(*event) {
            Ok(next) => next.to_string(),
            Err(refused) => {
                assert!(refused.to_string().contains(&state.to_string()));
                assert_eq!(refused.event, event.to_string());
                "-".into()
            }
        });
        format!("{state}: {}", next.collect::<Vec<_>>().join(" "))
    };
    S::STATES.iter().map(line).collect()
}

#[test]
fn session_transitions_match_specification() {
    // enable pause resume complete fail archive
    let expected = [
        "draft: active - - - - -",
        "active: - paused - done failed -",
        "paused: - - active - - -",
        "done: - - - - - archived",
        "failed: - - - - - archived",
        "archived: - - - - - -",
    ];
    assert_eq!(table::<SessionStatus>(), expected);
}

#[test]
fn run_transitions_match_specification() {
    // promote claim hold begin succeed fail cancel stall decline
    let expected = [
        "queued: - delivered deferred - - failed cancelled - -",
        "deferred: queued - - - - failed cancelled - -",
        "delivered: - - deferred running - failed cancelled stalled skipped",
        "running: - - - - succeeded failed cancelled stalled -",
        "succeeded: - - - - - - - - -",
        "failed: - - - - - - - - -",
        "cancelled: - - - - - - - - -",
        "stalled: - - - - - - - - -",
        "skipped: - - - - - - - - -",
        "missed: - - - - - - - - -",
    ];
    assert_eq!(table::<RunStatus>(), expected);
    for status in RunStatus::ALL {
        assert_eq!(status.is_over(), status.is_final(), "{status}");
    }
}

#[test]
fn automation_transitions_match_specification() {
    // pause resume reset fire delete
    let expected = [
        "enabled: paused - enabled enabled deleted",
        "paused: - enabled paused paused deleted",
        "deleted: - - - - -",
    ];
    assert_eq!(table::<AutomationState>(), expected);
}

#[test]
fn approval_transitions_match_specification() {
    // allow deny expire void
    let expected = [
        "pending: allowed denied expired void",
        "allowed: - - - -",
        "denied: - - - -",
        "expired: - - - -",
        "void: - - - -",
    ];
    assert_eq!(table::<ApprovalStatus>(), expected);
}

#[test]
fn question_transitions_match_specification() {
    // answer expire void
    let expected = [
        "pending: answered expired void",
        "answered: - - -",
        "expired: - - -",
        "void: - - -",
    ];
    assert_eq!(table::<QuestionStatus>(), expected);
}

#[test]
fn state_diagrams_in_docs_match_code() {
    let section =
        |title: &str, diagram: String| format!("## {title}\n\n```mermaid\n{diagram}\n```\n");
    let text = [
        "# States\n\nYou can see every state of a session, a run, an automation, an approval and a question, and the events that lead \
         from one state to another.\nThe diagrams are drawn from the code: \
         `MATINS_UPDATE=1 cargo test -p matins-model states` writes this page.\n"
            .into(),
        section("Session", SessionStatus::diagram()),
        "A goal moves its session, too: one that is cancelled before it starts moves it from `draft` to `failed`.\n".into(),
        section("Run", RunStatus::diagram()),
        section("Automation", AutomationState::diagram()),
        section("Approval", ApprovalStatus::diagram()),
        section("Question", QuestionStatus::diagram()),
    ]
    .join("\n");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/states.md");
    if option_env!("MATINS_UPDATE").is_some() {
        fs::create_dir_all(page.parent().unwrap()).unwrap();
        fs::write(&page, &text).unwrap();
    }
    assert_eq!(
        fs::read_to_string(&page).unwrap(),
        text,
        "docs/states.md is stale"
    );
}
