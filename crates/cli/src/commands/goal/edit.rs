//! `matins goal edit`.

use api_types::{Change, GoalPatch};
use model::Clock as _;
use server::SystemClock;

use super::{
    format::format_state,
    limit_lines::{is_paused_by_limit, print_limits},
    values::{BudgetArg, GoalArg, UntilArg, budget, goal_text, limits, parse_limit},
};
use crate::{
    app::App,
    error::{CliError, Exit},
};

/// Change the text, the limits, the budget or the time of a goal
///
/// A new text requests another plan. A goal that its budget or its time has paused goes on if the new one is enough.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    goal: GoalArg,
    /// The new text of the goal, or - to read it from standard input
    #[arg(long)]
    text: Option<String>,
    /// A limit, such as turns=300; may be repeated
    #[arg(long = "limit", value_name = "NAME=NUMBER", value_parser = parse_limit)]
    limits: Vec<(String, u32)>,
    /// The budget in place of the present one, such as "9 USD"; may be given once for cost and once for tokens
    #[arg(long, value_name = "AMOUNT")]
    budget: Vec<BudgetArg>,
    /// Remove the budget
    #[arg(long, conflicts_with = "budget")]
    no_budget: bool,
    /// The time from which no further turn starts, such as 07:00 or 8h
    #[arg(long, value_name = "TIME")]
    until: Option<UntilArg>,
}

pub(super) async fn run(args: Args, app: &App) -> Result<(), CliError> {
    let budget = match budget(args.budget)? {
        Some(budget) => Change::To(budget),
        None if args.no_budget => Change::Reset,
        None => Change::Keep,
    };
    let patch = GoalPatch {
        goal: args.text.map(goal_text).transpose()?,
        limits: limits(args.limits)?,
        budget,
        until: match args.until {
            Some(until) => Some(until.resolve(SystemClock.now(), &app.time)?),
            None => None,
        },
    };
    if patch == GoalPatch::default() {
        let message = "there is nothing to change";
        return Err(CliError::message(Exit::Usage, message.to_owned())
            .with_hint("give `--text`, `--limit`, `--budget`, `--no-budget` or `--until`"));
    }
    let goal = app.client.edit_goal(&args.goal.goal, &patch).await?;
    if app.output.json {
        return Ok(app.output.document(&goal)?);
    }
    let summary = &goal.summary;
    let line = format!(
        "Changed {}, which is {}.",
        summary.id,
        format_state(summary)
    );
    app.output.line(&line)?;
    // Another limit than the changed one may still be reached.
    if is_paused_by_limit(summary) {
        print_limits(app, &goal)?;
    }
    Ok(())
}
