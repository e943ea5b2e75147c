//! Goals and their tasks, one operation or group of operations in each module.

mod edit;
mod goal_param;
mod list;
mod report;
mod show;
mod start;
mod tasks;
mod transitions;

use crate::api_router::{ApiRouter, routes};

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new()
        .routes(routes!(list::list_goals, start::start_goal))
        .routes(routes!(show::show_goal, edit::edit_goal))
        .routes(routes!(transitions::start_draft))
        .routes(routes!(transitions::pause_goal))
        .routes(routes!(transitions::resume_goal))
        .routes(routes!(transitions::cancel_goal))
        .routes(routes!(transitions::replan_goal))
        .routes(routes!(report::report_goal))
        .routes(routes!(tasks::list_tasks, tasks::publish_tasks))
        .routes(routes!(tasks::show_task, tasks::edit_task))
        .routes(routes!(tasks::retry_task))
        .routes(routes!(tasks::cancel_task))
        .routes(routes!(tasks::accept_task))
}
