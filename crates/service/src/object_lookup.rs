//! Finds objects by the reference that a user gives: an ID, a name, or an ID prefix.
//!
//! **Invariants:** a full ID finds the object with that ID, whatever the names of other objects are; see
//! [`Reference`]. An ID prefix that matches more than one object is refused with [`Error::Ambiguous`], never resolved to
//! the first match. So is a text that is the name of one object and, with a kind, an ID prefix of another.

use std::str::FromStr;

use model::{
    AgentId, ApprovalId, ArtifactId, AutomationId, QuestionId, RunId, SeatId, SessionId, TokenId,
    agent::Agent,
    entity::{Automation, Session},
    nearest::nearest,
};
use uuid::Uuid;

use crate::{Error, Service, boxed};

/// The length of the shortest ID prefix, in hexadecimal digits. A shorter one is more likely a name.
const MIN_PREFIX_DIGITS: usize = 4;

impl Service {
    /// Returns the ID of the session with this ID, key or ID prefix.
    #[boxed]
    pub async fn session_id(&self, given: &str) -> Result<SessionId, Error> {
        Ok(self.find_session(given).await?.id)
    }

    /// Returns the ID of the automation with this ID, name or ID prefix.
    #[boxed]
    pub async fn automation_id(&self, given: &str) -> Result<AutomationId, Error> {
        Ok(self.find_automation(given).await?.id)
    }

    /// Returns the agent with this ID or name.
    pub(crate) async fn find_agent(&self, given: &str) -> Result<Agent, Error> {
        let mut all = self.store.agents(self.scope()).await?;
        let reference = Reference::parse(given, AgentId::PREFIX);
        match reference.position(&all, |agent| (agent.id, &agent.name)) {
            Some(index) => Ok(all.swap_remove(index)),
            None => Err(not_found(
                "agent",
                given,
                all.iter().map(|agent| agent.name.as_str()),
            )),
        }
    }

    /// Returns the automation with this ID, name or ID prefix. If the automation is corrupt, returns the error of
    /// reading it.
    pub(crate) async fn find_automation(&self, given: &str) -> Result<Automation, Error> {
        let (id, _) = self.identify_automation(given).await?;
        Ok(self.store.automation(self.scope(), id).await?)
    }

    /// Returns the ID and the name of the automation with this ID, name or ID prefix, even if the automation is
    /// corrupt.
    pub(crate) async fn identify_automation(
        &self,
        given: &str,
    ) -> Result<(AutomationId, String), Error> {
        // 1. Try the exact ID and the exact name first, so that most references do not read every automation.
        let reference = Reference::parse(given, AutomationId::PREFIX);
        let range = IdRange::of_prefix(given, AutomationId::PREFIX);
        let by_id = match reference.id() {
            Some(id) => Some(self.store.automation(self.scope(), id).await),
            None => None,
        };
        match by_id {
            Some(Ok(found)) => return Ok((found.id, found.name)),
            // A corrupt automation has the ID, which the list below finds. Do not look for the name, because another
            // automation may have it.
            Some(Err(error)) if !matches!(error, store::Error::NotFound { .. }) => {}
            // The lookup fails for a corrupt automation, so its error is ignored. A name with a kind that is an ID prefix,
            // too, may be ambiguous, which only the list tells.
            _ => {
                if !(range.is_some() && has_kind(given))
                    && let Some(name) = reference.name()
                    && let Ok(Some(named)) = self.store.automation_by_name(self.tenant, name).await
                {
                    return Ok((named.id, named.name));
                }
            }
        }
        // 2. Read the IDs and the names of all automations, including the corrupt ones.
        let all = self.store.automations(self.scope()).await?;
        let readable = all.readable.into_iter().map(|it| (it.id, it.name));
        let corrupt = all.corrupt.into_iter().map(|it| (it.id, it.name));
        let mut names: Vec<_> = readable.chain(corrupt).collect();
        let matches = |id: &AutomationId| range.is_some_and(|range| range.contains(id.uuid()));
        let matching: Vec<_> = names.iter().map(|(id, _)| *id).filter(matches).collect();
        if let Some(index) = reference.position(&names, |(id, name)| (*id, name)) {
            refuse_other_match("automation", given, names[index].0, &matching)?;
            return Ok(names.swap_remove(index));
        }
        // 3. Look for the ID prefix.
        let id = unique_match("automation", given, &matching)?;
        let found = id.and_then(|id| names.iter().find(|(other, _)| *other == id));
        found.cloned().ok_or_else(|| {
            let names = names.iter().map(|(_, name)| name.as_str());
            not_found("automation", given, names)
        })
    }

    /// Returns the seat of a session with this name or ID. A name counts before an ID.
    pub(crate) async fn find_seat(&self, session: SessionId, given: &str) -> Result<SeatId, Error> {
        let seats = self.store.seats(self.scope(), session).await?;
        let id = given.parse::<SeatId>().ok();
        let named = seats.iter().find(|seat| seat.name == given);
        let found = named.or_else(|| seats.iter().find(|seat| Some(seat.id) == id));
        found.map(|seat| seat.id).ok_or_else(|| {
            let names: Vec<_> = seats.iter().map(|seat| seat.name.as_str()).collect();
            let error = Error::SeatNotFound {
                given: given.chars().take(80).collect(),
                accepted: names.join(", "),
            };
            error.at_field("seat")
        })
    }

