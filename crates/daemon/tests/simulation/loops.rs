//! The loops of the servers: they fire triggers, watch runs, claim runs and take turns.

use daemon::{scheduler, watchdog};
use model::{
    AcpSessionId, MessageId, RunId, WorkerId,
    outcome::{FailureKind, Outcome, RunFailure, StopReason},
    turn::{Entry, EntryKind, HeartbeatReply, Role, StartReply, TurnResult, WriteOutcome},
};
use serde_json::json;
use store::Scope;

use crate::{
    defects::Defect,
    simulated_server::{MAX_SCHEDULER_SLEEP, SimulatedTurn, Task, TurnStage},
    sql,
    time::{MINUTE, SECOND},
    world::World,
};

impl World {
    /// Runs the next task of a server.
    pub(crate) async fn run_next_task(&mut self, index: usize) -> anyhow::Result<()> {
        match self.servers[index].next_task().1 {
            Task::Schedule => self.run_scheduler(index).await,
            Task::Watch => self.run_watchdog(index).await,
            Task::Claim => self.claim_runs(index).await,
            Task::Heartbeat(turn) => self.send_heartbeat(index, turn).await,
            Task::AdvanceTurn(turn) => match self.servers[index].turns[turn].stage {
                TurnStage::Claimed => self.begin_turn(index, turn).await,
                TurnStage::Running | TurnStage::Lost => self.advance_turn(index, turn).await,
            },
        }
    }

    /// Makes the next instants look as if another version of the program had computed them: one with older zone rules,
    /// or one that does not store its rules. Their rules agree with those of this program, so that nothing moves.
    async fn forget_zone_rules(&self) -> anyhow::Result<()> {
        let of_older_rules = "update automation_triggers set zone_rules = '2020a'";
        let of_unknown_rules = "update automation_triggers set zone_rules_for = null";
        let forget = [of_older_rules, of_unknown_rules];
        sql::execute(&self.store, forget[usize::from(self.steps % 16 == 1)]).await
    }

    async fn run_scheduler(&mut self, index: usize) -> anyhow::Result<()> {
        let server = &self.servers[index];
        let (host, now) = (server.host.clone(), self.time.wall_clock(server.machine));
        if self.steps % 16 < 2 {
            self.forget_zone_rules().await?;
        }
        // A run that the end of another one should have promoted is a fault, even if the sweep repairs it.
        let swept = self.store.promote_due(now).await?;
        self.record_call("promote_due", || format!("{swept:?}"));
        anyhow::ensure!(
            swept.missed_promotions == 0,
            "I3: inputs were left behind: {swept:?}"
        );
        let next = if self.rng.one_in(4) {
            while self.store.fire_due(Scope::System, now).await?.has_more {}
            let swept = self.store.promote_due(now).await?;
            self.record_call("fire_due", || format!("{swept:?}"));
            anyhow::ensure!(
                swept.missed_promotions == 0,
                "I3: inputs were left behind: {swept:?}"
            );
            self.store.scheduler_status(now).await?.next_work_at()
        } else {
            let tick = scheduler::tick(&host, now).await?;
            self.record_call("scheduler::tick", || format!("{tick:?}"));
            if tick.started > 0 {
                self.check_limits().await?;
            }
            tick.next
        };
        self.schedules.record_scheduler_tick(now.as_microsecond());
        let sleep = next.map_or(MAX_SCHEDULER_SLEEP, |at| {
            let until = at.as_microsecond() - now.as_microsecond();
            until.clamp(SECOND / 4, MAX_SCHEDULER_SLEEP)
        });
        self.servers[index].schedules_at = self.time.now + sleep;
        self.wake_pools();
        Ok(())
    }

    /// Wakes the pools, because a run may have been queued.
    fn wake_pools(&mut self) {
        let now = self.time.now;
        for server in &mut self.servers {
            server.claims_at = server.claims_at.min(now + self.rng.below(SECOND));
        }
    }

