//! Pages of the list of sessions.

use std::{cmp::Reverse, fmt, str::FromStr};

use model::{
    AutomationId, SessionId, TenantId, Timestamp,
    entity::Session,
    session::{SessionKind, SessionStatus, SessionType},
};

use crate::{Error, Page, database::Tx, rows, text_search::SearchPatterns};

/// The filters and the page of a list of sessions.
#[derive(Debug, Clone, Default)]
pub struct SessionFilter {
    /// The accepted types. Empty accepts all types.
    pub types: Vec<SessionType>,
    /// The accepted kind.
    pub kind: Option<SessionKind>,
    /// The accepted state.
    pub state: Option<SessionStatus>,
    /// `true` accepts the sessions of goals, `false` the others.
    pub of_goal: Option<bool>,
    /// The automation that created the sessions.
    pub automation: Option<AutomationId>,
    /// A text that the title, the key or the ID contains. The case of letters does not matter.
    pub text: Option<String>,
}

/// The order of a list of sessions, and the position after which its page begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionOrder {
    /// The newest session first.
    Created {
        /// The last session of the previous page.
        after: Option<SessionId>,
    },
    /// The most recently changed session first.
    Changed {
        /// The last session of the previous page, with its last change.
        after: Option<ChangeCursor>,
    },
}

impl Default for SessionOrder {
    fn default() -> Self {
        Self::Created { after: None }
    }
}

/// A position in a list that is ordered by the last change. A session that changes later moves to the beginning of the
/// list, so that the following pages repeat no session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeCursor {
    /// The last change of the session.
    pub at: Timestamp,
    /// The session.
    pub id: SessionId,
}

impl fmt::Display for ChangeCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.at.as_microsecond(), self.id)
    }
}

/// The error for a text that is not a position in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected microseconds, a dot and the ID of a session")]
pub struct InvalidCursor;

impl FromStr for ChangeCursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let (at, id) = text.split_once('.').ok_or(InvalidCursor)?;
        let micros = at.parse().map_err(|_| InvalidCursor)?;
        Ok(Self {
            at: Timestamp::from_microsecond(micros).map_err(|_| InvalidCursor)?,
            id: id.parse().map_err(|_| InvalidCursor)?,
        })
    }
}

/// Reads one page of a tenant's sessions.
pub(super) async fn read_page(
    tx: &mut Tx,
    tenant: TenantId,
    filter: &SessionFilter,
    order: SessionOrder,
    limit: u32,
) -> Result<Vec<Session>, Error> {
    // Query each type by itself, because the index orders sessions by type before ID. There are few types.
    let mut types: Vec<Option<SessionType>> = filter.types.iter().copied().map(Some).collect();
    types.sort_unstable();
    types.dedup();
    if types.is_empty() {
        types = match (order, filter.automation) {
            (SessionOrder::Created { .. }, Some(_)) => vec![None],
            _ => SessionType::ALL.iter().copied().map(Some).collect(),
        };
    }
    let patterns = SearchPatterns::new(filter.text.as_deref(), SessionId::PREFIX);
    let mut sessions = Vec::new();
    for session_type in types {
        let (statement, params) = match order {
            SessionOrder::Created { after } => (
                if filter.automation.is_some() {
                    sql_by_dialect!("sessions/page_of_automation")
                } else {
                    sql_by_dialect!("sessions/page")
                },
                params! { "postgres/sessions/page";
                    tenant: tenant,
                    type: session_type.map(SessionType::as_str),
                    before: Page { after, limit }.before(),
                    kind: filter.kind.map(SessionKind::as_str),
                    state: filter.state.map(SessionStatus::as_str),
                    of_goal: filter.of_goal,
                    automation: filter.automation,
                    lower_pattern: patterns.lower.as_deref(),
                    pattern: patterns.as_written.as_deref(),
                    id_pattern: patterns.id.as_deref(),
                    limit: limit,
                },
            ),
            SessionOrder::Changed { after } => (
                sql_by_dialect!("sessions/page_by_change"),
                params! { "postgres/sessions/page_by_change";
                    tenant: tenant,
                    type: session_type.map(SessionType::as_str),
                    changed_before: after.map_or(Timestamp::MAX, |after| after.at),
                    before: Page { after: after.map(|after| after.id), limit }.before(),
                    kind: filter.kind.map(SessionKind::as_str),
                    state: filter.state.map(SessionStatus::as_str),
                    of_goal: filter.of_goal,
                    automation: filter.automation,
                    lower_pattern: patterns.lower.as_deref(),
                    pattern: patterns.as_written.as_deref(),
                    id_pattern: patterns.id.as_deref(),
                    limit: limit,
                },
            ),
        };
        for row in &tx.fetch_all(statement, params).await? {
            sessions.push(rows::session(row)?);
        }
    }
    match order {
        SessionOrder::Created { .. } => {
            sessions.sort_unstable_by_key(|session| Reverse(session.id));
        }
        SessionOrder::Changed { .. } => {
            sessions.sort_unstable_by_key(|session| Reverse((session.updated_at, session.id)));
        }
    }
    sessions.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(sessions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursor_is_read_as_it_was_written() {
        let cursor = ChangeCursor {
            at: Timestamp::UNIX_EPOCH,
            id: SessionId::from_uuid(uuid::Uuid::from_u128(7)),
        };
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for text in [
            "",
            "5",
            "x.ses_1",
            "5.x",
            &format!("{}.{}", i64::MAX, cursor.id),
        ] {
            assert_eq!(text.parse::<ChangeCursor>(), Err(InvalidCursor), "{text}");
        }
    }
}
