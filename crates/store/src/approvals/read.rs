//! Queries for approvals.

use model::{
    ApprovalId, AutomationId, RunId, SessionId, TenantId,
    approval::{Approval, ApprovalInput, ApprovalStatus, LongInput},
};

use crate::{Error, Page, Scope, boxed, database::Tx, rows, store::Store};

/// The filters of a list of approvals.
#[derive(Debug, Clone, Copy, Default)]
pub struct ApprovalFilter {
    /// The accepted state.
    pub state: Option<ApprovalStatus>,
    /// The session of the approvals.
    pub session: Option<SessionId>,
    /// The automation of the approvals.
    pub automation: Option<AutomationId>,
    /// The run of the approvals.
    pub run: Option<RunId>,
}

impl Store {
    /// Reads one approval.
    ///
    /// # Errors
    ///
    /// Returns a not-found error if the approval does not exist in `scope`.
    #[boxed]
    pub async fn approval(&self, scope: Scope, id: ApprovalId) -> Result<Approval, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        super::read_approval(&mut tx, scope, id).await
    }

    /// Reads the input of the tool of one approval.
    ///
    /// # Errors
    ///
    /// Returns a not-found error if the approval does not exist in `scope`.
    #[boxed]
    pub async fn approval_input(
        &self,
        scope: Scope,
        id: ApprovalId,
    ) -> Result<ApprovalInput, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let row = tx
            .fetch_optional(sql!("approvals/input"), params![scope.tenant(), id])
            .await?;
        let row = row.ok_or_else(|| Error::not_found("approval", id))?;
        let (json, bytes): (Option<String>, Option<i64>) =
            (row.optional("long_input")?, row.optional("input_bytes")?);
        let long = json.zip(bytes).map(|(json, bytes)| LongInput {
            json,
            bytes: u64::try_from(bytes).unwrap_or(0),
        });
        Ok(ApprovalInput::new(
            row.optional("input")?,
            row.get("input_cut")?,
            long,
        ))
    }

    /// Lists one page of a tenant's approvals, the newest first. An index serves each filter.
    #[boxed]
    pub async fn approval_page(
        &self,
        tenant: TenantId,
        filter: ApprovalFilter,
        page: Page<ApprovalId>,
    ) -> Result<Vec<Approval>, Error> {
        let mut tx = self.db.begin_read(Scope::Tenant(tenant)).await?;
        read_page(&mut tx, tenant, filter, page).await
    }

    /// Lists the newest pending approvals of a session, the newest first.
    #[boxed]
    pub async fn pending_approvals(
        &self,
        scope: Scope,
        session: SessionId,
        limit: u32,
    ) -> Result<Vec<Approval>, Error> {
        let mut params = params![
            scope.tenant(),
            Page::<ApprovalId>::first(limit).before(),
            ApprovalStatus::Pending.as_str(),
            limit
        ];
        params.extend(params![session, None::<AutomationId>]);
        let mut tx = self.db.begin_read(scope).await?;
        let found = tx
            .fetch_all(sql!("approvals/page_of_session"), params)
            .await?;
        found.iter().map(rows::approval).collect()
    }

    /// Lists up to `limit` IDs of approvals from `first` to `last`, both included, in order.
    #[boxed]
    pub async fn approval_ids_between(
        &self,
        scope: Scope,
        first: ApprovalId,
        last: ApprovalId,
        limit: u32,
    ) -> Result<Vec<ApprovalId>, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let found = tx
            .fetch_all(
                sql!("approvals/ids_between"),
                params![scope.tenant(), first, last, limit],
            )
            .await?;
        found.iter().map(|row| Ok(row.get("id")?)).collect()
    }
}

/// Lists one page of a tenant's approvals, the newest first. An index serves each filter.
pub(crate) async fn read_page(
    tx: &mut Tx,
    tenant: TenantId,
    filter: ApprovalFilter,
    page: Page<ApprovalId>,
) -> Result<Vec<Approval>, Error> {
    let state = filter.state.map(ApprovalStatus::as_str);
    let mut params = params![tenant, page.before(), state, page.limit];
    let statement = match (filter.run, filter.session, filter.automation) {
        (Some(run), session, automation) => {
            params = params! { "approvals/page_of_run";
                tenant: tenant,
                before: page.before(),
                state: state,
                limit: page.limit,
                run: run,
                automation: automation,
                session: session,
            };
            sql!("approvals/page_of_run")
        }
        (None, Some(session), automation) => {
            params.extend(params![session, automation]);
            sql!("approvals/page_of_session")
        }
        (None, None, Some(automation)) => {
            params.extend(params![automation]);
            sql!("approvals/page_of_automation")
        }
        (None, None, None) if filter.state == Some(ApprovalStatus::Pending) => {
            params = params![tenant, page.before(), page.limit];
            sql!("approvals/page_pending")
        }
        (None, None, None) => sql!("approvals/page"),
    };
    let found = tx.fetch_all(statement, params).await?;
    found.iter().map(rows::approval).collect()
}
