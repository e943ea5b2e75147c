//! Pages of the list of sessions.

use model::{
    AutomationId, SessionId, TenantId,
    entity::Session,
    session::{SessionKind, SessionStatus, SessionType},
};

use crate::{Error, Page, Scope, boxed, rows, store::Store, text_search::SearchPatterns};

/// The filters and the page of a list of sessions.
#[derive(Debug, Clone, Default)]
pub struct SessionFilter {
    /// The accepted types. Empty accepts all types.
    pub types: Vec<SessionType>,
    /// The accepted kind.
    pub kind: Option<SessionKind>,
    /// The accepted state.
    pub state: Option<SessionStatus>,
    /// The automation that created the sessions.
    pub automation: Option<AutomationId>,
    /// A text that the title, the key or the ID contains. The case of letters does not matter.
    pub text: Option<String>,
}

impl Store {
    /// Lists one page of a tenant's sessions, the newest first.
    #[boxed]
    pub async fn session_page(
        &self,
        tenant: TenantId,
        filter: &SessionFilter,
        page: Page<SessionId>,
    ) -> Result<Vec<Session>, Error> {
        let statement = if filter.automation.is_some() {
            sql_by_dialect!("sessions/page_of_automation")
        } else {
            sql_by_dialect!("sessions/page")
        };
        // Query each type by itself, because the index orders sessions by type before ID. There are few types.
        let mut types: Vec<Option<SessionType>> = filter.types.iter().copied().map(Some).collect();
        types.sort_unstable();
        types.dedup();
        if types.is_empty() {
            types = match filter.automation {
                None => SessionType::ALL.iter().copied().map(Some).collect(),
                Some(_) => vec![None],
            };
        }
        let patterns = SearchPatterns::new(filter.text.as_deref(), SessionId::PREFIX);
        let mut tx = self.db.begin_read(Scope::Tenant(tenant)).await?;
        let mut sessions = Vec::new();
        for session_type in types {
            let found = tx
                .fetch_all(
                    statement,
                    params! { "postgres/sessions/page";
                        tenant: tenant,
                        type: session_type.map(SessionType::as_str),
                        before: page.before(),
                        kind: filter.kind.map(SessionKind::as_str),
                        state: filter.state.map(SessionStatus::as_str),
                        automation: filter.automation,
                        lower_pattern: patterns.lower.as_deref(),
                        pattern: patterns.as_written.as_deref(),
                        id_pattern: patterns.id.as_deref(),
                        limit: page.limit,
                    },
                )
                .await?;
            for row in &found {
                sessions.push(rows::session(row)?);
            }
        }
        sessions.sort_unstable_by_key(|session| std::cmp::Reverse(session.id));
        sessions.truncate(usize::try_from(page.limit).unwrap_or(usize::MAX));
        Ok(sessions)
    }
}