    async fn run_watchdog(&mut self, index: usize) -> anyhow::Result<()> {
        let server = &self.servers[index];
        let (host, machine) = (server.host.clone(), server.machine);
        let (now, at) = (
            self.time.wall_clock(machine),
            self.time.process_instant(machine),
        );
        let given_up = if self.defect == Defect::TrustsLeapingClock {
            watchdog::tick(&host, now).await?
        } else {
            self.servers[index].monitor.tick(&host, now, at).await?
        };
        self.record_call("watchdog", || format!("{} {given_up:?}", host.worker));
        let gave_up = !given_up.is_empty();
        for run in given_up {
            anyhow::ensure!(
                !self.agents.is_alive(run, self.time.now),
                "I2: {run} is given up while its agent is at work"
            );
            anyhow::ensure!(
                self.agents.release(run).is_some(),
                "I4: {run} is given up, but no worker has it"
            );
        }
        if gave_up {
            self.note_pauses().await?;
            self.wake_servers();
        }
        let pause = self.rng.between(5 * SECOND, MINUTE);
        self.servers[index].watches_at = self.time.now + pause;
        Ok(())
    }

    async fn claim_runs(&mut self, index: usize) -> anyhow::Result<()> {
        let server = &mut self.servers[index];
        server.claims_at = self.time.now + MAX_SCHEDULER_SLEEP;
        let (limit, machine) = (server.free_slots(), server.machine);
        if limit == 0 {
            return Ok(());
        }
        let (worker, instance) = (server.host.worker.clone(), server.host.instance);
        let lease_until = self.time.now + server.lease();
        let heartbeat_at = self.time.now + server.heartbeat();
        let expected_claims = if self.rng.one_in(8) {
            Some(self.expected_claims(instance, limit).await?)
        } else {
            None
        };
        let now = self.time.wall_clock(machine);
        let claimed = self.store.claim(&worker, instance, limit, None, now);
        let claimed: Vec<RunId> = claimed.await?.iter().map(|claimed| claimed.run).collect();
        self.record_call("claim", || format!("{worker} {claimed:?}"));
        if let Some(mut expected) = expected_claims {
            let mut found = claimed.clone();
            found.sort_unstable();
            expected.sort_unstable();
            anyhow::ensure!(
                found == expected,
                "order: {found:?} were claimed, next in line were {expected:?}"
            );
        }
        for run in claimed {
            self.agents.record_claim(run, &worker)?;
            // Most turns begin at once, and a few begin late, as on a busy machine.
            let pause = match self.rng.below(40) {
                // If the fence is removed, all workers are slow, so that only the fence could stop them.
                _ if self.defect == Defect::NoFence => self.rng.below(2 * MINUTE),
                0 => self.rng.below(5 * MINUTE),
                1..8 => self.rng.below(10 * SECOND),
                _ => self.rng.below(SECOND / 5),
            };
            let secret = self.turn_secret();
            self.servers[index].turns.push(SimulatedTurn {
                run,
                secret,
                automation: None,
                stage: TurnStage::Claimed,
                lease_until,
                heartbeat_at,
                acts_at: self.time.now + pause,
                remaining_writes: self.rng.below(4),
                live_text_bytes: 0,
                cancelled: None,
                begin_in_doubt: false,
            });
        }
        Ok(())
    }

