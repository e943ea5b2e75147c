//! Rows of goals that must not be stored.

use crate::fixtures::{Values, World, instant};

/// Returns, for each named check of goals and their tasks, a row that violates only this check.
pub(super) fn rows_breaking_checks_of_goals(world: &World) -> Vec<(&'static str, Values)> {
    let row = |table| world.row(table);
    let running = || {
        row("agent_tasks")
            .with("status", "RUNNING")
            .with("step", "work")
            .with("started_at", instant())
            .with("unmet", 0_i64)
    };
    vec![
        ("goals_state_known", row("goals").with("state", "x")),
        (
            "goals_pause_or_failure_has_a_reason",
            row("goals").with("state", "paused"),
        ),
        ("goals_stuck_has_a_cause", row("goals").with("cause", "x")),
        (
            "goals_over_has_an_end",
            row("goals").with("ended_at", instant()),
        ),
        (
            "goals_plans_counted",
            row("goals").with("plan_version", -1_i64),
        ),
        ("goals_format", row("goals").with("needs_format", 2_i64)),
        (
            "goals_check_has_a_deadline",
            row("goals").with("check_for", "seats"),
        ),
        (
            "agent_tasks_kind_known",
            row("agent_tasks").with("kind", "x"),
        ),
        ("agent_tasks_step_known", running().with("step", "x")),
        (
            "agent_tasks_running_has_a_step",
            running().without(&["step"]),
        ),
        (
            "agent_tasks_turn_has_a_seat",
            running().without(&["seat_id"]),
        ),
        (
            "agent_tasks_pending_has_unmet",
            row("agent_tasks").with("unmet", 0_i64),
        ),
        (
            "agent_tasks_over_has_a_reason",
            row("agent_tasks").with("reason", "result"),
        ),
        (
            "agent_tasks_counted",
            row("agent_tasks").with("priority", 10_i64),
        ),
    ]
}

/// Returns the same for plans, checks, memories and reports of tasks.
pub(super) fn rows_breaking_checks_of_tasks(world: &World) -> Vec<(&'static str, Values)> {
    let row = |table| world.row(table);
    vec![
        (
            "staged_tasks_kind_known",
            row("staged_tasks").with("kind", "x"),
        ),
        (
            "staged_tasks_format",
            row("staged_tasks").with("needs_format", 2_i64),
        ),
        (
            "task_memories_turns_counted",
            row("task_memories").with("turns", -1_i64),
        ),
        (
            "task_memories_is_on_an_instance",
            row("task_memories")
                .with("acp_session_id", "memory")
                .without(&["instance_id"]),
        ),
        (
            "task_checks_status_known",
            row("task_checks").with("status", "x"),
        ),
        (
            "task_checks_running_has_a_worker",
            row("task_checks").with("status", "running"),
        ),
        (
            "task_checks_worker_has_a_lease",
            row("task_checks").with("lease_until", instant()),
        ),
        (
            "task_checks_over_has_an_end",
            row("task_checks").with("ended_at", instant()),
        ),
        (
            "task_checks_attempts_counted",
            row("task_checks").with("attempt", -1_i64),
        ),
        (
            "agent_definitions_presence_known",
            row("agent_definitions").with("presence", "x"),
        ),
        (
            "task_reports_status_of_kind",
            row("task_reports").with("status", "accept"),
        ),
        (
            "task_reports_format",
            row("task_reports").with("needs_format", 2_i64),
        ),
        (
            "agent_runs_prompt_is_of_task",
            row("agent_runs")
                .with("task_prompt", "work")
                .without(&["task_id"]),
        ),
        (
            "agent_runs_review_is_of_task",
            row("agent_runs")
                .with("task_review", true)
                .without(&["task_id"]),
        ),
    ]
}