    /// Returns the session with this ID, key or ID prefix.
    pub(crate) async fn find_session(&self, given: &str) -> Result<Session, Error> {
        let reference = Reference::parse(given, SessionId::PREFIX);
        if let Some(id) = reference.id() {
            match self.store.session(self.scope(), id).await {
                Err(store::Error::NotFound { .. }) => {}
                found => return Ok(found?),
            }
        }
        let named = match reference.name() {
            Some(key) => self.store.session_by_key(self.tenant, key).await?,
            None => None,
        };
        let matching = match IdRange::of_prefix(given, SessionId::PREFIX) {
            None => Vec::new(),
            Some(IdRange { first, last }) => {
                let (first, last) = (SessionId::from_uuid(first), SessionId::from_uuid(last));
                // Two IDs are enough to tell that the prefix is ambiguous.
                self.store
                    .session_ids_between(self.scope(), first, last, 2)
                    .await?
            }
        };
        if let Some(named) = named {
            refuse_other_match("session", given, named.id, &matching)?;
            return Ok(named);
        }
        match unique_match("session", given, &matching)? {
            Some(id) => Ok(self.store.session(self.scope(), id).await?),
            None => Err(not_found("session", given, [])),
        }
    }

    /// Returns the ID of the token with this ID or ID prefix, even if the token has expired or is revoked.
    pub(crate) async fn find_token(&self, given: &str) -> Result<TokenId, Error> {
        let Some(IdRange { first, last }) = IdRange::of_prefix(given, TokenId::PREFIX) else {
            return Err(not_found("token", given, []));
        };
        let (first, last) = (TokenId::from_uuid(first), TokenId::from_uuid(last));
        let found = self
            .store
            .token_ids_between(self.scope(), first, last, 2)
            .await?;
        unique_match("token", given, &found)?.ok_or_else(|| not_found("token", given, []))
    }

    /// Returns the ID of the run with this ID or ID prefix.
    pub(crate) async fn find_run(&self, given: &str) -> Result<RunId, Error> {
        let Some(IdRange { first, last }) = IdRange::of_prefix(given, RunId::PREFIX) else {
            return Err(not_found("run", given, []));
        };
        let (first, last) = (RunId::from_uuid(first), RunId::from_uuid(last));
        let found = self
            .store
            .run_ids_between(self.scope(), first, last, 2)
            .await?;
        unique_match("run", given, &found)?.ok_or_else(|| not_found("run", given, []))
    }

    /// Returns the ID of the approval with this ID or ID prefix.
    pub(crate) async fn find_approval(&self, given: &str) -> Result<ApprovalId, Error> {
        let Some(IdRange { first, last }) = IdRange::of_prefix(given, ApprovalId::PREFIX) else {
            return Err(not_found("approval", given, []));
        };
        let (first, last) = (ApprovalId::from_uuid(first), ApprovalId::from_uuid(last));
        let found = self
            .store
            .approval_ids_between(self.scope(), first, last, 2)
            .await?;
        unique_match("approval", given, &found)?.ok_or_else(|| not_found("approval", given, []))
    }

    /// Returns the ID of the question with this ID or ID prefix.
    pub(crate) async fn find_question(&self, given: &str) -> Result<QuestionId, Error> {
        let Some(IdRange { first, last }) = IdRange::of_prefix(given, QuestionId::PREFIX) else {
            return Err(not_found("question", given, []));
        };
        let (first, last) = (QuestionId::from_uuid(first), QuestionId::from_uuid(last));
        let found = self
            .store
            .question_ids_between(self.scope(), first, last, 2)
            .await?;
        unique_match("question", given, &found)?.ok_or_else(|| not_found("question", given, []))
    }

    /// Returns the ID of the artifact with this ID or ID prefix.
    pub(crate) async fn find_artifact(&self, given: &str) -> Result<ArtifactId, Error> {
        let Some(IdRange { first, last }) = IdRange::of_prefix(given, ArtifactId::PREFIX) else {
            return Err(not_found("artifact", given, []));
        };
        let (first, last) = (ArtifactId::from_uuid(first), ArtifactId::from_uuid(last));
        let found = self
            .store
            .artifact_ids_between(self.scope(), first, last, 2)
            .await?;
        unique_match("artifact", given, &found)?.ok_or_else(|| not_found("artifact", given, []))
    }
}

