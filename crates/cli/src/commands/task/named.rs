//! The task that a command names by its goal and its key.

use api_types::Task;
use model::nearest::nearest;

use crate::{
    app::App,
    commands::goal::GoalArg,
    error::{CliError, Exit},
    output::one_line,
};

#[derive(Debug, clap::Args)]
pub(super) struct TaskArgs {
    #[command(flatten)]
    pub(super) goal: GoalArg,
    /// The key of the task
    pub(super) key: String,
}

/// Returns the task with a key.
pub(super) async fn find(app: &App, args: &TaskArgs) -> Result<Task, CliError> {
    let mut tasks = app.client.tasks(&args.goal.goal).await?.tasks;
    if let Some(index) = tasks.iter().position(|task| task.key == args.key) {
        return Ok(tasks.swap_remove(index));
    }
    let message = format!("the goal has no task `{}`", one_line(&args.key));
    let hint = match nearest(&args.key, tasks.iter().map(|task| task.key.as_str())) {
        Some(near) => format!("did you mean `{}`?", one_line(near)),
        None => format!(
            "`matins task list {}` lists the tasks",
            one_line(&args.goal.goal)
        ),
    };
    Err(CliError::message(Exit::NotFound, message).with_hint(hint))
}
