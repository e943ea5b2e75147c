//! Guarantees that are removed on purpose. The simulation must detect each defect.

/// The defect of a simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Defect {
    /// No defect: the product as it is.
    Nothing,
    /// Two runs may hold one seat.
    TwoRunsPerSeat,
    /// The input of a stalled attempt is not retried.
    StalledRunContinues,
    /// Every writer counts as the worker that owns the run.
    NoFence,
    /// Missed instants leave no row.
    LosesMissedRows,
    /// Skipped instants leave no row.
    LosesSkippedRows,
    /// An occurrence may be fired twice.
    FiresTwice,
    /// Triggers fire an hour early.
    FiresEarly,
    /// The end of a run promotes no other run.
    PromotesNothing,
    /// Some numbers of a session's log are left out.
    LogSequenceGaps,
    /// Failures leave no notice.
    NoEndNotice,
    /// A refusal counts as a success.
    RefusalSucceeds,
    /// Queues have no limit.
    QueuesWithoutLimit,
    /// Automations are claimed before people's messages.
    AutomationsFirst,
    /// Heartbeats are stale long before an agent's lease is over.
    StaleBeforeLeaseEnds,
    /// The watchdog trusts a clock that was set forward.
    TrustsLeapingClock,
    /// Messages of people are lost.
    LosesMessages,
}

impl Defect {
    /// Returns the statements that create the defect in the database.
    pub(crate) fn sql(self) -> &'static [&'static str] {
        match self {
            Self::Nothing
            | Self::NoFence
            | Self::StaleBeforeLeaseEnds
            | Self::TrustsLeapingClock => &[],
            Self::TwoRunsPerSeat => &[
                "drop index agent_runs_one_active_per_seat",
                "create trigger broken after insert on agent_runs \
                 when new.status = 'deferred' and new.origin = 'person' \
                 begin update agent_runs set status = 'queued' where id = new.id; end",
            ],
            Self::StalledRunContinues => &[
                "drop index agent_runs_one_active_per_seat",
                "drop index agent_runs_one_active_per_automation",
                "create trigger broken after update on agent_runs when new.status = 'stalled' \
                 begin update agent_runs set status = 'running', ended_at = null \
                 where id = new.id and started_at is not null; end",
            ],
            Self::LosesMissedRows => &[
                "create trigger broken after insert on agent_runs when new.status = 'missed' \
                 begin delete from agent_runs where id = new.id; end",
            ],
            Self::LosesSkippedRows => &[
                "create trigger broken after insert on agent_runs when new.status = 'skipped' \
                 begin delete from agent_runs where id = new.id; end",
            ],
            Self::FiresTwice => &[
                "drop index agent_runs_one_first_attempt_per_occurrence",
                "create trigger broken after insert on agent_runs \
                 when new.status = 'skipped' and new.content <> 'again' \
                 begin insert into agent_runs (id, tenant_id, input_id, attempt, status, origin, \
                 priority, automation_id, trigger_id, scheduled_for, exclusive, content, reason, \
                 input_at, created_at, ended_at) values (randomblob(16), new.tenant_id, \
                 randomblob(16), 1, 'skipped', new.origin, new.priority, new.automation_id, \
                 new.trigger_id, new.scheduled_for, 0, 'again', new.reason, new.input_at, \
                 new.created_at, new.ended_at); end",
            ],
            Self::FiresEarly => &[
                "create trigger broken after update of next_fire_at on automation_triggers \
                 when new.next_fire_at is not null \
                 begin update automation_triggers set next_fire_at = new.next_fire_at - 3600000000 \
                 where id = new.id and next_fire_at = new.next_fire_at; end",
            ],
            Self::PromotesNothing => &["create trigger broken before update on agent_runs \
                 when old.status = 'deferred' and new.status = 'queued' and old.not_before is null \
                 begin select raise(ignore); end"],
            Self::LogSequenceGaps => &[
                "create trigger broken after insert on session_events when new.seq % 17 = 0 \
                 begin delete from session_events \
                 where session_id = new.session_id and seq = new.seq; end",
            ],
            Self::NoEndNotice => &[
                "create trigger broken after insert on agent_messages when new.kind = 'notice' \
                 begin delete from agent_messages where id = new.id; end",
            ],
            Self::RefusalSucceeds => &["create trigger broken after update on agent_runs \
                 when new.status = 'failed' and new.stop_reason = 'refusal' \
                 begin update agent_runs set status = 'succeeded', reason = null \
                 where id = new.id; end"],
            Self::QueuesWithoutLimit => &["create trigger broken after insert on automations \
                 begin update automations \
                 set policies = json_set(policies, '$.queue_limit', 1000) where id = new.id; end"],
            Self::AutomationsFirst => &[
                "create trigger broken after insert on agent_runs when new.origin = 'person' \
                 begin update agent_runs set priority = 9 where id = new.id; end",
            ],
            Self::LosesMessages => &["create trigger broken after insert on agent_runs \
                 when new.origin = 'person' and new.status = 'deferred' and new.attempt = 1 \
                 begin delete from agent_runs where id = new.id; end"],
        }
    }
}