/// A reference that a user gave to an object with a name.
///
/// The order is: the object with the full ID, then the one with the name, then the one with the ID prefix. New names
/// never have the form of an ID (`naming::validate_new_name`), but names of that form may be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reference<'a, I> {
    /// A full ID with its kind, such as `aut_0199...`. It is never a name, so that nothing takes the place of an object
    /// that was deleted.
    Id(I),
    /// A UUID. It is an ID if an object has it, otherwise a name.
    Uuid(I, &'a str),
    /// A name or an ID prefix.
    Name(&'a str),
}

impl<'a, I: FromStr + Copy + PartialEq> Reference<'a, I> {
    /// Returns the reference of a text. `prefix` is the kind of the object's IDs.
    pub(crate) fn parse(given: &'a str, prefix: &str) -> Self {
        let rest = given.strip_prefix(prefix);
        let has_kind = rest.is_some_and(|rest| rest.starts_with('_'));
        match given.parse() {
            Ok(id) if has_kind => Self::Id(id),
            Ok(id) => Self::Uuid(id, given),
            Err(_) => Self::Name(given),
        }
    }

    /// Returns the full ID. Returns `None` if the reference has none.
    pub(crate) fn id(self) -> Option<I> {
        match self {
            Self::Id(id) | Self::Uuid(id, _) => Some(id),
            Self::Name(_) => None,
        }
    }

    /// Returns the name. Returns `None` if the reference is never a name.
    pub(crate) fn name(self) -> Option<&'a str> {
        match self {
            Self::Id(_) => None,
            Self::Uuid(_, name) | Self::Name(name) => Some(name),
        }
    }

    /// Returns the position of the object to which the reference belongs, by the ID and the name of each object.
    pub(crate) fn position<T>(
        self,
        objects: &[T],
        id_and_name: impl Fn(&T) -> (I, &String),
    ) -> Option<usize> {
        let with_id = |id: I| objects.iter().position(|it| id_and_name(it).0 == id);
        let with_name = |name: &str| objects.iter().position(|it| id_and_name(it).1 == name);
        let found = self.id().and_then(with_id);
        found.or_else(|| self.name().and_then(with_name))
    }
}

/// The IDs that begin with one prefix, as an inclusive range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct IdRange {
    first: Uuid,
    last: Uuid,
}

impl IdRange {
    /// Returns the range of an ID or an ID prefix, with or without the kind before the underscore (`run_0199ab` or
    /// `0199ab`). Returns `None` if the text cannot be an ID prefix.
    fn of_prefix(given: &str, prefix: &str) -> Option<Self> {
        let bare = given
            .strip_prefix(prefix)
            .and_then(|rest| rest.strip_prefix('_'))
            .unwrap_or(given);
        let digits = bare.replace('-', "");
        let hexadecimal = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !hexadecimal || !(MIN_PREFIX_DIGITS..=32).contains(&digits.len()) {
            return None;
        }
        Some(Self {
            first: Uuid::try_parse(&format!("{digits:0<32}")).ok()?,
            last: Uuid::try_parse(&format!("{digits:f<32}")).ok()?,
        })
    }

    fn contains(self, id: Uuid) -> bool {
        (self.first..=self.last).contains(&id)
    }
}

fn unique_match<T: Copy + ToString>(
    what: &'static str,
    given: &str,
    found: &[T],
) -> Result<Option<T>, Error> {
    match found {
        [] => Ok(None),
        [one] => Ok(Some(*one)),
        [one, other, ..] => Err(ambiguous(what, given, [*one, *other])),
    }
}

/// Returns `true` if an ID prefix has its kind in front, as lists show it: nothing else of a prefix is an underscore.
fn has_kind(prefix: &str) -> bool {
    prefix.contains('_')
}

/// Refuses a text that names the object `named`, if it is also a prefix of another object's ID, as lists show it. Digits
/// without a kind are the name, because such names are allowed, and all IDs of a month begin with the same digits.
fn refuse_other_match<T: Copy + PartialEq + ToString>(
    what: &'static str,
    given: &str,
    named: T,
    matching: &[T],
) -> Result<(), Error> {
    match matching.iter().find(|id| **id != named) {
        Some(other) if has_kind(given) => Err(ambiguous(what, given, [named, *other])),
        _ => Ok(()),
    }
}

fn ambiguous<T: ToString>(what: &'static str, given: &str, candidates: [T; 2]) -> Error {
    Error::Ambiguous {
        what,
        given: given.to_owned(),
        candidates: candidates.map(|id| id.to_string()),
    }
}

fn not_found<'a>(
    what: &'static str,
    given: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Error {
    Error::NotFound {
        what,
        given: given.chars().take(80).collect(),
        nearest: nearest(given, names).map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_prefix_spans_all_matching_ids() {
        let range = IdRange::of_prefix("run_0199ab", "run").unwrap();
        assert_eq!(
            range.first.simple().to_string(),
            "0199ab00000000000000000000000000"
        );
        assert_eq!(
            range.last.simple().to_string(),
            "0199abffffffffffffffffffffffffff"
        );
        assert_eq!(IdRange::of_prefix("0199ab", "run"), Some(range));
        let whole = IdRange::of_prefix("0199ab00-0000-7000-8000-000000000000", "run").unwrap();
        assert_eq!(whole.first, whole.last);
    }

    #[test]
    fn invalid_id_prefix_spans_no_range() {
        for given in ["", "run_", "019", "ses_0199ab", "0199xy", &"0".repeat(33)] {
            assert_eq!(IdRange::of_prefix(given, "run"), None, "{given}");
        }
    }
}
