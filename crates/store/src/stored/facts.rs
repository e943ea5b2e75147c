//! Documents with facts or lists of names: `agent_runs.flags`, `agent_runs.prompt_ref`, `api_tokens.scopes` and
//! `notification_endpoints.events`.
//!
//! Their tables have no columns for formats, because a server may safely ignore unknown names: it grants no unknown
//! permission and sends no unknown notification. A new name still changes the snapshot and so needs a new
//! `DOCUMENT_FORMAT`.

use std::{collections::BTreeSet, str::FromStr};

use model::{access::Permission, notification::NotificationKind, prompt::PromptRef, run::RunFlags};
use serde::{Deserialize, Serialize};

use super::{BoxError, Document};

/// Flags of a run, as its row holds them.
#[derive(Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(default)]
pub(crate) struct StoredFlags {
    empty_answer: bool,
    permissions_denied: u32,
    tool_calls: u32,
    answer_cut: bool,
    precheck_unclear: bool,
}

impl Document for StoredFlags {
    type Domain = RunFlags;

    fn of(flags: &RunFlags) -> Self {
        let RunFlags {
            empty_answer,
            permissions_denied,
            tool_calls,
            answer_cut,
            precheck_unclear,
        } = *flags;
        Self {
            empty_answer,
            permissions_denied,
            tool_calls,
            answer_cut,
            precheck_unclear,
        }
    }

    fn into_domain(self) -> Result<RunFlags, BoxError> {
        Ok(RunFlags {
            empty_answer: self.empty_answer,
            permissions_denied: self.permissions_denied,
            tool_calls: self.tool_calls,
            answer_cut: self.answer_cut,
            precheck_unclear: self.precheck_unclear,
        })
    }
}

/// The template of a prompt, as the rows of its run and of its record hold it.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct StoredPromptRef {
    id: String,
    version: u32,
    sha256: String,
}

impl Document for StoredPromptRef {
    type Domain = PromptRef;

    fn of(prompt: &PromptRef) -> Self {
        let PromptRef {
            id,
            version,
            sha256,
        } = prompt.clone();
        Self {
            id,
            version,
            sha256,
        }
    }

    fn into_domain(self) -> Result<PromptRef, BoxError> {
        Ok(PromptRef {
            id: self.id,
            version: self.version,
            sha256: self.sha256,
        })
    }
}

/// The stored word of [`Permission::AgentsRead`]. Rows keep the word of the first format, so that an earlier program
/// still accepts the tokens that this one creates.
const AGENTS_READ: &str = "harnesses:read";

/// The stored word of [`Permission::AgentsWrite`].
const AGENTS_WRITE: &str = "harnesses:write";

/// The permissions to which a token is limited, as its row holds them.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(transparent)]
pub(crate) struct StoredScopes(Vec<String>);

impl Document for StoredScopes {
    type Domain = BTreeSet<Permission>;

    fn of(scopes: &BTreeSet<Permission>) -> Self {
        let stored = |scope: &Permission| match scope {
            Permission::AgentsRead => AGENTS_READ.to_owned(),
            Permission::AgentsWrite => AGENTS_WRITE.to_owned(),
            other => other.to_string(),
        };
        Self(scopes.iter().map(stored).collect())
    }

    fn into_domain(self) -> Result<BTreeSet<Permission>, BoxError> {
        let known = self.0.iter().filter_map(|word| match word.as_str() {
            AGENTS_READ => Some(Permission::AgentsRead),
            AGENTS_WRITE => Some(Permission::AgentsWrite),
            other => other.parse().ok(),
        });
        Ok(known.collect())
    }
}

/// The notifications that an endpoint receives, as its row holds them.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(transparent)]
pub(crate) struct StoredNotificationKinds(Vec<String>);

impl Document for StoredNotificationKinds {
    type Domain = Vec<NotificationKind>;

    fn of(events: &Vec<NotificationKind>) -> Self {
        Self(events.iter().map(ToString::to_string).collect())
    }

    fn into_domain(self) -> Result<Vec<NotificationKind>, BoxError> {
        Ok(known_names(&self.0).collect())
    }
}

impl StoredNotificationKinds {
    /// Returns the document that replaces `before`. Keeps the names in `before` that this program does not know.
    pub(crate) fn replacing(events: &Vec<NotificationKind>, before: Self) -> Self {
        let Self(mut words) = Self::of(events);
        let unknown = before.0.into_iter();
        words.extend(unknown.filter(|word| word.parse::<NotificationKind>().is_err()));
        Self(words)
    }
}

/// Returns the names that this program knows, because a later version may have written others.
fn known_names<T: FromStr>(words: &[String]) -> impl Iterator<Item = T> {
    words.iter().filter_map(|word| word.parse().ok())
}
