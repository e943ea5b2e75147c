//! Making an automation from what people write, with everything that is refused.

use std::path::PathBuf;

use model::{
    Timestamp,
    entity::{SeatSettings, Session},
    harness::Harness,
    permission::PermissionRules,
    policy::{Policies, SessionMode},
    schedule::{self, Schedule, Spec, Zone, parse_at},
    session::Admission,
};
use store::NewAutomation;

use crate::{AutomationView, Error, Service, SessionTarget, naming, working_directory};

/// How many names derived from one prompt are tried before that is given up.
const DERIVED_NAMES: u32 = 1000;

/// When an automation is to fire, as people write it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Timing {
    /// At the times of a cron expression.
    Cron(String),
    /// At equal distances, such as `10m`, the first time one distance from now.
    Every(String),
    /// Once.
    At(String),
}

/// An automation that somebody asks for.
#[derive(Debug, Clone)]
pub struct AutomationRequest {
    /// Its name; absent: made from the prompt.
    pub name: Option<String>,
    /// What the agent is asked.
    pub prompt: String,
    /// When it fires; nothing: on demand only.
    pub timings: Vec<Timing>,
    /// The IANA name of the zone in which they are read.
    pub zone: String,
    /// Where its turns go.
    pub session: SessionTarget,
    /// The harness, by name; absent: that of the session to which it is bound.
    pub harness: Option<String>,
    /// The working directory, absolute; absent: a folder of each session's own, or that of the
    /// session to which it is bound.
    pub cwd: Option<PathBuf>,
    /// Its policies.
    pub policies: Policies,
    /// The mode and the settings of its agents.
    pub settings: SeatSettings,
    /// Rules for its turns, beyond those of the harness.
    pub permissions: PermissionRules,
}

/// Where the turns go, and with which harness.
struct Place {
    harness: Harness,
    cwd: Option<String>,
    bound_session_key: Option<String>,
}

impl Service {
    /// Makes an automation, enabled, and answers with its triggers and its next fires.
    pub async fn create_automation(
        &self,
        request: &AutomationRequest,
    ) -> Result<AutomationView, Error> {
        let now = self.now();
        naming::content("prompt", &request.prompt)?;
        let mode = request.session.mode();
        request.policies.validate(mode)?;
        let triggers = request
            .timings
            .iter()
            .map(|timing| spec(timing, &request.zone, now))
            .collect::<Result<Vec<_>, _>>()?;
        let name = match &request.name {
            Some(name) => Some(naming::name("name", name)?),
            None => None,
        };
        let place = self.place(request).await?;
        if mode != SessionMode::Fresh {
            self.require_restore(&place.harness).await?;
        }
        let mut new = NewAutomation {
            name: name.clone().unwrap_or_default(),
            prompt: request.prompt.clone(),
            harness: place.harness.id,
            cwd: place.cwd,
            session_mode: mode,
            bound_session_key: place.bound_session_key,
            policies: request.policies.clone(),
            settings: request.settings.clone(),
            permissions: request.permissions.clone(),
            triggers,
        };
        let id = if name.is_some() {
            self.store.create_automation(self.tenant, &new, now).await?
        } else {
            self.create_with_derived_name(&mut new, now).await?
        };
        self.automation_view(self.store.automation(self.scope(), id).await?)
            .await
    }

    /// Makes an automation under the first free name that its prompt gives: `check-the-build`,
    /// `check-the-build-2`.
    async fn create_with_derived_name(
        &self,
        new: &mut NewAutomation,
        now: Timestamp,
    ) -> Result<model::AutomationId, Error> {
        let base = naming::derived(&new.prompt);
        let mut number = 1;
        loop {
            new.name = match number {
                1 => base.clone(),
                number => format!("{base}-{number}"),
            };
            match self.store.create_automation(self.tenant, new, now).await {
                Err(store::Error::Exists { .. }) if number < DERIVED_NAMES => number += 1,
                made => return Ok(made?),
            }
        }
    }

    async fn place(&self, request: &AutomationRequest) -> Result<Place, Error> {
        let cwd = working_directory::check(request.cwd.as_deref())?;
        let SessionTarget::Bound(given) = &request.session else {
            let Some(harness) = &request.harness else {
                let known = self.store.harnesses(self.scope()).await?;
                let names: Vec<_> = known.into_iter().map(|harness| harness.name).collect();
                return Err(Error::Missing {
                    what: "a harness",
                    expected: format!("accepted are {}", names.join(", ")),
                });
            };
            return Ok(Place {
                harness: self.find_harness(harness).await?,
                cwd,
                bound_session_key: None,
            });
        };
        let session = self.find_session(given).await?;
        let key = bound_key(given, &session)?;
        if let Some(cwd) = cwd.filter(|cwd| *cwd != session.cwd) {
            let problem = format!(
                "the session {given} works in {}, and that never changes",
                session.cwd
            );
            return Err(Error::invalid("working directory", &cwd, problem));
        }
        let seats = self.store.seats(self.scope(), session.id).await?;
        let Some(seat) = seats.iter().find(|seat| seat.is_entry) else {
            let problem = "it has no agent that takes inputs";
            return Err(Error::invalid("session", given, problem));
        };
        let harness = self.store.harness(self.scope(), seat.harness_id).await?;
        if let Some(other) = &request.harness
            && self.find_harness(other).await?.id != harness.id
        {
            let problem = format!("the session {given} has the harness {}", harness.name);
            return Err(Error::invalid("harness", other, problem));
        }
        Ok(Place {
            harness,
            cwd: None,
            bound_session_key: Some(key),
        })
    }
}

/// The key of a session to which an automation can be bound.
fn bound_key(given: &str, session: &Session) -> Result<String, Error> {
    if session.state.admission() == Admission::Refuse {
        return Err(Error::SessionClosed {
            session: given.to_owned(),
            state: session.state,
        });
    }
    session.session_key.clone().ok_or_else(|| {
        let problem = "it belongs to an automation and has no key; accepted are sessions that \
                       people began";
        Error::invalid("session", given, problem)
    })
}

/// Reads one timing. What never fires again is refused.
fn spec(timing: &Timing, zone: &str, now: Timestamp) -> Result<Spec, Error> {
    let zone_name = Zone::parse(zone)?.name().to_owned();
    let spec = match timing {
        Timing::Cron(expression) => Spec::Cron {
            expression: expression.clone(),
            zone: zone_name,
        },
        Timing::Every(period) => {
            let period: schedule::Period = period.parse()?;
            Spec::Every {
                period,
                anchor: now.ceil_second() + period.duration(),
                zone: zone_name,
            }
        }
        Timing::At(at) => Spec::At {
            at: parse_at(at, &Zone::parse(zone)?, now)?,
            zone: zone_name,
        },
    };
    if Schedule::parse_new(&spec, now)?.next_after(now).is_none() {
        return Err(Error::NothingLeft { at: now });
    }
    Ok(spec)
}
