//! The operations of runtimes, below `/api/v1/runtime`: a protocol between two programs of Matins, whose bodies are in
//! [`runtime_api`].
//!
//! **Invariant:** a run of another instance or tenant gets the response of a run that does not exist.

mod approvals;
mod presence;
mod tools;
mod trigger_files;
mod turns;

use axum::{Router, routing::post};

use crate::Api;

/// Returns all operations of runtimes, with their whole paths.
pub(crate) fn routes() -> Router<Api> {
    let of_run = Router::new()
        .route("/claim", post(presence::claim))
        .route("/begin", post(turns::begin))
        .route("/begin-after-precheck", post(turns::begin_after_precheck))
        .route("/decline", post(turns::decline))
        .route("/heartbeat", post(turns::heartbeat))
        .route("/record", post(turns::record))
        .route("/live-text", post(turns::append_live_text))
        .route("/usage", post(turns::record_usage))
        .route("/approvals", post(approvals::request_approval))
        .route("/approvals/{id}/wait", post(approvals::wait_for_decision))
        .route("/questions", post(approvals::request_answer))
        .route("/questions/{id}/wait", post(approvals::wait_for_answer))
        .route("/withdraw", post(approvals::withdraw))
        .route("/tools", post(tools::answer))
        .route("/tools/file", post(tools::answer_with_file))
        .route("/finish", post(turns::finish));
    let all = Router::new()
        .route("/register", post(presence::register))
        .route("/presence", post(presence::renew))
        .route("/stop", post(presence::stop))
        .route("/give-up", post(presence::give_up))
        .route("/triggers", post(trigger_files::fire))
        .nest("/runs/{run}", of_run);
    Router::new().nest("/api/v1/runtime", all)
}
