//! What servers do by themselves: they fire, watch, claim, and take turns.

use daemon::{scheduler, watchdog};
use model::{
    AcpSessionId, MessageId, RunId, WorkerId,
    outcome::{Failure, FailureKind, Outcome, StopReason},
    turn::{Beat, Begin, Entry, EntryKind, Finished, Role, Settled},
};
use serde_json::json;
use store::Scope;

use crate::{
    breaks::Break,
    server::{Stage, TICK, Task, Turn},
    sql,
    time::{MINUTE, SECOND},
    world::World,
};

impl World {
    /// A server does what it does next.
    pub(crate) async fn serve(&mut self, index: usize) -> anyhow::Result<()> {
        match self.servers[index].task().1 {
            Task::Schedule => self.schedule(index).await,
            Task::Watch => self.watch(index).await,
            Task::Claim => self.claim(index).await,
            Task::Beat(turn) => self.beat(index, turn).await,
            Task::Act(turn) => match self.servers[index].turns[turn].stage {
                Stage::Claimed => self.begin(index, turn).await,
                Stage::Taken | Stage::Lost => self.act(index, turn).await,
            },
        }
    }

    async fn schedule(&mut self, index: usize) -> anyhow::Result<()> {
        let server = &self.servers[index];
        let (host, now) = (server.host.clone(), self.time.clock(server.machine));
        // What an end should have promoted is a fault that the sweep would mend.
        let swept = self.store.promote_due(now).await?;
        self.did("promote_due", || format!("{swept:?}"));
        anyhow::ensure!(swept.faults == 0, "I3: inputs were left behind: {swept:?}");
        let next = if self.chance.one_in(4) {
            while self.store.fire_due(Scope::System, now).await?.more {}
            let swept = self.store.promote_due(now).await?;
            self.did("fire_due", || format!("{swept:?}"));
            anyhow::ensure!(swept.faults == 0, "I3: inputs were left behind: {swept:?}");
            self.store.outlook(now).await?.next()
        } else {
            let tick = scheduler::tick(&host, now).await?;
            self.did("scheduler::tick", || format!("{tick:?}"));
            if tick.started > 0 {
                self.check_limits().await?;
            }
            tick.next
        };
        self.schedules.looked(now.as_microsecond());
        let sleep = next.map_or(TICK, |at| {
            let until = at.as_microsecond() - now.as_microsecond();
            until.clamp(SECOND / 4, TICK)
        });
        self.servers[index].schedules_at = self.time.now + sleep;
        self.wake_pools();
        Ok(())
    }

    /// Something may have been queued.
    fn wake_pools(&mut self) {
        let now = self.time.now;
        for server in &mut self.servers {
            server.claims_at = server.claims_at.min(now + self.chance.below(SECOND));
        }
    }

    async fn watch(&mut self, index: usize) -> anyhow::Result<()> {
        let server = &self.servers[index];
        let (host, machine) = (server.host.clone(), server.machine);
        let (now, at) = (self.time.clock(machine), self.time.of_process(machine));
        let given_up = if self.broken == Break::TrustsLeapingClock {
            watchdog::tick(&host, now).await?
        } else {
            self.servers[index].watch.look(&host, now, at).await?
        };
        self.did("watchdog", || format!("{} {given_up:?}", host.worker));
        let gave_up = !given_up.is_empty();
        for run in given_up {
            anyhow::ensure!(
                !self.agents.lives(run, self.time.now),
                "I2: {run} is given up while its agent is at work"
            );
            anyhow::ensure!(
                self.agents.released(run).is_some(),
                "I4: {run} is given up, which nobody has"
            );
        }
        if gave_up {
            self.note_pauses().await?;
            self.poke();
        }
        let pause = self.chance.between(5 * SECOND, MINUTE);
        self.servers[index].watches_at = self.time.now + pause;
        Ok(())
    }

