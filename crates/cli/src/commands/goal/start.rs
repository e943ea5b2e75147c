//! `matins goal start`.

use std::path::PathBuf;

use api_types::{Goal, GoalRequest, GoalStatus};
use model::{Clock as _, goal::text_limits::GOAL_BYTES};
use server::SystemClock;

use super::{
    format::format_state,
    missing_server::note_missing_server,
    parallel_turns::{note_fewer_turns, requested_parallel},
    usage::format_budget,
    values::{BudgetArg, UntilArg, budget, limits, parse_limit, text_argument},
};
use crate::{
    app::App,
    commands::{
        options::absolute_directory,
        team::{path_hint, requested_team},
    },
    error::CliError,
};

/// Start a goal: a planner makes tasks, workers do them, a judge reviews them
///
/// A goal stops by itself: at its budget, at its end of time, at its limits, or when nothing can run.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  matins goal start \"Draft five posts in the tone of brand.md\" --agent claude --dir . \\\n      \
                  --budget \"6 USD\" --until 07:00"
)]
pub(super) struct Args {
    /// The goal, or - to read it from standard input
    text: String,
    /// The team: the name of one that ships, or the path of a TOML file; `matins team list` shows the teams [default: research]
    #[arg(long, value_name = "NAME|FILE", value_hint = clap::ValueHint::FilePath)]
    team: Option<String>,
    /// The agent of the seats for which the team names none
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// The working directory [default: a new folder]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// The host on which the turns run; `matins instance list` shows the instances [default: any]
    #[arg(long, value_name = "INSTANCE")]
    on: Option<String>,
    /// The most that all turns together may use, such as "6 USD" or "200000 tokens"; may be given once for each
    #[arg(long, value_name = "AMOUNT")]
    budget: Vec<BudgetArg>,
    /// The time from which no further turn starts, such as 07:00 or 8h
    #[arg(long, value_name = "TIME")]
    until: Option<UntilArg>,
    /// A command that Matins runs after the work on each task that writes files; if it fails, the work goes back; may be
    /// repeated
    #[arg(long, value_name = "COMMAND")]
    verify: Vec<String>,
    /// A limit in place of that of the team, such as turns=100; may be repeated
    #[arg(long = "limit", value_name = "NAME=NUMBER", value_parser = parse_limit)]
    limits: Vec<(String, u32)>,
    /// Pause after the first plan of the planner, until `matins goal resume`
    #[arg(long)]
    approve_plan: bool,
    /// Create a draft, which `matins goal resume` starts
    #[arg(long)]
    draft: bool,
    /// The title in lists [default: the beginning of the goal]
    #[arg(long)]
    title: Option<String>,
    /// A stable name of the goal, such as spring-campaign
    #[arg(long)]
    key: Option<String>,
}

pub(super) async fn run(args: Args, app: &App) -> Result<(), CliError> {
    let (team, team_file) = match &args.team {
        Some(team) => requested_team(team)?,
        None => (None, None),
    };
    let until = match args.until {
        Some(until) => Some(until.resolve(SystemClock.now(), &app.time)?),
        None => None,
    };
    let request = GoalRequest {
        goal: text_argument(args.text, GOAL_BYTES)?,
        team,
        team_file,
        agent: args.agent,
        cwd: absolute_directory(app, args.dir)?,
        on: args.on,
        key: args.key,
        title: args.title,
        verify: args.verify,
        limits: limits(args.limits)?,
        budget: budget(args.budget)?,
        until,
        approve_plan: args.approve_plan,
        draft: args.draft,
        ..GoalRequest::default()
    };
    let started = app.client.start_goal(&request).await;
    let goal = started.map_err(|error| unknown_team(error, request.team.as_deref()))?;
    if app.output.json {
        return Ok(app.output.document(&goal)?);
    }
    print_started(app, &goal)?;
    let set = requested_parallel(&request, &goal.summary.team);
    note_fewer_turns(app, set, &goal);
    Ok(())
}

/// Adds the hint of a file to the error for a team that does not exist.
fn unknown_team(error: client::Error, team: Option<&str>) -> CliError {
    let is_of_team = matches!(&error, client::Error::Problem(problem) if problem.field.as_deref() == Some("team"));
    let error = CliError::from(error);
    match team.filter(|_| is_of_team) {
        Some(team) => error.with_hint(format!("use one of these, or {}", path_hint(team))),
        None => error,
    }
}

fn print_started(app: &App, goal: &Goal) -> Result<(), CliError> {
    let summary = &goal.summary;
    let id = summary.id;
    let made = match summary.state {
        GoalStatus::Draft => format!("Made the draft {id}."),
        _ => format!("Started {id} ({}).", format_state(summary)),
    };
    app.output.line(&made)?;
    let mut limits = Vec::new();
    limits.extend(summary.budget.as_ref().map(format_budget));
    limits.push(format!("{} turns", summary.turn_limit));
    limits.extend(
        summary
            .until
            .map(|until| format!("until {}", app.time.minute(until))),
    );
    app.output
        .line(&format!("Limits: {}.", limits.join(", ")))?;
    let next = match summary.state {
        GoalStatus::Draft => format!("To start it: matins goal resume {id}"),
        _ => format!("To follow it: matins goal show {id} --follow"),
    };
    app.output.aside(&next);
    note_missing_server(app, summary);
    Ok(())
}
