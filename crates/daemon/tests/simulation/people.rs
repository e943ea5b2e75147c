//! What people do.

use model::{
    entity::SeatSettings,
    permission::PermissionRules,
    policy::{CatchUp, OnCrash, Overlap, Policies, Retry, SessionMode},
    schedule::{QuietHours, Spec},
    session::{SessionEvent, SessionKind, SessionStatus, SessionType},
};
use store::{Deletion, Error, NewAutomation, NewSession, Scope};

use crate::{
    schedules::random_schedule,
    time::{HOUR, MINUTE, SECOND},
    world::World,
};

/// Refusals are answers; anything else that goes wrong is a fault.
fn answered<T>(result: Result<T, Error>) -> anyhow::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Error::Refused(_) | Error::NotFound { .. } | Error::Exists { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl World {
    /// Somebody does something, or something breaks.
    pub(crate) async fn run_random_action(&mut self) -> anyhow::Result<()> {
        self.time.now += match self.chance.below(3) {
            0 => 0,
            1 => self.chance.below(SECOND),
            _ => self.chance.below(10 * SECOND),
        };
        match self.chance.below(100) {
            0..35 => self.say().await,
            35..53 => self.fire().await,
            53..61 => self.cancel().await,
            61..72 => self.move_session().await,
            72..78 => self.pause_or_resume().await,
            78..80 => self.reset().await,
            80..84 => self.make_automation().await,
            84..88 => self.make_session().await,
            88 => self.delete().await,
            _ => self.inject_fault().await,
        }
    }

    async fn make_session(&mut self) -> anyhow::Result<()> {
        if self.sessions.len() >= 4 {
            return self.say().await;
        }
        let id = self.session_id();
        let key = self.key();
        let new = NewSession {
            id,
            kind: SessionKind::Interactive,
            session_type: SessionType::Regular,
            key: Some(key),
            title: None,
            draft: false,
            channel: None,
            cwd: self.store.working_directory(None, id),
            schedule_id: None,
            agent: self.agent,
            settings: SeatSettings::default(),
        };
        let made = self.store.create_session(self.tenant, &new, self.clock());
        let made = answered(made.await)?;
        self.did("create_session", || format!("{:?} {made:?}", new.key));
        self.sessions.extend(made.map(|made| made.0));
        Ok(())
    }

    fn key(&mut self) -> String {
        format!("web:{}", self.chance.below(4))
    }

    async fn make_automation(&mut self) -> anyhow::Result<()> {
        if self.automations.len() >= 5 {
            return self.fire().await;
        }
        let modes = [
            SessionMode::Fresh,
            SessionMode::Continuous,
            SessionMode::Bound,
        ];
        let mode = self.chance.of(modes);
        let (policies, quiet) = self.random_policies(mode)?;
        let now = self.clock();
        let mut rhythms = Vec::new();
        let mut triggers = Vec::new();
        for _ in 0..=self.chance.below(2) {
            let (spec, rhythm) = random_schedule(&mut self.chance, now.as_microsecond())?;
            rhythms.push(rhythm);
            triggers.push(spec);
        }
        let new = NewAutomation {
            name: format!("job {}", self.steps),
            prompt: "Do it.".into(),
            agent: self.agent,
            cwd: None,
            session_mode: mode,
            bound_session_key: (mode == SessionMode::Bound).then(|| self.key()),
            policies: policies.clone(),
            settings: SeatSettings::default(),
            permissions: PermissionRules::default(),
            triggers,
        };
        let id = self.store.create_automation(self.tenant, None, &new, now);
        let id = id.await?;
        self.did("create_automation", || {
            format!("{id} {mode} {:?} {:?}", new.triggers, new.policies)
        });
        self.automations.push(id);
        self.limits.insert(id, i64::from(policies.queue_limit));
        let made = self.store.triggers(Scope::System, id).await?;
        let timed = made
            .iter()
            .filter(|trigger| trigger.spec != Spec::Manual {});
        for trigger in timed {
            let place = new.triggers.iter().position(|spec| *spec == trigger.spec);
            let rhythm = place.and_then(|place| rhythms.get(place));
            let rhythm = rhythm.copied().ok_or_else(|| {
                anyhow::anyhow!("I1: {id} has a trigger that nobody asked for: {trigger:?}")
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
        self.poke();
        Ok(())
    }

    /// Policies, with the quiet hours as microseconds of the day.
    fn random_policies(
        &mut self,
        mode: SessionMode,
    ) -> anyhow::Result<(Policies, Option<(i64, i64)>)> {
        let overlap = match mode {
            SessionMode::Fresh => self.chance.of([
                Overlap::Queue,
                Overlap::Skip,
                Overlap::CancelRunning,
                Overlap::Allow,
            ]),
            SessionMode::Continuous => {
                self.chance
                    .of([Overlap::Queue, Overlap::Skip, Overlap::CancelRunning])
            }
            SessionMode::Bound => self.chance.of([Overlap::Queue, Overlap::Skip]),
        };
        let catch_up = self
            .chance
            .of([CatchUp::None, CatchUp::Latest, CatchUp::All]);
        let (mut quiet_hours, mut quiet) = (QuietHours::default(), None);
        if self.chance.one_in(3) {
            let (from, until) = (self.chance.below(12), self.chance.between(12, 24));
            // Half of them across midnight.
            let (from, until) = if self.chance.one_in(2) {
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
            queue_limit: u32::try_from(self.chance.between(1, 4))?,
            catch_up,
            catch_up_window_seconds: self.chance.of([0, 30 * 60, 2 * 60 * 60]),
            jitter_seconds: self.chance.of([0, 0, 30, 300]),
            quiet_hours,
            retry: Retry {
                attempts: u32::try_from(self.chance.between(1, 4))?,
                backoff_seconds: self.chance.of([0, 10, 60]),
                ..Retry::default()
            },
            on_crash: self
                .chance
                .of([OnCrash::Retry, OnCrash::Retry, OnCrash::Fail]),
            pause_after_failures: self.chance.of([0, 2, 5]),
            ..Policies::default()
        };
        policies.validate(mode)?;
        Ok((policies, quiet))
    }

    async fn say(&mut self) -> anyhow::Result<()> {
        let session = if self.chance.one_in(6) {
            // Somebody writes into a session that an automation made.
            let sessions = self.store.sessions(Scope::System, None, None, 10).await?;
            let sessions: Vec<_> = sessions.iter().map(|session| session.id).collect();
            self.chance.pick(&sessions)
        } else {
            self.chance.pick(&self.sessions)
        };
        let Some(session) = session else {
            return Box::pin(self.make_session()).await;
        };
        let said = self
            .store
            .say(self.tenant, session, None, "hello", self.clock());
        let said = answered(said.await)?;
        self.did("say", || format!("{session} {said:?}"));
        self.asked.words += i64::from(said.is_some());
        self.poke();
        Ok(())
    }

    async fn fire(&mut self) -> anyhow::Result<()> {
        let Some(automation) = self.chance.pick(&self.automations) else {
            return Box::pin(self.make_automation()).await;
        };
        let fired = self.store.fire(self.tenant, automation, None, self.clock());
        let fired = answered(fired.await)?;
        self.did("fire", || format!("{automation} {fired:?}"));
        self.asked.fires += i64::from(fired.is_some());
        self.check_limits().await?;
        self.poke();
        Ok(())
    }

    async fn cancel(&mut self) -> anyhow::Result<()> {
        if let Some(session) = self.chance.pick(&self.sessions)
            && self.chance.one_in(4)
        {
            let (scope, now) = (self.scope(), self.clock());
            let cancelled = self
                .store
                .cancel_session_runs(scope, session, "enough", now);
            let cancelled = answered(cancelled.await)?;
            self.did("cancel_session_runs", || format!("{session} {cancelled:?}"));
        } else {
            let open = self.random_open_run().await?;
            let Some(run) = open else { return Ok(()) };
            let (scope, now) = (self.scope(), self.clock());
            let cancelled = self.store.cancel_run(scope, run, "enough", now).await;
            let cancelled = answered(cancelled)?;
            self.did("cancel_run", || format!("{run} {cancelled:?}"));
        }
        self.poke();
        Ok(())
    }

    async fn move_session(&mut self) -> anyhow::Result<()> {
        let session = self.store.sessions(Scope::System, None, None, 12).await?;
        let session: Vec<_> = session
            .iter()
            .map(|found| (found.id, found.status()))
            .collect();
        let Some((session, state)) = self.chance.pick(&session) else {
            return Ok(());
        };
        // Mostly back and forth: what is closed is closed for good.
        let event = match (state, self.chance.below(8)) {
            (SessionStatus::Paused, _) => SessionEvent::Resume,
            (SessionStatus::Done | SessionStatus::Failed, _) => SessionEvent::Archive,
            (_, 0) => self.chance.of([SessionEvent::Complete, SessionEvent::Fail]),
            (..) => SessionEvent::Pause,
        };
        let (scope, now) = (self.scope(), self.clock());
        let moved = self.store.move_session(scope, session, event, None, now);
        let moved = answered(moved.await)?;
        self.did("move_session", || format!("{session} {event} {moved:?}"));
        self.poke();
        Ok(())
    }

    async fn pause_or_resume(&mut self) -> anyhow::Result<()> {
        let Some(id) = self.chance.pick(&self.automations) else {
            return Ok(());
        };
        let (scope, now) = (self.scope(), self.clock());
        let micros = now.as_microsecond();
        if self.chance.one_in(3) {
            let paused = self.store.pause_automation(scope, id, "test", now).await;
            let paused = answered(paused)?;
            self.did("pause_automation", || format!("{id} {paused:?}"));
            if paused.is_some() {
                self.schedules.stopped(id, micros);
            }
        } else {
            let resumed = self.store.resume_automation(scope, id, now).await;
            let resumed = answered(resumed)?;
            self.did("resume_automation", || format!("{id} {resumed:?}"));
            if resumed.is_some() {
                self.schedules.resumed(id, micros);
            }
        }
        self.poke();
        Ok(())
    }

    async fn reset(&mut self) -> anyhow::Result<()> {
        let Some(id) = self.chance.pick(&self.automations) else {
            return Ok(());
        };
        let reset = self.store.reset_automation(self.scope(), id, self.clock());
        let reset = answered(reset.await)?;
        self.did("reset_automation", || format!("{id} {reset:?}"));
        Ok(())
    }

    async fn delete(&mut self) -> anyhow::Result<()> {
        let now = self.clock();
        if self.chance.one_in(2) {
            let Some(id) = self.chance.pick(&self.automations) else {
                return Ok(());
            };
            let deleted = self.store.delete_automation(self.scope(), id, now).await;
            let deleted = answered(deleted)?;
            self.did("delete_automation", || format!("{id} {deleted:?}"));
            self.automations.retain(|other| *other != id);
            self.schedules.stopped(id, now.as_microsecond());
            return Ok(());
        }
        let Some(id) = self.chance.pick(&self.sessions) else {
            return Ok(());
        };
        let gone = self.deletions_with_session(id).await?;
        let with = self.chance.one_in(2);
        let deleted = self.store.delete_session(self.tenant, id, with, now).await;
        let deleted = answered(deleted)?;
        self.did("delete_session", || format!("{id} {deleted:?}"));
        if matches!(deleted, Some(Deletion::Done { .. })) {
            self.sessions.retain(|other| *other != id);
            self.forget(gone).await?;
            self.note_deletions(now.as_microsecond()).await?;
        }
        self.poke();
        Ok(())
    }

    /// Nothing goes wrong any more: servers are there, sessions go on, and automations rest.
    pub(crate) async fn calm(&mut self) -> anyhow::Result<()> {
        self.calm = true;
        self.note(|| "calm".into());
        for server in &mut self.servers {
            server.frozen_until = server.frozen_until.min(self.time.now + 5 * MINUTE);
        }
        let (scope, now) = (self.scope(), self.clock());
        for id in self.automations.clone() {
            let paused = self.store.pause_automation(scope, id, "the end", now).await;
            if answered(paused)?.is_some() {
                self.schedules.stopped(id, now.as_microsecond());
            }
        }
        let paused = self.store.sessions(scope, None, None, 100_000).await?;
        for session in paused {
            if session.status() == SessionStatus::Paused {
                let resumed =
                    self.store
                        .move_session(scope, session.id, SessionEvent::Resume, None, now);
                resumed.await?;
            }
        }
        self.poke();
        Ok(())
    }
}
