//! Tests of the decisions about occurrences and about retries, case by case.

use std::time::Duration;

use crate::{
    automation::{OccurrenceContext, OccurrenceDecision, decide_occurrence},
    ids::InputId,
    outcome::{
        FailureKind, FollowUp, NextAttempt, Outcome, RunFailure, StopReason, consecutive_failures,
        follow_up,
    },
    policy::{OnCrash, Overlap, Policies, SessionMode},
    run::{RunStatus, SkipReason},
    session::SessionStatus,
    time::Timestamp,
};

const IDLE: OccurrenceContext = OccurrenceContext {
    active_runs: 0,
    waiting_runs: 0,
    session: None,
    seat_taken: false,
};

const RUN: OccurrenceDecision = OccurrenceDecision::Run {
    deferred: false,
    cancel_others: false,
};
const DEFER: OccurrenceDecision = OccurrenceDecision::Run {
    deferred: true,
    cancel_others: false,
};

fn with(overlap: Overlap) -> Policies {
    Policies {
        overlap: Some(overlap),
        ..Policies::default()
    }
}

#[test]
fn idle_automation_runs_under_every_overlap_policy() {
    for overlap in Overlap::ALL {
        assert_eq!(
            decide_occurrence(SessionMode::Fresh, &with(*overlap), IDLE),
            RUN
        );
    }
}

#[test]
fn overlap_policy_ignores_runs_of_other_origins() {
    let taken = OccurrenceContext {
        seat_taken: true,
        session: Some(SessionStatus::Active),
        ..IDLE
    };
    for overlap in [Overlap::Queue, Overlap::Skip] {
        assert_eq!(
            decide_occurrence(SessionMode::Bound, &with(overlap), taken),
            DEFER,
            "{overlap}"
        );
    }
}

#[test]
fn overlap_policy_decides_while_sibling_run_is_active() {
    let busy = OccurrenceContext {
        active_runs: 1,
        ..IDLE
    };
    let decisions = Overlap::ALL
        .iter()
        .map(|o| decide_occurrence(SessionMode::Fresh, &with(*o), busy));
    assert_eq!(
        decisions.collect::<Vec<_>>(),
        [
            DEFER,
            OccurrenceDecision::Skip(SkipReason::Overlap),
            OccurrenceDecision::Run {
                deferred: true,
                cancel_others: true
            },
            RUN,
        ]
    );
}

#[test]
fn full_queue_skips_occurrence() {
    let mut policies = with(Overlap::Queue);
    policies.queue_limit = 2;
    let context = |waiting| OccurrenceContext {
        active_runs: 1,
        waiting_runs: waiting,
        ..IDLE
    };
    assert_eq!(
        decide_occurrence(SessionMode::Fresh, &policies, context(1)),
        DEFER
    );
    let skip = OccurrenceDecision::Skip(SkipReason::QueueFull);
    assert_eq!(
        decide_occurrence(SessionMode::Fresh, &policies, context(2)),
        skip
    );
}

#[test]
fn closed_session_skips_and_paused_session_defers_occurrence() {
    for (state, expected) in [
        (SessionStatus::Draft, DEFER),
        (SessionStatus::Active, RUN),
        (SessionStatus::Paused, DEFER),
        (
            SessionStatus::Done,
            OccurrenceDecision::Skip(SkipReason::SessionClosed),
        ),
        (
            SessionStatus::Failed,
            OccurrenceDecision::Skip(SkipReason::SessionClosed),
        ),
        (
            SessionStatus::Archived,
            OccurrenceDecision::Skip(SkipReason::SessionClosed),
        ),
    ] {
        let context = OccurrenceContext {
            session: Some(state),
            ..IDLE
        };
        assert_eq!(
            decide_occurrence(SessionMode::Bound, &with(Overlap::Queue), context),
            expected,
            "{state}"
        );
    }
}

#[test]
fn contradicting_policy_is_refused_by_name() {
    let error = with(Overlap::Allow)
        .validate(SessionMode::Continuous)
        .unwrap_err()
        .to_string();
    assert!(error.contains("`overlap` cannot be `allow`"), "{error}");
    assert!(
        with(Overlap::CancelRunning)
            .validate(SessionMode::Bound)
            .is_err()
    );
    assert!(
        with(Overlap::CancelRunning)
            .validate(SessionMode::Fresh)
            .is_ok()
    );
    let never = Policies {
        queue_limit: 0,
        ..Policies::default()
    };
    assert!(never.validate(SessionMode::Fresh).is_err());
}

fn failed(kind: FailureKind, prompted: bool) -> Outcome {
    Outcome::Failed(RunFailure {
        kind,
        prompted,
        message: String::new(),
    })
}