    async fn begin_turn(&mut self, index: usize, turn: usize) -> anyhow::Result<()> {
        let server = &self.servers[index];
        let instance = server.host.instance;
        let (run, secret) = (server.turns[turn].run, Some(server.turns[turn].secret));
        // The run may have begun without a reply: in this turn, or in an earlier turn of this run that was deferred and
        // claimed again.
        let mut of_run = server.turns.iter().filter(|turn| turn.run == run);
        let unsure = of_run.any(|turn| turn.begin_in_doubt);
        let now = self.time.wall_clock(server.machine);
        let own = self.agents.is_owned_by(run, &server.host.worker);
        let worker = self.writing_worker(&server.host.worker, run).await?;
        let before = if own {
            0
        } else {
            sql::writes(&self.store).await?
        };
        let begun = self
            .store
            .begin(run, &worker, instance, now, secret)
            .await?;
        self.record_call("begin", || format!("{worker} {run} {}", begin_name(&begun)));
        if !own {
            anyhow::ensure!(
                matches!(begun, StartReply::Fenced) && sql::writes(&self.store).await? == before,
                "I4: {run} is no longer of {worker}, and yet begins: {}",
                begin_name(&begun)
            );
        }
        let deferred = matches!(begun, StartReply::Deferred);
        if !self.calm && self.rng.one_in(if deferred { 2 } else { 25 }) {
            return self.lose_begin_reply(index, turn, &begun).await;
        }
        match begun {
            StartReply::Started(assignment) => {
                let lease_until = self.servers[index].turns[turn].lease_until;
                let now = self.time.now;
                self.agents
                    .start(assignment.seat.id, run, lease_until, now)?;
                let turn = &mut self.servers[index].turns[turn];
                turn.automation = assignment.run.automation_id;
                turn.stage = TurnStage::Running;
                turn.acts_at = now + self.rng.below(30 * SECOND);
            }
            StartReply::Fenced => {
                anyhow::ensure!(
                    !own || unsure,
                    "I4: {run} is of {worker}, and yet cannot begin"
                );
                self.servers[index].turns.remove(turn);
            }
            StartReply::RunPrecheck(_)
            | StartReply::Deferred
            | StartReply::Cancelled
            | StartReply::Refused(_) => {
                self.servers[index].turns.remove(turn);
                self.record_unstarted_run(run, &begun).await?;
            }
        }
        self.servers[index].claims_at = self.time.now;
        Ok(())
    }

    /// Loses the reply to a begin. The worker sends it again.
    async fn lose_begin_reply(
        &mut self,
        index: usize,
        turn: usize,
        begun: &StartReply,
    ) -> anyhow::Result<()> {
        let turn = &mut self.servers[index].turns[turn];
        turn.begin_in_doubt = true;
        turn.acts_at = self.time.now + self.rng.between(SECOND / 2, MINUTE);
        let run = turn.run;
        self.trace_event(|| "... and the answer is lost".into());
        match begun {
            StartReply::Started(_) | StartReply::Fenced => {}
            StartReply::RunPrecheck(_)
            | StartReply::Deferred
            | StartReply::Cancelled
            | StartReply::Refused(_) => {
                self.record_unstarted_run(run, begun).await?;
            }
        }
        Ok(())
    }

    /// Records a run that was deferred, or that ended before it began.
    async fn record_unstarted_run(&mut self, run: RunId, begun: &StartReply) -> anyhow::Result<()> {
        self.agents.release(run);
        if matches!(begun, StartReply::Deferred)
            && let Some(automation) = self.store.run(Scope::System, run).await?.automation_id
        {
            *self.redeferred.entry(automation).or_default() += 1;
        }
        self.note_pauses().await
    }

    async fn send_heartbeat(&mut self, index: usize, turn: usize) -> anyhow::Result<()> {
        let server = &self.servers[index];
        let (worker, lease) = (server.host.worker.clone(), server.lease());
        let (run, heartbeat) = (server.turns[turn].run, server.heartbeat());
        let now = self.time.wall_clock(server.machine);
        let own = self.agents.is_owned_by(run, &worker);
        let answer = self.store.renew_heartbeats(&worker, &[run], now).await?;
        let answer = answer.into_iter().next().unwrap_or(HeartbeatReply::Fenced);
        self.record_call("heartbeat", || format!("{worker} {run} {answer:?}"));
        anyhow::ensure!(
            own != (answer == HeartbeatReply::Fenced),
            "I4: a heartbeat of {run} by {worker} is answered {answer:?}"
        );
        let now = self.time.now;
        let zombie = self.rng.one_in(2);
        let turn = &mut self.servers[index].turns[turn];
        turn.heartbeat_at = now + heartbeat;
        match answer {
            HeartbeatReply::Continue => self.agents.renew(run, now + lease, now),
            HeartbeatReply::Cancel(reason) => {
                self.agents.renew(run, now + lease, now);
                turn.cancelled = Some(reason);
                turn.acts_at = turn.acts_at.min(now + SECOND);
                turn.remaining_writes = 0;
            }
            HeartbeatReply::Fenced => {
                self.agents.end_turn(run);
                // A correct worker stops here. A worker that goes on must be stopped by the fence of its writes.
                turn.stage = TurnStage::Lost;
                turn.remaining_writes = turn.remaining_writes.min(i64::from(zombie));
                turn.acts_at = now + SECOND;
            }
        }
        Ok(())
    }

