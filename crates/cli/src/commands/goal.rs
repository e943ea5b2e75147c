//! `matins goal`: starts goals, on which teams of agents work, and lists, shows, changes and moves them.

mod edit;
mod follow;
mod format;
mod limit_lines;
mod missing_server;
mod next_step;
mod parallel_turns;
mod printed_task;
mod start;
mod task_line;
mod usage;
mod values;

use api_types::{Goal, GoalMove, GoalStatus, GoalSummary};
use clap::Subcommand;
use client::{GoalFilter, PageParams};
use model::limits::CONTENT_BYTES;

use super::{first_items::first_items, options::text_or_stdin};
use crate::{
    app::App,
    error::{CliError, Exit},
    follow::follow_to_end,
    output::{clean, excerpt, last_columns, short_ids, table},
};

use self::{
    format::{format_short_state, format_state, print_goal},
    limit_lines::{is_paused_by_limit, print_limits},
    missing_server::note_missing_server,
    next_step::{is_stuck, next_step},
    usage::format_usage,
};
pub(super) use self::{
    printed_task::PrintedTask,
    task_line::{Widths, round_text},
    values::{GoalArg, text_argument},
};

/// The note behind each message, because the planner cannot say so before its turn.
const MESSAGE_CHANGES_NO_PLAN: &str =
    "A message changes no plan: matins goal edit --text and matins goal replan do.";

/// Manage goals: a team of agents plans, works and reports
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Start(Box<start::Args>),
    /// List goals, newest first
    #[command(visible_alias = "ls")]
    List {
        /// Only goals in this state: draft, active, paused, done or failed
        #[arg(long)]
        state: Option<GoalStatus>,
        /// The maximum number of goals
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
    },
    /// Show a goal with its tasks and its open questions
    Show {
        #[command(flatten)]
        goal: GoalArg,
        /// Print a line for each change until the goal is over or paused
        ///
        /// The exit code is 0 for a goal that is done, 4 for one that is paused, and 5 for one that has failed.
        #[arg(long)]
        follow: bool,
    },
    Edit(edit::Args),
    /// Pause a goal: turns under way may end, and no other one starts
    Pause(GoalArg),
    /// Resume a paused goal, approve its first plan, or start a draft
    ///
    /// The exit code is 4 if the goal stays paused, because a limit is still reached or nothing can run.
    Resume(GoalArg),
    /// Cancel a goal and its open tasks
    Cancel(GoalArg),
    /// Request another plan
    ///
    /// The planner remembers its messages, so send it the reason first: `matins goal message`.
    Replan(GoalArg),
    /// Print the report of a goal as it stands, in Markdown
    Report(GoalArg),
    /// Send a message to a seat of a goal
    ///
    /// The message starts a turn of the seat, after the one under way. It changes no plan: `matins goal edit --text` and
    /// `matins goal replan` do.
    Message {
        #[command(flatten)]
        goal: GoalArg,
        /// The message, or - to read it from standard input
        text: String,
        /// The seat that takes the message [default: the planner]
        #[arg(long, value_name = "SEAT")]
        to: Option<String>,
    },
}

pub(crate) async fn run(args: Args, app: &App) -> Result<Exit, CliError> {
    match args.command {
        Command::Start(args) => start::run(*args, app).await?,
        Command::List { state, limit } => list(app, state, limit).await?,
        Command::Show { goal, follow: true } => return follow::run(app, &goal.goal).await,
        Command::Show {
            goal,
            follow: false,
        } => show(app, &goal.goal).await?,
        Command::Edit(args) => edit::run(args, app).await?,
        Command::Pause(args) => drop(move_goal(app, &args.goal, GoalMove::Pause).await?),
        Command::Resume(args) => return resume(app, &args.goal).await,
        Command::Cancel(args) => drop(move_goal(app, &args.goal, GoalMove::Cancel).await?),
        Command::Replan(args) => drop(move_goal(app, &args.goal, GoalMove::Replan).await?),
        Command::Report(args) => report(app, &args.goal).await?,
        Command::Message { goal, text, to } => {
            let text = text_or_stdin(text, CONTENT_BYTES)?;
            let sent = app
                .client
                .send_message_to_seat(&goal.goal, to.as_deref(), &text)
                .await?;
            let exit = follow_to_end(app, sent, true).await?;
            app.output.aside(MESSAGE_CHANGES_NO_PLAN);
            return Ok(exit);
        }
    }
    Ok(Exit::Done)
}

