//! Runs: attempts at inputs, with their outcomes.

mod batch;
mod count;
mod edit;
mod list;
mod path_param;
mod show;
mod transitions;

use crate::api_router::{ApiRouter, routes};

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new()
        .routes(routes!(list::list_runs))
        .routes(routes!(count::count_runs))
        .routes(routes!(batch::retry_runs))
        .routes(routes!(batch::cancel_runs))
        .routes(routes!(show::show_run))
        .routes(routes!(edit::edit_run))
        .routes(routes!(show::show_record))
        .routes(routes!(show::show_live_text))
        .routes(routes!(transitions::retry_run))
        .routes(routes!(transitions::cancel_run))
}
