//! The remark about a goal that takes fewer turns at a time than a person has set.

use api_types::{Goal, GoalRequest};
use config::team::{ShippedTeam, parse_team};

use crate::{
    app::App,
    output::{LINE_COLUMNS, wrapped},
};

/// The name of the limit of turns at a time.
pub(super) const PARALLEL: &str = "parallel";

/// Prints a remark if a goal takes fewer turns at a time than a person has set.
pub(super) fn note_fewer_turns(app: &App, set: Option<u32>, goal: &Goal) {
    let taken = goal.limits.get(PARALLEL).copied();
    if let (Some(set), Some(taken)) = (set, taken)
        && taken < set
    {
        app.output.aside(&fewer_turns(set, taken));
    }
}

fn fewer_turns(set: u32, taken: u32) -> String {
    let turns = match taken {
        1 => "1 turn".to_owned(),
        taken => format!("{taken} turns"),
    };
    let text = format!(
        "It takes {turns} at a time and not {set}, so that the messages of people need not wait: a goal takes at most one \
         fewer than the server has workers (MATINS_WORKERS), and at least one."
    );
    wrapped(&text, LINE_COLUMNS).join("\n")
}

/// Returns the number of turns at a time that a request sets, or its team, whose name is `team`.
pub(super) fn requested_parallel(request: &GoalRequest, team: &str) -> Option<u32> {
    if let Some(set) = request.limits.get(PARALLEL) {
        return Some(*set);
    }
    let team = match &request.team_file {
        Some(file) => parse_team(&file.name, file.text.as_bytes()),
        None => ShippedTeam::find(team)?.definition(),
    };
    Some(team.ok()?.limits.graph.parallel)
}