    async fn claim(&mut self, index: usize) -> anyhow::Result<()> {
        let server = &mut self.servers[index];
        server.claims_at = self.time.now + TICK;
        let (limit, machine) = (server.free(), server.machine);
        if limit == 0 {
            return Ok(());
        }
        let (worker, instance) = (server.host.worker.clone(), server.host.instance);
        let lease_until = self.time.now + server.lease();
        let heartbeat_at = self.time.now + server.heartbeat();
        let expected_claims = if self.chance.one_in(8) {
            Some(self.expected_claims(instance, limit).await?)
        } else {
            None
        };
        let now = self.time.clock(machine);
        let claimed = self.store.claim(&worker, instance, limit, None, now);
        let claimed: Vec<RunId> = claimed.await?.iter().map(|claimed| claimed.run).collect();
        self.did("claim", || format!("{worker} {claimed:?}"));
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
            self.agents.claimed(run, &worker)?;
            // Most turns begin at once; a few on a machine that has other things to do.
            let pause = match self.chance.below(40) {
                // Where only the fence is to be tried, everybody is slow.
                _ if self.broken == Break::NoFence => self.chance.below(2 * MINUTE),
                0 => self.chance.below(5 * MINUTE),
                1..8 => self.chance.below(10 * SECOND),
                _ => self.chance.below(SECOND / 5),
            };
            self.servers[index].turns.push(Turn {
                run,
                automation: None,
                stage: Stage::Claimed,
                lease_until,
                heartbeat_at,
                acts_at: self.time.now + pause,
                acts: self.chance.below(4),
                written: 0,
                cancelled: None,
                unsure: false,
            });
        }
        Ok(())
    }

    async fn begin(&mut self, index: usize, turn: usize) -> anyhow::Result<()> {
        let server = &self.servers[index];
        let instance = server.host.instance;
        let run = server.turns[turn].run;
        // It may have begun already, unheard: by this turn, or by one of the same run that was claimed,
        // held and claimed again.
        let mut of_run = server.turns.iter().filter(|turn| turn.run == run);
        let unsure = of_run.any(|turn| turn.unsure);
        let now = self.time.clock(server.machine);
        let own = self.agents.is_of(run, &server.host.worker);
        let worker = self.writer(&server.host.worker, run).await?;
        let before = if own {
            0
        } else {
            sql::writes(&self.store).await?
        };
        let begun = self.store.begin(run, &worker, instance, now).await?;
        self.did("begin", || format!("{worker} {run} {}", name(&begun)));
        if !own {
            anyhow::ensure!(
                matches!(begun, Begin::Lost) && sql::writes(&self.store).await? == before,
                "I4: {run} is no longer of {worker}, and yet begins: {}",
                name(&begun)
            );
        }
        let unlucky = if matches!(begun, Begin::Held) { 2 } else { 25 };
        if !self.calm && self.chance.one_in(unlucky) {
            return self.lose_begin_reply(index, turn, &begun).await;
        }
        match begun {
            Begin::Started(assignment) => {
                let lease_until = self.servers[index].turns[turn].lease_until;
                let now = self.time.now;
                self.agents
                    .start(assignment.seat.id, run, lease_until, now)?;
                let turn = &mut self.servers[index].turns[turn];
                turn.automation = assignment.run.automation_id;
                turn.stage = Stage::Taken;
                turn.acts_at = now + self.chance.below(30 * SECOND);
            }
            Begin::Lost => {
                anyhow::ensure!(
                    !own || unsure,
                    "I4: {run} is of {worker}, and yet cannot begin"
                );
                self.servers[index].turns.remove(turn);
            }
            Begin::Ask(_) | Begin::Held | Begin::Cancelled | Begin::Refused(_) => {
                self.servers[index].turns.remove(turn);
                self.record_unstarted_run(run, &begun).await?;
            }
        }
        self.servers[index].claims_at = self.time.now;
        Ok(())
    }

    /// The connection broke before a wish to begin was answered: it is made again.
    async fn lose_begin_reply(
        &mut self,
        index: usize,
        turn: usize,
        begun: &Begin,
    ) -> anyhow::Result<()> {
        let turn = &mut self.servers[index].turns[turn];
        turn.unsure = true;
        turn.acts_at = self.time.now + self.chance.between(SECOND / 2, MINUTE);
        let run = turn.run;
        self.note(|| "... and the answer is lost".into());
        match begun {
            Begin::Started(_) | Begin::Lost => {}
            Begin::Ask(_) | Begin::Held | Begin::Cancelled | Begin::Refused(_) => {
                self.record_unstarted_run(run, begun).await?;
            }
        }
        Ok(())
    }

    /// A run went back to wait, or ended before it began.
    async fn record_unstarted_run(&mut self, run: RunId, begun: &Begin) -> anyhow::Result<()> {
        self.agents.released(run);
        if matches!(begun, Begin::Held)
            && let Some(automation) = self.store.run(Scope::System, run).await?.automation_id
        {
            *self.held.entry(automation).or_default() += 1;
        }
        self.note_pauses().await
    }

    async fn beat(&mut self, index: usize, turn: usize) -> anyhow::Result<()> {
        let server = &self.servers[index];
        let (worker, lease) = (server.host.worker.clone(), server.lease());
        let (run, heartbeat) = (server.turns[turn].run, server.heartbeat());
        let now = self.time.clock(server.machine);
        let own = self.agents.is_of(run, &worker);
        let answer = self.store.heartbeat(&worker, &[run], now).await?;
        let answer = answer.into_iter().next().unwrap_or(Beat::Lost);
        self.did("heartbeat", || format!("{worker} {run} {answer:?}"));
        anyhow::ensure!(
            own != (answer == Beat::Lost),
            "I4: a heartbeat of {run} by {worker} is answered {answer:?}"
        );
        let now = self.time.now;
        let zombie = self.chance.one_in(2);
        let turn = &mut self.servers[index].turns[turn];
        turn.heartbeat_at = now + heartbeat;
        match answer {
            Beat::Continue => self.agents.renew(run, now + lease, now),
            Beat::Cancel(reason) => {
                self.agents.renew(run, now + lease, now);
                turn.cancelled = Some(reason);
                turn.acts_at = turn.acts_at.min(now + SECOND);
                turn.acts = 0;
            }
            Beat::Lost => {
                self.agents.ends(run);
                // A worker stops here. One that does not must be stopped by its writes.
                turn.stage = Stage::Lost;
                turn.acts = turn.acts.min(i64::from(zombie));
                turn.acts_at = now + SECOND;
            }
        }
        Ok(())
    }

    async fn act(&mut self, index: usize, turn: usize) -> anyhow::Result<()> {
        let server = &self.servers[index];
        let machine = server.machine;
        let taken = server.turns[turn].clone();
        let worker = self.writer(&server.host.worker, taken.run).await?;
        let (run, now) = (taken.run, self.time.clock(machine));
        let own = self.agents.is_of(run, &server.host.worker);
        if taken.acts > 0 && self.agents.lives(run, self.time.now) == (taken.stage == Stage::Taken)
        {
            let before = if own {
                0
            } else {
                sql::writes(&self.store).await?
            };
            let settled = if self.chance.one_in(2) {
                let text = "wörk ";
                let settled = self
                    .store
                    .write_live(run, &worker, taken.written, text, now);
                let settled = settled.await?;
                self.did("write_live", || format!("{worker} {run} {settled:?}"));
                self.servers[index].turns[turn].written += i64::try_from(text.len())?;
                settled
            } else {
                let entry = self.entry();
                let settled = self.store.record(run, &worker, &[entry], now).await?;
                self.did("record", || format!("{worker} {run} {settled:?}"));
                settled
            };
            self.check_fence(own, before, settled, run).await?;
            let pause = match self.chance.below(30) {
                0 => self.chance.below(10 * MINUTE),
                _ => self.chance.below(20 * SECOND),
            };
            let turn = &mut self.servers[index].turns[turn];
            turn.acts -= 1;
            turn.acts_at = self.time.now + pause;
            return Ok(());
        }
        let finished = self.random_end(&taken);
        if let (Stage::Taken, Outcome::Stopped(reason)) = (taken.stage, &finished.outcome) {
            self.agents.stops(run, *reason);
        }
        // The agent's processes are gone before the end is written.
        self.agents.ends(run);
        self.end(index, turn, &worker, &finished).await
    }

    /// Ends a turn. Its agent is gone.
    pub(crate) async fn end(
        &mut self,
        index: usize,
        turn: usize,
        worker: &WorkerId,
        finished: &Finished,
    ) -> anyhow::Result<()> {
        let lost_answer = !self.calm && self.chance.one_in(25);
        let server = &mut self.servers[index];
        let turn = if lost_answer {
            // The connection breaks before the answer: the end is written again.
            server.turns[turn].acts_at = self.time.now + SECOND;
            server.turns[turn].acts = 0;
            server.turns[turn].clone()
        } else {
            server.turns.remove(turn)
        };
        let now = self.time.clock(server.machine);
        server.claims_at = self.time.now;
        let own = self.agents.is_of(turn.run, &server.host.worker);
        let before = if own {
            0
        } else {
            sql::writes(&self.store).await?
        };
        let settled = self.store.finish(turn.run, worker, finished, now).await?;
        let outcome = &finished.outcome;
        self.did("finish", || {
            format!("{worker} {} {outcome:?} {settled:?}", turn.run)
        });
        self.check_fence(own, before, settled, turn.run).await?;
        if settled == Settled::Written {
            self.agents.released(turn.run);
            if turn.automation.is_some() && *outcome != Outcome::Stopped(StopReason::EndTurn) {
                self.note_pauses().await?;
            }
            self.wake_pools();
        }
        Ok(())
    }

    /// A write of a run that is the worker's is written, and one of any other run changes nothing (I4).
    async fn check_fence(
        &self,
        own: bool,
        before: i64,
        settled: Settled,
        run: RunId,
    ) -> anyhow::Result<()> {
        anyhow::ensure!(
            own == (settled == Settled::Written),
            "I4: a write of {run} is {settled:?}, and the run is the worker's: {own}"
        );
        anyhow::ensure!(
            own || sql::writes(&self.store).await? == before,
            "I4: a write of {run} was lost, and yet changed something"
        );
        Ok(())
    }

    /// In whose name a worker writes: its own.
    async fn writer(&self, worker: &WorkerId, run: RunId) -> anyhow::Result<WorkerId> {
        if self.broken == Break::NoFence {
            let run = self.store.run(Scope::System, run).await;
            let owner = run.ok().and_then(|run| run.state.worker_id().cloned());
            return Ok(owner.unwrap_or_else(|| worker.clone()));
        }
        Ok(worker.clone())
    }

    fn entry(&mut self) -> Entry {
        let bytes = self.chance.below(i64::MAX);
        Entry {
            id: MessageId::from_uuid(uuid::Uuid::from_u128(u128::from(bytes.unsigned_abs()))),
            role: self.chance.of([Role::Tool, Role::Assistant]),
            kind: self.chance.of([EntryKind::ToolCall, EntryKind::Thought]),
            content: "looks".into(),
            metadata: json!({}),
        }
    }

    /// How a turn ends.
    fn random_end(&mut self, turn: &Turn) -> Finished {
        let answered = |reason: StopReason| Finished {
            answer: "Done.".into(),
            acp_session_id: Some(AcpSessionId::new("memory")),
            turn_ended: true,
            ..Finished::bare(Outcome::Stopped(reason))
        };
        let died = turn.stage == Stage::Taken && !self.agents.lives(turn.run, self.time.now);
        if died {
            return failed(FailureKind::AgentExited, true);
        }
        if self.calm {
            return answered(StopReason::EndTurn);
        }
        match (&turn.cancelled, self.chance.below(100)) {
            (Some(_), 0..20) => answered(StopReason::Cancelled),
            (Some(reason), 20..90) => Finished::bare(Outcome::Cancelled(reason.clone())),
            (_, 0..10) => {
                let reasons = StopReason::ALL;
                answered(self.chance.pick(reasons).unwrap_or(StopReason::Refusal))
            }
            (_, 10..30) => {
                let kind = self.chance.pick(FailureKind::ALL);
                let prompted = self.chance.one_in(2);
                failed(kind.unwrap_or(FailureKind::Timeout), prompted)
            }
            (_, 30..35) => Finished {
                answer: String::new(),
                ..answered(StopReason::EndTurn)
            },
            _ => answered(StopReason::EndTurn),
        }
    }
}

/// The end of a turn by a failure.
pub(crate) fn failed(kind: FailureKind, prompted: bool) -> Finished {
    Finished::bare(Outcome::Failed(Failure {
        kind,
        prompted,
        message: "it broke".into(),
    }))
}

fn name(begun: &Begin) -> &'static str {
    match begun {
        Begin::Started(_) => "started",
        Begin::Ask(_) => "to be asked about",
        Begin::Held => "held",
        Begin::Cancelled => "cancelled",
        Begin::Refused(_) => "refused",
        Begin::Lost => "lost",
    }
}
