//! Tenants and their budgets.

use model::{TenantId, Timestamp, budget::Budget, entity::Tenant};
use serde_json::Value;

use crate::{
    Error, Page, Scope, boxed,
    changes::note_scheduler_work,
    rows,
    store::Store,
    stored::{self, StoredBudget},
    usage,
};

impl Store {
    /// Returns the ID of the tenant called `name`. Creates the tenant if it does not exist.
    #[boxed]
    pub async fn ensure_tenant(&self, name: &str, now: Timestamp) -> Result<TenantId, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                let id = TenantId::generate(now, self.ids());
                tx.execute(sql!("tenants/ensure"), params![id, name, now])
                    .await?;
                let row = tx.fetch_one(sql!("tenants/by_name"), params![name]).await?;
                Ok(row.get("id")?)
            })
        })
        .await
    }

    /// Creates a tenant.
    ///
    /// # Errors
    ///
    /// [`Error::NameTaken`] if another tenant has the name, [`Error::AlreadyCreated`] if the ID is used.
    #[boxed]
    pub async fn create_tenant(
        &self,
        id: TenantId,
        name: &str,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                let used = tx
                    .fetch_optional(sql!("tenants/by_id"), params![Scope::System, id])
                    .await?;
                if used.is_some() {
                    return Err(Error::already_created("tenant", id));
                }
                let inserted = tx
                    .execute(sql!("tenants/ensure"), params![id, name, now])
                    .await?;
                if inserted == 0 {
                    return Err(Error::NameTaken {
                        what: "tenant",
                        name: name.to_owned(),
                    });
                }
                Ok(())
            })
        })
        .await
    }

    /// Returns one tenant.
    #[boxed]
    pub async fn tenant(&self, scope: Scope, id: TenantId) -> Result<Tenant, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let row = tx
            .fetch_optional(sql!("tenants/by_id"), params![scope.tenant(), id])
            .await?;
        rows::tenant(&row.ok_or_else(|| Error::not_found("tenant", id))?)
    }

    /// Returns the tenant of a name. Returns `None` if there is none.
    #[boxed]
    pub async fn tenant_named(&self, name: &str) -> Result<Option<Tenant>, Error> {
        let mut tx = self.db.begin_read(Scope::System).await?;
        let row = tx
            .fetch_optional(sql!("tenants/by_name"), params![name])
            .await?;
        row.as_ref().map(rows::tenant).transpose()
    }

    /// Sets the budget of all runs of a tenant. Runs that wait because of the old budget may begin if the new one
    /// lets them.
    ///
    /// # Errors
    ///
    /// [`Error::StaleVersion`] if the budget is no longer `seen`.
    #[boxed]
    pub async fn set_tenant_budget(
        &self,
        id: TenantId,
        seen: Option<&Budget>,
        budget: &Budget,
        now: Timestamp,
    ) -> Result<(), Error> {
        let scope = Scope::Tenant(id);
        self.transact(scope, |tx, _| {
            Box::pin(async move {
                // 1. Read the tenant, and compare its budget with the one that the caller has seen.
                let row = tx
                    .fetch_optional(sql!("tenants/by_id"), params![scope.tenant(), id])
                    .await?;
                let row = row.ok_or_else(|| Error::not_found("tenant", id))?;
                let stale_version = || -> Result<Error, Error> {
                    Ok(Error::StaleVersion {
                        what: "budget of tenant",
                        name: row.get("name")?,
                    })
                };
                let name: String = row.get("name")?;
                stored::require_supported("tenant", &name, stored::needs_format(&row)?)?;
                if let Some(seen) = seen
                    && rows::tenant(&row)?.budget != *seen
                {
                    return Err(stale_version()?);
                }
                // 2. Write the budget. The statement compares the old one again, so that one of two concurrent writers
                // loses. The check above gives the same error without a write.
                let read: Option<Value> = row.optional("budget")?;
                let written = match &read {
                    None => stored::write::<StoredBudget>(budget),
                    Some(_) => match stored::rewrite::<StoredBudget>(budget, &row, "budget") {
                        // Replace a corrupt budget: it has no unknown keys that could be kept.
                        Err(error) if error.is_corrupt() => stored::write::<StoredBudget>(budget),
                        rewritten => rewritten?,
                    },
                };
                // An empty budget is stored as null, unless a later version wrote limits that this one does not know.
                let bare = stored::write::<StoredBudget>(&Budget::default()).value;
                let value = (written.value != bare).then_some(written.value);
                let format = stored::format_after_rewrite(row.get("format")?);
                let needed = written.needs_format;
                let params = params![id, value, seen.is_some(), read, format, needed];
                if tx.execute(sql!("tenants/set_budget"), params).await? == 0 {
                    return Err(stale_version()?);
                }
                // 3. Release the waiting runs. Runs that wait for the old budget would otherwise wait until the end of
                // its period.
                usage::release_deferred_by_budget(tx, id, None, now).await?;
                note_scheduler_work(tx, id).await?;
                Ok(())
            })
        })
        .await
    }

    /// Lists tenants, the newest first. In the scope of one tenant, lists only that tenant.
    #[boxed]
    pub async fn tenants(&self, scope: Scope, page: Page<TenantId>) -> Result<Vec<Tenant>, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let found = tx
            .fetch_all(
                sql!("tenants/page"),
                params![scope.tenant(), page.before(), page.limit],
            )
            .await?;
        found.iter().map(rows::tenant).collect()
    }
}