fn after(outcome: &Outcome, failed_before: u32, policies: &Policies) -> FollowUp {
    let input = InputId::from_uuid(uuid::Uuid::nil());
    follow_up(
        outcome,
        input,
        failed_before,
        policies,
        Timestamp::UNIX_EPOCH,
    )
}

#[test]
fn stop_reason_is_never_retried() {
    for reason in StopReason::ALL {
        let outcome = Outcome::Stopped(*reason);
        assert_eq!(
            after(&outcome, 0, &Policies::default()),
            FollowUp::Final,
            "{reason}"
        );
    }
}

#[test]
fn stop_reason_determines_status_and_reason() {
    let shown: Vec<_> = StopReason::ALL
        .iter()
        .map(|reason| {
            let outcome = Outcome::Stopped(*reason);
            (outcome.status(), outcome.reason().unwrap_or("-").to_owned())
        })
        .collect();
    let expected = [
        (RunStatus::Succeeded, "-"),
        (RunStatus::Failed, "max_tokens"),
        (RunStatus::Failed, "max_turn_requests"),
        (RunStatus::Failed, "refusal"),
        (RunStatus::Failed, "cancelled"),
    ];
    assert_eq!(
        shown,
        expected.map(|(status, reason)| (status, reason.to_owned()))
    );
}

#[test]
fn machinery_failure_is_retried_until_attempts_are_used_up() {
    let policies = Policies::default();
    let start = failed(FailureKind::Start, false);
    for failed_before in 0..policies.retry.attempts {
        let tried_again = after(&start, failed_before, &policies) != FollowUp::Final;
        assert_eq!(tried_again, failed_before + 1 < policies.retry.attempts);
    }
}

#[test]
fn retry_backoff_is_exponential_bounded_and_deterministic() {
    let mut policies = Policies::default();
    policies.retry.attempts = 40;
    for failed_before in 0..30 {
        let wait = |outcome: &Outcome| match after(outcome, failed_before, &policies) {
            FollowUp::Retry(NextAttempt {
                not_before: Some(at),
                ..
            }) => at.since(Timestamp::UNIX_EPOCH),
            other => panic!("{other:?}"),
        };
        let full =
            Duration::from_secs(10 * (1 << failed_before.min(16))).min(Duration::from_mins(10));
        let waited = wait(&failed(FailureKind::Start, false));
        assert!(
            waited >= full / 2 && waited <= full,
            "{failed_before}: {waited:?}"
        );
        assert_eq!(waited, wait(&failed(FailureKind::Start, false)));
    }
}

#[test]
fn lost_worker_is_retried_or_failed_by_on_crash_policy() {
    let lost = failed(FailureKind::WorkerLost, true);
    let retry = after(&lost, 0, &Policies::default());
    assert!(matches!(
        retry,
        FollowUp::Retry(NextAttempt {
            interrupted: true,
            counts_as_failure: true,
            ..
        })
    ));
    let policies = Policies {
        on_crash: OnCrash::Fail,
        ..Policies::default()
    };
    assert_eq!(after(&lost, 0, &policies), FollowUp::Final);
    let unsent = failed(FailureKind::WorkerLost, false);
    assert!(matches!(
        after(&unsent, 0, &policies),
        FollowUp::Retry(NextAttempt {
            interrupted: false,
            ..
        })
    ));
}

#[test]
fn requeue_uses_up_no_attempt() {
    let requeued = failed(FailureKind::Requeued, true);
    let expected = FollowUp::Retry(NextAttempt {
        not_before: None,
        interrupted: true,
        counts_as_failure: false,
    });
    assert_eq!(after(&requeued, 7, &Policies::default()), expected);
}

#[test]
fn failure_that_needs_a_person_is_not_retried() {
    for kind in [
        FailureKind::SignIn,
        FailureKind::RestoreGone,
        FailureKind::AgentError,
    ] {
        assert_eq!(
            after(&failed(kind, false), 0, &Policies::default()),
            FollowUp::Final,
            "{kind}"
        );
    }
}

#[test]
fn consecutive_failures_reset_on_success_not_on_cancel() {
    assert_eq!(consecutive_failures(3, RunStatus::Succeeded), 0);
    assert_eq!(consecutive_failures(3, RunStatus::Failed), 4);
    assert_eq!(consecutive_failures(3, RunStatus::Cancelled), 3);
    assert_eq!(consecutive_failures(3, RunStatus::Skipped), 3);
}

#[test]
fn budget_reason_equals_failure_kind_word() {
    assert_eq!(FailureKind::Budget.as_str(), crate::budget::BUDGET_REASON);
}