async fn list(app: &App, state: Option<GoalStatus>, limit: u32) -> Result<(), CliError> {
    let goals = first_items(limit, async |page: PageParams| {
        app.client.goals(&GoalFilter { state, page }).await
    })
    .await?;
    if app.output.json {
        return Ok(app.output.document(&goals)?);
    }
    if goals.is_empty() {
        let none = match state {
            Some(state) => format!("No goals that are {state}."),
            None => "No goals. `matins goal start TEXT --agent NAME` starts one.".to_owned(),
        };
        return Ok(app.output.line(&none)?);
    }
    let ids = short_ids(goals.iter().map(|goal| goal.id));
    let rows = goals.iter().zip(ids).map(|(goal, id)| row(goal, id));
    let mut rows: Vec<_> = rows.collect();
    let headings = ["GOAL", "STATE", "DONE", "USED", "TITLE"];
    // A title is cut where the state, of which a person needs each word, leaves no room.
    let room = last_columns(&headings, &rows);
    for [.., title] in &mut rows {
        *title = excerpt(title, room);
    }
    Ok(app.output.line(&table(headings, rows))?)
}

fn row(goal: &GoalSummary, id: String) -> [String; 5] {
    let title = goal.title.as_deref().unwrap_or(&goal.goal);
    let waits = goal.open_questions > 0 || goal.open_approvals > 0;
    let state = if waits && goal.state == GoalStatus::Active {
        "waits for you".to_owned()
    } else {
        format_short_state(goal)
    };
    [
        id,
        state,
        format!("{}/{}", goal.tasks.done, goal.tasks.total),
        excerpt(&format_usage(goal), 16),
        title.to_owned(),
    ]
}

async fn show(app: &App, given: &str) -> Result<(), CliError> {
    let goal = app.client.goal(given).await?;
    let tasks = app.client.tasks(&goal.summary.id.to_string()).await?;
    if app.output.json {
        let mut document =
            serde_json::to_value(&goal).map_err(|error| CliError::new(Exit::Failed, error))?;
        document["task_list"] = serde_json::json!(tasks.tasks);
        return Ok(app.output.document(&document)?);
    }
    print_goal(app, &goal, &tasks.tasks)
}

/// Moves a goal, and prints its state.
async fn move_goal(app: &App, given: &str, to: GoalMove) -> Result<Goal, CliError> {
    let goal = app.client.move_goal(given, to).await?;
    if app.output.json {
        app.output.document(&goal)?;
        return Ok(goal);
    }
    let state = format_state(&goal.summary);
    app.output
        .line(&format!("{} is {state}.", goal.summary.id))?;
    note_missing_server(app, &goal.summary);
    Ok(goal)
}

/// Resumes a paused goal, or starts a draft, which waits for a person too. A goal with a limit that is still reached, or one in
/// which nothing can run, pauses again at once, which is a refusal with the limits and the next step.
async fn resume(app: &App, given: &str) -> Result<Exit, CliError> {
    let goal = app.client.goal(given).await?.summary;
    let to = match goal.state {
        GoalStatus::Draft => GoalMove::Start,
        _ => GoalMove::Resume,
    };
    let goal = move_goal(app, given, to).await?;
    if !is_paused_by_limit(&goal.summary) && !is_stuck(&goal.summary) {
        return Ok(Exit::Done);
    }
    if !app.output.json {
        print_limits(app, &goal)?;
        if let Some(next) = next_step(&goal.summary) {
            app.output.aside(&next);
        }
    }
    Ok(Exit::Refused)
}

async fn report(app: &App, given: &str) -> Result<(), CliError> {
    let report = app.client.goal_report(given).await?;
    if app.output.json {
        return Ok(app.output.document(&report)?);
    }
    app.output.line(&clean(&report.text))?;
    if !report.complete {
        app.output
            .aside("The goal is not over, so this report is partial.");
    }
    Ok(())
}
