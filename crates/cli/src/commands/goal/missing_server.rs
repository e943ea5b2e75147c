//! The remark about a goal whose turns no server takes.

use api_types::{GoalStatus, GoalSummary};

use crate::app::App;

/// Prints a remark if an active goal has no server, because nothing else takes its turns.
pub(super) fn note_missing_server(app: &App, goal: &GoalSummary) {
    if goal.state == GoalStatus::Active && !app.has_server() {
        app.output.aside(
            "This data folder has no server: `matins serve` starts one that takes the turns.",
        );
    }
}
