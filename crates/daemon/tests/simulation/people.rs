//! The actions of people.

use model::{
    entity::SeatSettings,
    permission::PermissionRules,
    policy::{CatchUp, OnCrash, Overlap, Policies, Retry, SessionMode},
    schedule::{QuietHours, Spec},
    session::{SessionEvent, SessionKind, SessionStatus, SessionType},
};
use store::{Error, NewAutomation, NewSeat, NewSession, Scope, SessionDeletion};

use crate::{
    schedules::random_schedule,
    time::{HOUR, MINUTE, SECOND},
    world::World,
};

/// Turns a refusal of the store into `None`. Returns any other error.
fn accept_refusals<T>(result: Result<T, Error>) -> anyhow::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Error::Refused(_) | Error::NotFound { .. } | Error::NameTaken { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl World {
    /// Runs a random action of a person, or injects a fault.
    pub(crate) async fn run_random_action(&mut self) -> anyhow::Result<()> {
        self.time.now += match self.rng.below(3) {
            0 => 0,
            1 => self.rng.below(SECOND),
            _ => self.rng.below(10 * SECOND),
        };
        match self.rng.below(100) {
            0..35 => self.send_message().await,
            35..53 => self.fire_on_demand().await,
            53..61 => self.cancel_runs().await,
            61..72 => self.move_session().await,
            72..78 => self.pause_or_resume().await,
            78..80 => self.reset().await,
            80..84 => self.create_automation().await,
            84..88 => self.create_session().await,
            88 => self.delete_automation_or_session().await,
            _ => self.inject_fault().await,
        }
    }

    async fn create_session(&mut self) -> anyhow::Result<()> {
        if self.sessions.len() >= 4 {
            return self.send_message().await;
        }
        let id = self.session_id();
        let key = self.random_session_key();
        let new = NewSession {
            id,
            kind: SessionKind::Interactive,
            session_type: SessionType::Regular,
            key: Some(key),
            title: None,
            draft: false,
            channel: None,
            cwd: None,
            placed_on: None,
            automation_id: None,
            entry: NewSeat::only(self.agent, SeatSettings::default()),
            other_seats: Vec::new(),
        };
        let made = self
            .store
            .create_session(self.tenant, &new, self.person_clock());
        let made = accept_refusals(made.await)?;
        self.record_call("create_session", || format!("{:?} {made:?}", new.key));
        self.sessions.extend(made.map(|made| made.0));
        Ok(())
    }

    fn random_session_key(&mut self) -> String {
        format!("web:{}", self.rng.below(4))
    }

    async fn create_automation(&mut self) -> anyhow::Result<()> {
        if self.automations.len() >= 5 {
            return self.fire_on_demand().await;
        }
        let modes = [
            SessionMode::Fresh,
            SessionMode::Continuous,
            SessionMode::Bound,
        ];
        let mode = self.rng.choose(modes);
        let (policies, quiet) = self.random_policies(mode)?;
        let now = self.person_clock();
        let mut rhythms = Vec::new();
        let mut triggers = Vec::new();
        for _ in 0..=self.rng.below(2) {
            let (spec, rhythm) = random_schedule(&mut self.rng, now.as_microsecond())?;
            rhythms.push(rhythm);
            triggers.push(spec);
        }
        let new = NewAutomation {
            name: format!("job {}", self.steps),
            prompt: "Do it.".into(),
            agent: self.agent,
            cwd: None,
            placed_on: None,
            session_mode: mode,
            bound_session_key: (mode == SessionMode::Bound).then(|| self.random_session_key()),
            policies: policies.clone(),
            settings: SeatSettings::default(),
            permissions: PermissionRules::default(),
            triggers,
        };
        let id = self.store.create_automation(self.tenant, None, &new, now);
        let id = id.await?;
        self.record_call("create_automation", || {
            format!("{id} {mode} {:?} {:?}", new.triggers, new.policies)
        });
        self.automations.push(id);
        self.queue_limits
            .insert(id, i64::from(policies.queue_limit));
        let made = self.store.triggers(Scope::System, id).await?;
        let timed = made
            .iter()
            .filter(|trigger| trigger.spec != Spec::Manual {});
        for trigger in timed {
            let place = new.triggers.iter().position(|spec| *spec == trigger.spec);
            let rhythm = place.and_then(|place| rhythms.get(place));
            let rhythm = rhythm.copied().ok_or_else(|| {
                anyhow::anyhow!("I1: {id} has a trigger that no person requested: {trigger:?}")
            })?;
            self.schedules.add(
                trigger.id,
                id,
                rhythm,
                policies.clone(),
                quiet,
                now.as_microsecond(),
            );
        }
        self.wake_servers();
        Ok(())
    }

    /// Returns random policies, with the quiet hours as microseconds of the day.
    fn random_policies(
        &mut self,
        mode: SessionMode,
    ) -> anyhow::Result<(Policies, Option<(i64, i64)>)> {
        let overlap = match mode {
            SessionMode::Fresh => self.rng.choose([
                Overlap::Queue,
                Overlap::Skip,
                Overlap::CancelRunning,
                Overlap::Allow,
            ]),
            SessionMode::Continuous => {
                self.rng
                    .choose([Overlap::Queue, Overlap::Skip, Overlap::CancelRunning])
            }
            SessionMode::Bound => self.rng.choose([Overlap::Queue, Overlap::Skip]),
        };
        let catch_up = self
            .rng
            .choose([CatchUp::None, CatchUp::Latest, CatchUp::All]);
        let (mut quiet_hours, mut quiet) = (QuietHours::default(), None);
        if self.rng.one_in(3) {
            let (from, until) = (self.rng.below(12), self.rng.between(12, 24));
            // Half of the quiet hours cross midnight.
            let (from, until) = if self.rng.one_in(2) {
                (from, until)
            } else {
                (until, from)
            };
            let window = format!("{from:02}:00-{until:02}:00");
            quiet_hours = QuietHours::new(vec![window.parse()?])?;
            quiet = Some((from * HOUR, until * HOUR));
        }
        let policies = Policies {
            overlap: Some(overlap),
            queue_limit: u32::try_from(self.rng.between(1, 4))?,
            catch_up,
            catch_up_window_seconds: self.rng.choose([0, 30 * 60, 2 * 60 * 60]),
            jitter_seconds: self.rng.choose([0, 0, 30, 300]),
            quiet_hours,
            retry: Retry {
                attempts: u32::try_from(self.rng.between(1, 4))?,
                backoff_seconds: self.rng.choose([0, 10, 60]),
                ..Retry::default()
            },
            on_crash: self
                .rng
                .choose([OnCrash::Retry, OnCrash::Retry, OnCrash::Fail]),
            pause_after_failures: self.rng.choose([0, 2, 5]),
            ..Policies::default()
        };
        policies.validate(mode)?;
        Ok((policies, quiet))
    }

    async fn send_message(&mut self) -> anyhow::Result<()> {
        let session = if self.rng.one_in(6) {
            // A person writes into the session of an automation.
            let sessions = self.store.sessions(Scope::System, None, None, 10).await?;
            let sessions: Vec<_> = sessions.iter().map(|session| session.id).collect();
            self.rng.pick(&sessions)
        } else {
            self.rng.pick(&self.sessions)
        };
        let Some(session) = session else {
            return Box::pin(self.create_session()).await;
        };
        let said =
            self.store
                .send_message(self.tenant, session, None, "hello", self.person_clock());
        let said = accept_refusals(said.await)?;
        self.record_call("say", || format!("{session} {said:?}"));
        self.expected_inputs.messages += i64::from(said.is_some());
        self.wake_servers();
        Ok(())
    }

    async fn fire_on_demand(&mut self) -> anyhow::Result<()> {
        let Some(automation) = self.rng.pick(&self.automations) else {
            return Box::pin(self.create_automation()).await;
        };
        let fired = self
            .store
            .fire_automation(self.tenant, automation, None, self.person_clock());
        let fired = accept_refusals(fired.await)?;
        self.record_call("fire", || format!("{automation} {fired:?}"));
        self.expected_inputs.fires += i64::from(fired.is_some());
        self.check_limits().await?;
        self.wake_servers();
        Ok(())
    }

    async fn cancel_runs(&mut self) -> anyhow::Result<()> {
        if let Some(session) = self.rng.pick(&self.sessions)
            && self.rng.one_in(4)
        {
            let (scope, now) = (self.scope(), self.person_clock());
            let cancelled = self
                .store
                .cancel_session_runs(scope, session, "enough", now);
            let cancelled = accept_refusals(cancelled.await)?;
            self.record_call("cancel_session_runs", || format!("{session} {cancelled:?}"));
        } else {
            let open = self.random_open_run().await?;
            let Some(run) = open else { return Ok(()) };
            let (scope, now) = (self.scope(), self.person_clock());
            let cancelled = self.store.cancel_run(scope, run, "enough", now).await;
            let cancelled = accept_refusals(cancelled)?;
            self.record_call("cancel_run", || format!("{run} {cancelled:?}"));
        }
        self.wake_servers();
        Ok(())
    }

    async fn move_session(&mut self) -> anyhow::Result<()> {
        let session = self.store.sessions(Scope::System, None, None, 12).await?;
        let session: Vec<_> = session
            .iter()
            .map(|found| (found.id, found.status()))
            .collect();
        let Some((session, state)) = self.rng.pick(&session) else {
            return Ok(());
        };
        // Mostly pause and resume, because a closed session stays closed.
        let event = match (state, self.rng.below(8)) {
            (SessionStatus::Paused, _) => SessionEvent::Resume,
            (SessionStatus::Done | SessionStatus::Failed, _) => SessionEvent::Archive,
            (_, 0) => self
                .rng
                .choose([SessionEvent::Complete, SessionEvent::Fail]),
            (..) => SessionEvent::Pause,
        };
        let (scope, now) = (self.scope(), self.person_clock());
        let moved = self
            .store
            .transition_session(scope, session, event, None, now);
        let moved = accept_refusals(moved.await)?;
        self.record_call("move_session", || format!("{session} {event} {moved:?}"));
        self.wake_servers();
        Ok(())
    }

    async fn pause_or_resume(&mut self) -> anyhow::Result<()> {
        let Some(id) = self.rng.pick(&self.automations) else {
            return Ok(());
        };
        let (scope, now) = (self.scope(), self.person_clock());
        let micros = now.as_microsecond();
        if self.rng.one_in(3) {
            let paused = self.store.pause_automation(scope, id, "test", now).await;
            let paused = accept_refusals(paused)?;
            self.record_call("pause_automation", || format!("{id} {paused:?}"));
            if paused.is_some() {
                self.schedules.deactivate(id, micros);
            }
        } else {
            let resumed = self.store.resume_automation(scope, id, now).await;
            let resumed = accept_refusals(resumed)?;
            self.record_call("resume_automation", || format!("{id} {resumed:?}"));
            if resumed.is_some() {
                self.schedules.activate(id, micros);
            }
        }
        self.wake_servers();
        Ok(())
    }

    async fn reset(&mut self) -> anyhow::Result<()> {
        let Some(id) = self.rng.pick(&self.automations) else {
            return Ok(());
        };
        let reset = self
            .store
            .reset_automation(self.scope(), id, self.person_clock());
        let reset = accept_refusals(reset.await)?;
        self.record_call("reset_automation", || format!("{id} {reset:?}"));
        Ok(())
    }

    async fn delete_automation_or_session(&mut self) -> anyhow::Result<()> {
        let now = self.person_clock();
        if self.rng.one_in(2) {
            let Some(id) = self.rng.pick(&self.automations) else {
                return Ok(());
            };
            let deleted = self.store.delete_automation(self.scope(), id, now).await;
            let deleted = accept_refusals(deleted)?;
            self.record_call("delete_automation", || format!("{id} {deleted:?}"));
            self.automations.retain(|other| *other != id);
            self.schedules.deactivate(id, now.as_microsecond());
            return Ok(());
        }
        let Some(id) = self.rng.pick(&self.sessions) else {
            return Ok(());
        };
        let gone = self.deletions_with_session(id).await?;
        let with = self.rng.one_in(2);
        let deleted = self.store.delete_session(self.tenant, id, with, now).await;
        let deleted = accept_refusals(deleted)?;
        self.record_call("delete_session", || format!("{id} {deleted:?}"));
        if matches!(deleted, Some(SessionDeletion::Deleted { .. })) {
            self.sessions.retain(|other| *other != id);
            self.apply_deletions(gone).await?;
            self.note_deletions(now.as_microsecond()).await?;
        }
        self.wake_servers();
        Ok(())
    }

    /// Ends all faults: thaws servers soon, pauses automations and resumes sessions.
    pub(crate) async fn stop_faults(&mut self) -> anyhow::Result<()> {
        self.calm = true;
        self.trace_event(|| "calm".into());
        for server in &mut self.servers {
            server.frozen_until = server.frozen_until.min(self.time.now + 5 * MINUTE);
        }
        let (scope, now) = (self.scope(), self.person_clock());
        for id in self.automations.clone() {
            let paused = self.store.pause_automation(scope, id, "the end", now).await;
            if accept_refusals(paused)?.is_some() {
                self.schedules.deactivate(id, now.as_microsecond());
            }
        }
        let paused = self.store.sessions(scope, None, None, 100_000).await?;
        for session in paused {
            if session.status() == SessionStatus::Paused {
                let resumed = self.store.transition_session(
                    scope,
                    session.id,
                    SessionEvent::Resume,
                    None,
                    now,
                );
                resumed.await?;
            }
        }
        self.wake_servers();
        Ok(())
    }
}
