//! Turns from the due instant to the end, with real agent processes, on both databases and over the API.
//!
//! The tests compare the product's records with the agents' own prompt logs.

#![expect(clippy::unwrap_used, reason = "tests and their helpers")]

#[macro_use]
mod delegate;

mod agent_notices;
mod api_stores;
mod approvals;
mod automations;
mod budgets;
mod cancels;
mod clock_skew;
mod concurrent_writes;
mod content_sweep;
mod deliveries;
mod failures;
mod fences;
mod goals;
mod hostile_agents;
mod invariants;
mod limits;
mod loops;
mod lost_replies;
mod notifications;
mod observability;
mod outcomes;
mod permissions;
mod prechecks;
mod questions;
mod records;
mod resources;
mod restores;
mod retention;
mod routes;
mod runtime_folder;
mod runtime_link;
mod session_memory;
mod stops;
mod wire;
mod world;

/// Creates a test of each scenario for each database.
macro_rules! scenarios {
    ($($file:ident: [$($scenario:ident),* $(,)?])*) => {
        mod on_sqlite {
            scenarios! { @tests Sqlite $($file: [$($scenario),*])* }
        }

        mod on_postgres {
            scenarios! { @tests Postgres $($file: [$($scenario),*])* }
        }

        /// The same scenarios, with turns that write over the API as a runtime does.
        mod over_api {
            scenarios! { @tests SqliteOverApi $($file: [$($scenario),*])* }
        }
    };
    (@tests $storage:ident $($file:ident: [$($scenario:ident),*])*) => {$($(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $scenario() {
            let world = crate::world::World::new(crate::world::Storage::$storage).await;
            crate::$file::$scenario(&world).await;
            crate::invariants::check(&world).await;
        }
    )*)*};
}

