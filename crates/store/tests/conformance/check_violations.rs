//! Rows that must not be stored: one for each named check.

mod goals;

use crate::fixtures::{Values, World, id, instant};

/// Returns, for each named check, a row that violates only this check.
#[expect(clippy::too_many_lines, reason = "a table, one row for each check")]
pub(crate) fn rows_breaking_checks(world: &World) -> Vec<(&'static str, Values)> {
    let ended = || world.row("agent_runs");
    let queued = || world.queued_run();
    let row = |table| world.row(table);
    let mut rows = goals::rows_breaking_checks_of_goals(world);
    rows.extend(goals::rows_breaking_checks_of_tasks(world));
    rows.extend(vec![
        (
            "automations_format",
            row("automations").with("needs_format", 2_i64),
        ),
        (
            "automation_triggers_format",
            row("automation_triggers").with("needs_format", 2_i64),
        ),
        (
            "harnesses_format",
            row("harnesses").with("needs_format", 2_i64),
        ),
        (
            "agent_definitions_format",
            row("agent_definitions").with("needs_format", 2_i64),
        ),
        ("tenants_format", row("tenants").with("needs_format", 2_i64)),
        (
            "automations_kind_known",
            row("automations").with("kind", "x"),
        ),
        (
            "automations_session_mode_known",
            row("automations").with("session_mode", "x"),
        ),
        (
            "automations_bound_to_a_key",
            row("automations").with("session_mode", "bound"),
        ),
        (
            "automations_pause_has_a_reason",
            row("automations").with("paused_at", instant()),
        ),
        (
            "automations_failures_counted",
            row("automations").with("consecutive_failures", -1_i64),
        ),
        (
            "run_records_report_has_version",
            row("run_records").with("run_report", "It failed."),
        ),
        (
            "automations_made_by_is_whole",
            row("automations").with("made_by_name", "build"),
        ),
        (
            "trigger_files_attempts_counted",
            row("trigger_files").with("attempt", 0_i64),
        ),
        (
            "trigger_files_failure_has_an_error",
            row("trigger_files").with("error", "full"),
        ),
        (
            "automations_last_seq_counted",
            row("automations").with("last_seq", -1_i64),
        ),
        (
            "automation_events_kind_known",
            row("automation_events").with("kind", "session"),
        ),
        (
            "automation_events_seq_counted",
            row("automation_events").with("seq", 0_i64),
        ),
        ("instances_kind_known", row("instances").with("kind", "x")),
        ("instances_state_known", row("instances").with("state", "x")),
        (
            "agent_sessions_kind_known",
            row("agent_sessions").with("kind", "x"),
        ),
        (
            "agent_sessions_type_known",
            row("agent_sessions").with("type", "x"),
        ),
        (
            "agent_sessions_state_known",
            row("agent_sessions").with("state", "x"),
        ),
        (
            "agent_sessions_over_has_an_end",
            row("agent_sessions").with("state", "done"),
        ),
        (
            "agent_sessions_last_seq_counted",
            row("agent_sessions").with("last_seq", -1_i64),
        ),
        (
            "agent_definitions_directory_known",
            row("agent_definitions").with("directory", "elsewhere"),
        ),
        (
            "agent_definitions_turns_counted",
            row("agent_definitions").with("turns", -1_i64),
        ),
        (
            "automation_triggers_kind_known",
            row("automation_triggers")
                .with("kind", "x")
                .without(&["next_scheduled_for", "next_fire_at"]),
        ),
        (
            "automation_triggers_next_is_paired",
            row("automation_triggers").without(&["next_scheduled_for"]),
        ),
        (
            "automation_triggers_over_has_no_next",
            row("automation_triggers").with("done_at", instant()),
        ),
        (
            "automation_triggers_unscheduled_has_no_next",
            row("automation_triggers").with("kind", "webhook"),
        ),
        (
            "agent_tasks_status_known",
            row("agent_tasks")
                .with("status", "pending")
                .with("unmet", 0_i64),
        ),
        (
            "agent_tasks_running_has_a_start",
            row("agent_tasks")
                .with("status", "RUNNING")
                .with("step", "work")
                .with("unmet", 0_i64),
        ),
        (
            "agent_tasks_over_has_an_end",
            row("agent_tasks")
                .with("status", "DONE")
                .with("reason", "result")
                .with("unmet", 0_i64),
        ),
        (
            "task_dependencies_not_on_itself",
            row("task_dependencies").with_value_of(
                "depends_on_id",
                &Values::of("depends_on_id", row("task_dependencies").get("task_id")),
            ),
        ),
        ("agent_runs_status_known", queued().with("status", "x")),
        ("agent_runs_origin_known", ended().with("origin", "x")),
        (
            "agent_runs_attempts_counted",
            ended().with("attempt", 0_u32),
        ),
        ("agent_runs_over_has_an_end", ended().without(&["ended_at"])),
        (
            "agent_runs_seat_has_a_session",
            ended().without(&["session_id"]),
        ),
        ("agent_runs_open_has_a_seat", queued().without(&["seat_id"])),
        (
            "agent_runs_waiting_is_unclaimed",
            queued().with("worker_id", "w"),
        ),
        (
            "agent_runs_taken_has_a_worker",
            queued().with("status", "delivered"),
        ),
        (
            "agent_runs_running_has_a_start",
            queued()
                .with("status", "running")
                .with("worker_id", "w")
                .with("claimed_at", instant()),
        ),
        (
            "agent_runs_unfired_has_a_reason",
            ended().with("status", "skipped"),
        ),
        (
            "agent_runs_occurrence_is_complete",
            ended().without(&["scheduled_for"]),
        ),
        (
            "agent_runs_stretch_is_missed",
            ended().with("missed_until", instant()),
        ),
        (
            "agent_runs_task_is_named",
            ended().with("origin", "task").without(&["task_id"]),
        ),
        (
            "agent_runs_cancel_is_requested",
            ended().with("cancel_reason", "enough"),
        ),
        (
            "agent_runs_belongs_somewhere",
            ended().with("origin", "person").without(&[
                "session_id",
                "seat_id",
                "automation_id",
                "trigger_id",
                "scheduled_for",
            ]),
        ),
        (
            "agent_messages_role_known",
            row("agent_messages").with("role", "x"),
        ),
        (
            "agent_messages_kind_known",
            row("agent_messages").with("kind", "x"),
        ),
        (
            "agent_messages_seq_counted",
            row("agent_messages").with("seq", 0_u32),
        ),
        (
            "agent_messages_chain_counted",
            row("agent_messages").with("chain_length", 0_u32),
        ),
        (
            "session_events_kind_known",
            row("session_events").with("kind", "x"),
        ),
        (
            "session_events_seq_counted",
            row("session_events").with("seq", 0_u32),
        ),
        (
            "run_live_position_counted",
            row("run_live").with("position", -1_i64),
        ),
        (
            "approvals_state_known",
            row("approvals")
                .with("state", "x")
                .with("decided_at", instant()),
        ),
        (
            "approvals_decided_has_a_time",
            row("approvals").with("decided_at", instant()),
        ),
        (
            "approvals_person_is_named",
            row("approvals").with("decided_by", "me"),
        ),
        (
            "approvals_comment_is_a_persons",
            row("approvals").with("comment", "why not"),
        ),
        (
            "approvals_long_input_has_a_length",
            row("approvals").with("input_bytes", 1_i64),
        ),
        ("questions_kind_known", row("questions").with("kind", "x")),
        (
            "questions_state_known",
            row("questions")
                .with("state", "x")
                .with("closed_at", instant()),
        ),
        (
            "questions_format",
            row("questions").with("needs_format", 2_i64),
        ),
        (
            "questions_closed_has_a_time",
            row("questions").with("closed_at", instant()),
        ),
        (
            "questions_answered_has_an_answer",
            row("questions")
                .with("state", "answered")
                .with("closed_at", instant())
                .with("answered_by", "me")
                .with("answer_input_id", id()),
        ),
        (
            "questions_open_has_no_answer",
            row("questions").with("answer", serde_json::json!("red")),
        ),
        (
            "questions_person_is_named",
            row("questions").with("answered_by", "me"),
        ),
        (
            "questions_token_is_a_persons",
            row("questions").with("answered_by_token", id()),
        ),
        (
            "questions_answer_of_tool_is_an_input",
            row("questions").with("answer_input_id", id()),
        ),
        (
            "agent_runs_secret_hash_is_whole",
            queued().with("secret_hash", vec![7_u8; 31]),
        ),
        (
            "agent_artifacts_version_counted",
            row("agent_artifacts").with("version", 0_i64),
        ),
        (
            "agent_artifacts_content_or_uri",
            row("agent_artifacts").with("uri", "https://example.com"),
        ),
        (
            "agent_artifacts_size_counted",
            row("agent_artifacts").with("size_bytes", -1_i64),
        ),
        (
            "agent_artifacts_sha256_is_whole",
            row("agent_artifacts").with("sha256", "0"),
        ),
        (
            "agent_memory_entries_confidence_in_range",
            row("agent_memory_entries").with("confidence", 1.5),
        ),
        (
            "agent_memory_entries_have_one_owner",
            row("agent_memory_entries").with("session_id", world.id("agent_sessions")),
        ),
        (
            "agent_memory_entries_size_counted",
            row("agent_memory_entries").with("size_bytes", -1_i64),
        ),
        (
            "agent_memory_entries_version_counted",
            row("agent_memory_entries").with("version", 0_i64),
        ),
        (
            "agent_credentials_kind_known",
            row("agent_credentials").with("kind", "x"),
        ),
        (
            "agent_credentials_version_counted",
            row("agent_credentials").with("version", 0_u32),
        ),
        (
            "api_tokens_role_known",
            row("api_tokens")
                .with("role", "x")
                .without(&["instance_id"]),
        ),
        (
            "api_tokens_runtime_has_an_instance",
            row("api_tokens").without(&["instance_id"]),
        ),
        (
            "api_tokens_run_is_named",
            row("api_tokens")
                .with("role", "run")
                .without(&["instance_id"]),
        ),
        ("api_tokens_kind_known", row("api_tokens").with("kind", "x")),
        (
            "api_tokens_browser_has_a_parent",
            row("api_tokens").with("parent_id", world.id("api_tokens")),
        ),
        (
            "api_tokens_browser_has_an_end",
            row("api_tokens")
                .with("kind", "browser")
                .with("parent_id", world.id("api_tokens")),
        ),
        ("api_tokens_maker_is_another", {
            let own = row("api_tokens");
            own.clone()
                .with_value_of("made_by", &Values::of("made_by", own.get("id")))
        }),
        (
            "api_tokens_browser_has_no_maker",
            row("api_tokens")
                .with("kind", "browser")
                .with("expires_at", instant())
                .with("parent_id", world.id("api_tokens"))
                .with("made_by", world.id("api_tokens")),
        ),
        (
            "idempotency_keys_answer_is_whole",
            row("idempotency_keys").without(&["response"]),
        ),
        (
            "webhook_secrets_previous_has_an_end",
            row("webhook_secrets").with("previous_secret", "whsec_"),
        ),
        (
            "notification_endpoints_previous_has_an_end",
            row("notification_endpoints").with("previous_until", instant()),
        ),
        (
            "notification_endpoints_disabled_has_a_reason",
            row("notification_endpoints").with("disabled_at", instant()),
        ),
        (
            "webhook_deliveries_lease_is_of_pending",
            row("webhook_deliveries")
                .with("state", "delivered")
                .with("ended_at", instant())
                .with("leased_until", instant())
                .without(&["next_attempt_at"]),
        ),
        (
            "spending_spender_is_known",
            row("spending").with("spender_id", id()),
        ),
        ("spending_counted", row("spending").with("tokens", -1_i64)),
        (
            "spending_time_counted",
            row("spending").with("turn_ms", -1_i64),
        ),
        (
            "webhook_attempts_counted",
            row("webhook_attempts").with("number", 0_i64),
        ),
        (
            "webhook_attempts_answered_or_not",
            row("webhook_attempts").with("error", "x"),
        ),
        (
            "webhook_deliveries_state_known",
            row("webhook_deliveries")
                .with("state", "x")
                .with("ended_at", instant())
                .without(&["next_attempt_at"]),
        ),
        (
            "webhook_deliveries_pending_has_a_next",
            row("webhook_deliveries").without(&["next_attempt_at"]),
        ),
        (
            "webhook_deliveries_over_has_an_end",
            row("webhook_deliveries").with("ended_at", instant()),
        ),
        (
            "webhook_deliveries_attempts_counted",
            row("webhook_deliveries").with("attempts", -1_i64),
        ),
    ]);
    rows
}
