//! Automations: prompts that triggers fire, with their policies.

mod create;
mod delete;
mod dry_run;
mod edit;
mod fire;
mod history;
mod list;
mod path_param;
mod precheck;
mod preview;
mod show;
mod transitions;
mod triggers;
mod usage;

use crate::api_router::{ApiRouter, routes};

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new()
        .routes(routes!(list::list_automations, create::create_automation))
        .routes(routes!(preview::preview_runs))
        .routes(routes!(dry_run::dry_run_automation))
        .routes(routes!(
            show::show_automation,
            edit::replace_automation,
            edit::edit_automation,
            delete::delete_automation
        ))
        .routes(routes!(usage::show_automation_usage))
        .routes(routes!(fire::fire_automation))
        .routes(routes!(transitions::pause_automation))
        .routes(routes!(transitions::resume_automation))
        .routes(routes!(transitions::reset_automation))
        .routes(routes!(history::list_sessions_of_automation))
        .routes(routes!(history::list_occurrences))
        .routes(routes!(triggers::list_triggers, triggers::add_trigger))
        .routes(routes!(triggers::show_trigger, triggers::remove_trigger))
}