scenarios! {
    approvals: [
        approval_decisions_reach_agent,
        concurrent_approvals_beyond_limit_are_denied,
        inactivity_limit_pauses_while_approval_is_pending,
        approval_deadline_is_capped_by_turn_timeout,
        cancelling_turn_voids_its_pending_approvals,
        stopping_server_voids_approval_and_requeued_attempt_requests_anew,
        withdrawn_approval_cannot_be_allowed,
        heartbeat_is_renewed_while_approval_is_pending,
        waiting_turns_lend_slots_only_up_to_limit,
    ]
    budgets: [
        turn_over_budget_is_stopped_and_pauses_automation,
        answer_finished_before_budget_cancel_succeeds,
        turn_over_minutes_is_stopped_and_pauses_automation,
        turn_usage_is_growth_of_session_totals,
        usage_before_first_report_is_not_charged,
        alternating_currencies_are_each_charged_once,
        running_turn_stops_when_other_turns_exhaust_budget,
    ]
    cancels: [
        running_turn_is_cancelled_without_waiting_for_heartbeat,
        turn_finished_before_cancel_arrives_succeeds,
        turn_is_cancelled_while_agent_starts,
        queued_and_deferred_runs_are_cancelled_without_turn,
    ]
    failures: [
        missing_agent_command_exhausts_attempts,
        agent_exit_before_initialize_is_retried,
        turn_whose_tools_cannot_be_granted_fails_before_its_agent_and_is_retried,
        retry_after_crash_in_answer_prompts_with_interruption,
        crash_after_prompt_with_fail_policy_is_not_retried,
        crash_before_prompt_is_retried_despite_fail_policy,
        unknown_sign_in_method_fails_without_retry,
        unsupported_protocol_version_fails_without_retry,
        automation_pauses_after_consecutive_failures,
    ]
    fences: [
        finish_of_stalled_attempt_is_rejected,
        stalled_attempt_is_killed_at_its_next_write,
        silent_stalled_attempt_is_killed_at_next_heartbeat,
        next_attempt_starts_after_stalled_agent_is_dead,
        agent_of_deleted_session_is_killed_at_next_heartbeat,
        leftovers_of_worker_without_runs_are_killed_before_next_turn,
    ]
    hostile_agents: [
        line_of_100_megabytes_fails_turn,
        message_with_too_many_values_fails_turn,
        malformed_lines_are_dropped_and_turn_continues,
        exit_after_partial_message_fails_turn,
        agent_exit_reason_depends_on_stage,
        unsupported_client_request_is_refused_and_turn_continues,
        invalid_restore_reply_fails_turn_with_reason,
        updates_replayed_after_load_reply_are_not_part_of_answer,
        agent_flooding_after_answer_is_shut_down_and_turn_succeeds,
        agent_flooding_updates_is_stopped_at_timeout,
        tool_calls_beyond_row_limit_are_dropped,
        tool_outputs_beyond_turn_size_limit_are_omitted, tool_contents_beyond_size_limit_are_omitted,
        endless_stderr_is_drained_and_tail_is_kept,
        well_behaved_agent_is_not_delayed_by_hostile_ones,
    ]
    lost_replies: [
        begin_with_lost_reply_is_repeated_and_takes_turn,
        begin_with_lost_reply_is_requeued_by_stopping_server,
        begin_with_lost_reply_leaves_stalled_run_unchanged,
        claim_with_lost_reply_is_taken_up_by_claiming_worker,
    ]
    limits: [
        silent_agent_obeying_cancel_keeps_its_session,
        silent_agent_ignoring_all_signals_is_killed,
        endlessly_answering_agent_is_stopped_at_timeout,
        agent_hanging_at_start_is_stopped_at_timeout,
    ]
    loops: [
        scheduler_sleeps_until_due_instant,
        trigger_due_during_fire_burst_fires_in_same_tick,
        work_of_command_without_server_is_noticed,
        tick_after_update_of_zone_rules_moves_next_runs,
        concurrent_turns_do_not_exceed_slots,
        two_automations_run_concurrently,
        persons_message_precedes_automation_after_running_turn,
        clock_changes_fire_nothing_twice_or_early,
        running_turn_survives_clock_changes,
        catch_up_latest_after_sleep_runs_latest_instant,
        catch_up_all_after_sleep_runs_every_instant_in_order,
    ]
    resources: [
        fork_bomb_is_stopped_by_process_limit,
        agent_over_memory_limit_fails,
        agent_over_cpu_limit_fails,
        file_limits_apply_and_core_dumps_are_disabled,
        agent_does_not_inherit_servers_open_file_limit,
        agent_and_guard_environment_has_no_server_secrets,
    ]
    stops: [
        stop_waits_for_turn_that_ends_before_deadline,
        unfinished_turn_is_requeued_at_stop_and_resumed,
        turn_stopped_before_prompt_is_requeued_uninterrupted,
        agent_ignoring_cancel_does_not_block_server_stop,
    ]
    restores: [
        busy_session_is_retried_with_growing_backoff,
        lost_agent_session_fails_until_automation_is_reset,
        refused_restore_fails_and_keeps_session,
        agent_without_restore_fails_second_turn,
        mode_and_settings_are_reapplied_after_restore,
        unsupported_agent_mode_fails_before_prompt,
        agent_session_of_crashed_first_turn_is_not_kept,
        working_directory_is_fixed_and_not_recreated,
    ]
    notifications: [
        answer_is_delivered_with_valid_signature,
        automation_answer_carries_channel_of_its_session,
        failed_delivery_is_retried_with_same_id_until_success,
        unrecorded_delivery_is_resent_with_same_id_after_lease,
        slow_receiver_does_not_delay_others,
    ]
    content_sweep: [
        content_is_removed_once_no_artifact_refers_to_it,
        content_of_unknown_tenant_is_kept,
    ]
    deliveries: [
        placed_run_becomes_file_of_its_instance,
        failed_delivery_is_retried_and_never_a_success,
        server_delivers_as_soon_as_run_is_queued,
        hanging_folder_delays_no_other_one,
        late_write_counts_after_its_timeout,
    ]
    retention: [
        housekeeping_removes_old_records_and_keeps_transcript,
        housekeeping_without_retention_keeps_records_and_events,
    ]
    outcomes: [
        stop_reasons_map_to_distinct_outcomes,
        unknown_stop_reason_fails_turn,
        empty_answer_is_flagged_with_notice,
        prompt_error_fails_turn_and_keeps_partial_answer,
        answer_over_size_limit_is_truncated_with_notice,
        oversized_session_fails_until_automation_is_reset,
    ]
    prechecks: [
        accepting_precheck_is_followed_by_turn,
        declining_precheck_skips_run_and_starts_no_agent,
        files_left_by_declining_precheck_are_kept,
        unclear_precheck_is_followed_by_turn_and_flagged,
        precheck_over_time_limit_is_killed_with_descendants,
        precheck_environment_names_run_and_has_no_secrets,
        large_precheck_output_is_drained_and_tail_is_kept,
        retry_does_not_repeat_precheck,
        run_is_cancelled_during_precheck,
        stopping_server_requeues_run_in_precheck,
        heartbeat_is_renewed_during_precheck,
        lease_of_precheck_counts_from_before_its_claim,
    ]
    questions: [
        default_of_unanswered_question_reaches_agent_once, elicitation_is_answered_in_its_turn,
        declined_elicitation_is_declined_despite_its_default,
        unanswered_elicitation_takes_defaults_or_is_declined,
        elicitation_without_checkable_form_is_declined_at_once, cancelled_turn_voids_its_elicitation,
    ]
    permissions: [
        permission_rules_decide_and_unmatched_requests_are_denied,
        allowed_pattern_holds_for_whole_command,
        permission_request_after_cancel_is_answered_cancelled,
    ]
    records: [
        transcript_keeps_last_state_of_updates, rows_keep_content_files_times_and_place_in_answer,
        updates_after_stop_reason_are_recorded,
        replayed_history_is_not_recorded_twice,
        live_text_is_visible_during_turn_and_replaced_by_answer,
        live_text_is_flushed_at_most_five_times_per_second,
    ]
    agent_notices: [
        notices_and_compactions_are_rows_of_transcript, endless_notices_and_compactions_are_bounded,
    ]
    concurrent_writes: [updates_are_recorded_while_approval_is_pending]
    observability: [
        metrics_count_and_time_fires_claims_and_turns,
        metrics_count_missed_instants_without_lag,
        metrics_count_each_attempt_and_queue_wait_of_first_only,
        metrics_count_failure_after_cancel_as_cancelled,
        metrics_count_stalled_run_once_and_not_as_turn,
        metrics_count_loop_errors_by_loop_name,
        turn_span_has_only_ids,
    ]
    session_memory: [
        continuous_automation_resumes_its_session,
        persons_message_is_answered_in_session,
        report_of_failed_turn_is_block_before_unchanged_message,
        simultaneous_message_and_occurrence_run_in_order,
        session_is_not_restored_before_restore_delay,
        prompt_is_full_message_without_history,
    ]
}