    async fn advance_turn(&mut self, index: usize, turn: usize) -> anyhow::Result<()> {
        let server = &self.servers[index];
        let machine = server.machine;
        let taken = server.turns[turn].clone();
        let worker = self.writing_worker(&server.host.worker, taken.run).await?;
        let (run, now) = (taken.run, self.time.wall_clock(machine));
        let own = self.agents.is_owned_by(run, &server.host.worker);
        if taken.remaining_writes > 0
            && self.agents.is_alive(run, self.time.now) == (taken.stage == TurnStage::Running)
        {
            let before = if own {
                0
            } else {
                sql::writes(&self.store).await?
            };
            let settled = if self.rng.one_in(2) {
                let text = "wörk ";
                let settled =
                    self.store
                        .append_live_text(run, &worker, taken.live_text_bytes, text, now);
                let settled = settled.await?;
                self.record_call("write_live", || format!("{worker} {run} {settled:?}"));
                self.servers[index].turns[turn].live_text_bytes += i64::try_from(text.len())?;
                settled
            } else {
                let entry = self.random_entry();
                let settled = self.store.record(run, &worker, &[entry], now).await?;
                self.record_call("record", || format!("{worker} {run} {settled:?}"));
                settled
            };
            self.check_fence(own, before, settled, run).await?;
            let pause = match self.rng.below(30) {
                0 => self.rng.below(10 * MINUTE),
                _ => self.rng.below(20 * SECOND),
            };
            let turn = &mut self.servers[index].turns[turn];
            turn.remaining_writes -= 1;
            turn.acts_at = self.time.now + pause;
            return Ok(());
        }
        let finished = self.random_end(&taken);
        if let (TurnStage::Running, Outcome::Stopped(reason)) = (taken.stage, &finished.outcome) {
            self.agents.record_stop(run, *reason);
        }
        // The agent's processes have ended before the end is written.
        self.agents.end_turn(run);
        self.finish_turn(index, turn, &worker, &finished).await
    }

    /// Writes the end of a turn whose agent has ended.
    pub(crate) async fn finish_turn(
        &mut self,
        index: usize,
        turn: usize,
        worker: &WorkerId,
        finished: &TurnResult,
    ) -> anyhow::Result<()> {
        let lost_answer = !self.calm && self.rng.one_in(25);
        let server = &mut self.servers[index];
        let turn = if lost_answer {
            // The reply is lost, so the worker writes the end again.
            server.turns[turn].acts_at = self.time.now + SECOND;
            server.turns[turn].remaining_writes = 0;
            server.turns[turn].clone()
        } else {
            server.turns.remove(turn)
        };
        let now = self.time.wall_clock(server.machine);
        server.claims_at = self.time.now;
        let own = self.agents.is_owned_by(turn.run, &server.host.worker);
        let before = if own {
            0
        } else {
            sql::writes(&self.store).await?
        };
        let settled = self.store.finish(turn.run, worker, finished, now).await?;
        let outcome = &finished.outcome;
        self.record_call("finish", || {
            format!("{worker} {} {outcome:?} {settled:?}", turn.run)
        });
        self.check_fence(own, before, settled, turn.run).await?;
        if settled == WriteOutcome::Committed {
            self.agents.release(turn.run);
            if turn.automation.is_some() && *outcome != Outcome::Stopped(StopReason::EndTurn) {
                self.note_pauses().await?;
            }
            self.wake_pools();
        }
        Ok(())
    }

