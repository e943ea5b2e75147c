//! `matins goal edit`.

use api_types::{Change, GoalBudgetPatch, GoalBudgetRequest, GoalPatch};
use model::{Clock as _, goal::text_limits::GOAL_BYTES};
use server::SystemClock;

use super::{
    format::format_state,
    limit_lines::{is_paused_by_limit, print_limits},
    parallel_turns::{PARALLEL, note_fewer_turns},
    values::{BudgetArg, GoalArg, UntilArg, budget, limits, parse_limit, text_argument},
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
    /// The limit of cost or of tokens, such as "9 USD" or "5000 tokens"; may be given once for each, and the other one stays
    #[arg(long, value_name = "AMOUNT")]
    budget: Vec<BudgetArg>,
    /// Remove the limits of cost and of tokens, except those that --budget gives
    #[arg(long)]
    no_budget: bool,
    /// The time from which no further turn starts, such as 07:00 or 8h
    #[arg(long, value_name = "TIME")]
    until: Option<UntilArg>,
}

pub(super) async fn run(args: Args, app: &App) -> Result<(), CliError> {
    let patch = GoalPatch {
        goal: args
            .text
            .map(|text| text_argument(text, GOAL_BYTES))
            .transpose()?,
        limits: limits(args.limits)?,
        budget: budget_change(budget(args.budget)?, args.no_budget),
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
    note_fewer_turns(app, patch.limits.get(PARALLEL).copied(), &goal);
    // Another limit than the changed one may still be reached.
    if is_paused_by_limit(summary) {
        print_limits(app, &goal)?;
    }
    Ok(())
}

/// Returns the change of a budget to the given limits. The other limits stay, or are removed.
fn budget_change(given: Option<GoalBudgetRequest>, removes: bool) -> Change<GoalBudgetPatch> {
    let given = given.unwrap_or_default();
    let patch = GoalBudgetPatch {
        tokens: part_change(given.tokens, removes),
        cost: part_change(given.cost.map(Into::into), removes),
    };
    if patch == GoalBudgetPatch::default() {
        return Change::Keep;
    }
    Change::To(patch)
}

fn part_change<T>(given: Option<T>, removes: bool) -> Change<T> {
    match given {
        Some(given) => Change::To(given),
        None if removes => Change::Reset,
        None => Change::Keep,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn budget_changes_only_the_limits_that_are_given() {
        let change = |given: &[&str], removes: bool| {
            let given = given.iter().map(|text| text.parse().unwrap()).collect();
            let budget = budget_change(budget(given).unwrap(), removes);
            let patch = GoalPatch {
                budget,
                ..GoalPatch::default()
            };
            serde_json::to_value(patch).unwrap()
        };
        let cost = json!({ "amount": "9", "currency": "USD" });
        assert_eq!(change(&[], false), json!({}));
        assert_eq!(
            change(&["5000 tokens"], false),
            json!({ "budget": { "tokens": 5000 } })
        );
        assert_eq!(
            change(&["9 usd"], false),
            json!({ "budget": { "cost": cost } })
        );
        assert_eq!(
            change(&["9 USD"], true),
            json!({ "budget": { "tokens": null, "cost": cost } })
        );
        assert_eq!(
            change(&[], true),
            json!({ "budget": { "tokens": null, "cost": null } })
        );
    }
}
