//! `matins task edit`.

use api_types::{TaskPatch, TaskStatus};
use model::goal::text_limits::DESCRIPTION_BYTES;

use super::named::{TaskArgs, find};
use crate::{
    app::App,
    commands::goal::text_argument,
    error::{CliError, Exit},
    output::one_line,
};

/// Change the texts or the priority of a task that has not begun or has failed
///
/// Its next turn gets the new texts. A failed task starts again by `matins task retry`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    task: TaskArgs,
    /// The new title
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// The new description, or - to read it from standard input
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// A line by which the result is judged, in place of the present lines; may be repeated
    #[arg(long = "accept", value_name = "LINE")]
    acceptance: Vec<String>,
    /// Remove the lines by which the result is judged
    #[arg(long, conflicts_with = "acceptance")]
    no_accept: bool,
    /// The rank among the tasks that are ready, from 0, which starts first, to 9
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=9))]
    priority: Option<u8>,
}

pub(super) async fn run(args: Args, app: &App) -> Result<(), CliError> {
    let patch = TaskPatch {
        title: args.title,
        description: args
            .description
            .map(|text| text_argument(text, DESCRIPTION_BYTES))
            .transpose()?,
        acceptance: (args.no_accept || !args.acceptance.is_empty()).then_some(args.acceptance),
        priority: args.priority,
    };
    if patch == TaskPatch::default() {
        let message = "there is nothing to change";
        return Err(CliError::message(Exit::Usage, message).with_hint(
            "give `--title`, `--description`, `--accept`, `--no-accept` or `--priority`",
        ));
    }
    let before = find(app, &args.task).await?;
    let details = app.client.edit_task(&before.id.to_string(), &patch).await?;
    if app.output.json {
        return Ok(app.output.document(&details)?);
    }
    let (key, status) = (one_line(&details.task.key), details.task.status);
    if details.task.plan_version == before.plan_version {
        return Ok(app
            .output
            .line(&format!("{key} is as before, and {status}."))?);
    }
    app.output
        .line(&format!("Changed {key}, which is {status}."))?;
    if status == TaskStatus::Failed {
        let goal = one_line(&args.task.goal.goal);
        app.output.aside(&format!(
            "To start it again: matins task retry {goal} {key}"
        ));
    }
    Ok(())
}