    /// Checks that a write of the run's owner is committed, and that a write of any other worker changes nothing (I4).
    async fn check_fence(
        &self,
        own: bool,
        before: i64,
        settled: WriteOutcome,
        run: RunId,
    ) -> anyhow::Result<()> {
        anyhow::ensure!(
            own == (settled == WriteOutcome::Committed),
            "I4: a write of {run} is {settled:?}, and the run is the worker's: {own}"
        );
        anyhow::ensure!(
            own || sql::writes(&self.store).await? == before,
            "I4: a write of {run} was lost, and yet changed something"
        );
        Ok(())
    }

    /// Returns the worker in whose name a write is made: the worker itself, except with the defect `NoFence`.
    async fn writing_worker(&self, worker: &WorkerId, run: RunId) -> anyhow::Result<WorkerId> {
        if self.defect == Defect::NoFence {
            let run = self.store.run(Scope::System, run).await;
            let owner = run.ok().and_then(|run| run.state.worker_id().cloned());
            return Ok(owner.unwrap_or_else(|| worker.clone()));
        }
        Ok(worker.clone())
    }

    fn random_entry(&mut self) -> Entry {
        let bytes = self.rng.below(i64::MAX);
        Entry {
            id: MessageId::from_uuid(uuid::Uuid::from_u128(u128::from(bytes.unsigned_abs()))),
            role: self.rng.choose([Role::Tool, Role::Assistant]),
            kind: self.rng.choose([EntryKind::ToolCall, EntryKind::Thought]),
            content: "looks".into(),
            metadata: json!({}),
        }
    }

    /// Returns a random end of a turn.
    fn random_end(&mut self, turn: &SimulatedTurn) -> TurnResult {
        let answered = |reason: StopReason| TurnResult {
            answer: "Done.".into(),
            acp_session_id: Some(AcpSessionId::new("memory")),
            turn_ended: true,
            ..TurnResult::with_outcome(Outcome::Stopped(reason))
        };
        let died =
            turn.stage == TurnStage::Running && !self.agents.is_alive(turn.run, self.time.now);
        if died {
            return finished_with_failure(FailureKind::AgentExited, true);
        }
        if self.calm {
            return answered(StopReason::EndTurn);
        }
        match (&turn.cancelled, self.rng.below(100)) {
            (Some(_), 0..20) => answered(StopReason::Cancelled),
            (Some(reason), 20..90) => TurnResult::with_outcome(Outcome::Cancelled(reason.clone())),
            (_, 0..10) => {
                let reasons = StopReason::ALL;
                answered(self.rng.pick(reasons).unwrap_or(StopReason::Refusal))
            }
            (_, 10..30) => {
                let kind = self.rng.pick(FailureKind::ALL);
                let prompted = self.rng.one_in(2);
                finished_with_failure(kind.unwrap_or(FailureKind::Timeout), prompted)
            }
            (_, 30..35) => TurnResult {
                answer: String::new(),
                ..answered(StopReason::EndTurn)
            },
            _ => answered(StopReason::EndTurn),
        }
    }
}

/// Returns the end of a turn that failed.
pub(crate) fn finished_with_failure(kind: FailureKind, prompted: bool) -> TurnResult {
    TurnResult::with_outcome(Outcome::Failed(RunFailure {
        kind,
        prompted,
        message: "it broke".into(),
    }))
}

fn begin_name(begun: &StartReply) -> &'static str {
    match begun {
        StartReply::Started(_) => "started",
        StartReply::RunPrecheck(_) => "to be asked about",
        StartReply::Deferred => "held",
        StartReply::Cancelled => "cancelled",
        StartReply::Refused(_) => "refused",
        StartReply::Fenced => "lost",
    }
}
