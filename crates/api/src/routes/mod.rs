//! The routes, one operation a file where it has anything to say.

mod access;
mod approvals;
mod automations;
mod harnesses;
mod instances;
mod lists;
mod notifications;
mod runs;
mod server;
mod sessions;
mod traces;
mod webhooks;

use utoipa_axum::router::OpenApiRouter;

use crate::Api;

/// Every route below `/api/v1`.
pub(crate) fn all() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .merge(sessions::routes())
        .merge(traces::routes())
        .merge(automations::routes())
        .merge(runs::routes())
        .merge(approvals::routes())
        .merge(harnesses::routes())
        .merge(instances::routes())
        .merge(webhooks::routes())
        .merge(notifications::routes())
        .merge(access::routes())
        .merge(server::routes())
}
