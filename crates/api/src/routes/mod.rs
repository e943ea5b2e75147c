//! The operations of the API, grouped by resource.
//!
//! The doc comment of a route function is public text: its first line is the summary of the operation in the API
//! reference, and the rest is the description. The same holds for the fields of types that derive `IntoParams`.
//! **Invariant:** a handler reads the request, checks the permission, calls [`service`] and converts the result to a
//! type of [`api_types`]; the rules are in [`service`].

mod access;
mod agents;
mod approvals;
mod artifacts;
mod automations;
mod goals;
mod instances;
mod list_params;
mod memory;
mod notifications;
mod overview;
mod questions;
mod run_names;
mod runs;
pub(crate) mod runtime;
mod server_info;
mod sessions;
mod traces;
mod webhooks;

use crate::api_router::ApiRouter;

/// Returns all operations, with paths relative to `/api/v1`.
pub(crate) fn all() -> ApiRouter {
    ApiRouter::new()
        .merge(overview::routes())
        .merge(sessions::routes())
        .merge(goals::routes())
        .merge(traces::routes())
        .merge(automations::routes())
        .merge(runs::routes())
        .merge(approvals::routes())
        .merge(memory::routes())
        .merge(questions::routes())
        .merge(artifacts::routes())
        .merge(agents::routes())
        .merge(instances::routes())
        .merge(webhooks::routes())
        .merge(notifications::routes())
        .merge(access::routes())
        .merge(server_info::routes())
}
