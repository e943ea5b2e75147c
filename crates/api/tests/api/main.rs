//! The API as clients see it, on both databases.

#![expect(clippy::unwrap_used, reason = "tests and their helpers")]

mod access;
mod approvals;
mod artifacts;
mod automations;
mod budgets;
mod concurrent_keys;
mod cursors;
mod document;
mod errors;
mod formats;
mod goals;
mod health;
mod idempotency;
mod lists;
mod memory;
mod overview;
mod pages;
mod prechecks;
mod questions;
mod request_guard;
mod runtime_tools;
mod runtimes;
mod seat_messages;
mod seats;
mod sessions;
mod tenants;
mod unified;
mod world;

/// Makes a test of each behaviour for each database.
macro_rules! on_both {
    ($($module:ident: [$($name:ident),* $(,)?])*) => {
        mod on_sqlite { on_both! { @tests Sqlite $($module: [$($name),*])* } }
        mod on_postgres { on_both! { @tests Postgres $($module: [$($name),*])* } }
    };
    (@tests $dialect:ident $($module:ident: [$($name:ident),*])*) => {$(
        mod $module {$(
            #[tokio::test]
            async fn $name() {
                let world = crate::world::World::new(store::database::Dialect::$dialect).await;
                crate::$module::$name(&world).await;
            }
        )*}
    )*};
}

on_both! {
    artifacts: [
        download_is_an_attachment_of_its_own_type, content_that_server_does_not_have_gets_409,
        artifacts_are_listed_with_permission_to_read_sessions,
    ]
    approvals: [
        pending_approvals_are_listed_and_decided_by_members,
        decision_on_ended_approval_is_refused_with_its_state, input_of_approval_is_whole_up_to_its_limit,
        repeated_decision_returns_same_response,
    ]
    goals: [
        goal_is_started_once_and_listed_by_state, invalid_goal_is_refused_with_its_field,
        person_changes_plan_and_tasks_of_goal, goal_is_changed_paused_and_cancelled,
        goal_edit_with_stale_etag_is_refused, waiting_task_is_edited_with_its_etag,
        invalid_edit_of_task_is_refused_with_its_field,
    ]
    questions: [
        pending_questions_are_listed_and_answered_by_members, invalid_or_late_answer_is_refused,
        only_question_of_waiting_agent_is_declined,
        repeated_answer_returns_same_response,
    ]
    tenants: [
        resource_of_another_tenant_is_not_found,
        operation_requires_its_documented_permission,
        operation_without_valid_token_is_unauthenticated,
    ]
    idempotency: [
        repeated_request_with_same_key_creates_once,
        key_of_another_request_is_refused,
        key_of_refused_request_can_be_reused,
        retry_after_crash_returns_created_message,
        replayed_token_creation_omits_secret,
        retry_after_crash_succeeds_despite_changed_conditions,
        repeated_tenant_creation_makes_one_first_token,
        repeated_endpoint_test_and_redelivery_are_sent_once,
        repeated_rotation_with_same_key_rotates_once,
        replayed_sign_in_link_omits_code,
        equal_trigger_is_added_once,
    ]
    concurrent_keys: [
        concurrent_requests_with_one_key_get_one_response,
        concurrent_requests_with_one_key_on_two_servers_get_one_response,
        concurrent_refused_requests_release_their_key,
        second_request_waits_for_first,
        second_request_is_answered_if_first_is_dropped,
    ]
    seats: [session_shows_its_seats, invalid_seat_creates_no_session]
    sessions: [
        session_list_defaults_to_regular_type,
        session_list_is_paginated,
        session_list_filters_by_text,
        invalid_session_transition_is_refused,
        inputs_to_draft_session_wait_until_enabled,
        deletion_of_bound_session_requires_with_automations,
        session_edit_with_stale_etag_is_refused, waiting_message_is_edited_with_its_etag,
        agent_in_use_is_removed_with_its_last_user, session_is_read_replayed_and_exported, transcript_is_read_backward_from_end_and_from_run,
    ]
    seat_messages: [
        message_to_seat_is_sent_once_listed_and_acknowledged, invalid_message_to_seat_is_refused_with_field,
    ]
    runtimes: [
        operation_of_runtimes_needs_token_of_runtime, runtime_of_unsupported_version_is_refused_with_remedy,
        request_of_runtime_without_version_or_worker_is_refused,
        trigger_file_without_automation_of_instance_is_refused_with_reason,
    ]
    runtime_tools: [
        message_of_agent_needs_secret_of_its_run, file_of_agent_follows_the_line_of_its_request,
    ]
    formats: [automation_of_newer_format_can_only_be_read_paused_and_deleted]
    memory: [
        memory_entries_are_set_listed_shown_and_deleted, invalid_memory_entry_is_refused_with_field,
        memory_needs_permissions_of_its_owner, memory_edit_with_stale_etag_is_refused,
    ]
    budgets: [
        exhausted_budget_pauses_automation_and_blocks_run,
        invalid_budget_is_refused_with_field,
        tenant_budget_requires_install_admin,
        tenant_budget_with_stale_etag_is_refused,
    ]
    automations: [
        dry_run_tells_next_run_and_stores_nothing, dry_run_of_definition_needs_permission_to_write,
        automation_is_created_read_changed_and_deleted,
        policy_defaults_are_returned,
        automation_edit_with_stale_etag_is_refused,
        automation_patch_changes_only_given_fields,
        triggers_are_added_and_removed,
        trigger_change_with_stale_etag_is_refused,
        upcoming_runs_are_previewed_with_zone_and_offset,
        retried_occurrence_is_listed_once,
        replayed_webhook_fires_no_second_run,
    ]
    access: [
        token_has_only_permissions_of_its_role,
        answer_and_names_of_run_need_their_permissions,
        created_token_cannot_exceed_permissions_of_creator,
        runtime_token_is_refused_by_operations_of_people,
        revoked_or_expired_token_is_unauthenticated,
        made_token_expires_with_its_maker_and_names_it,
        cascading_revocation_ends_all_made_tokens,
        process_of_turn_is_refused_at_private_socket,
        api_sign_in_link_works_once,
        browser_change_from_foreign_page_is_refused,
        sign_in_attempts_over_limit_get_429,
        tenant_creation_requires_install_admin,
        agent_env_values_are_hidden_without_write_permission,
    ]
    health: [
        health_routes_refuse_foreign_host,
        server_without_database_is_live_but_not_ready,
        server_with_ended_loop_is_live_but_not_ready,
        server_with_uncertain_clock_is_not_ready,
        metrics_describe_shared_database,
        metrics_require_install_tenant_and_instances_read,
        metrics_count_queued_runs_of_all_tenants,
        request_metrics_have_route_label_without_ids,
        open_trace_is_counted_until_it_is_dropped,
        request_span_has_method_route_and_status,
    ]
    cursors: [
        trace_resumes_after_id_from_header_or_parameter, text_sessions_of_tenant_trace_are_checked,
    ]
    errors: [
        invalid_request_error_names_field_and_value,
        unknown_route_and_method_return_problem,
        oversized_or_invalid_body_is_refused,
    ]
    overview: [
        overview_of_new_tenant_is_empty,
        overview_tells_what_ran_failed_waits_and_comes_next,
        overview_names_automations_that_paused_themselves,
        overview_names_goals_that_wait_for_person,
        overview_and_goal_have_usage_of_turn,
        overview_with_many_failures_has_whole_counts,
        timeline_has_lane_for_each_automation_and_one_for_conversations,
        overview_and_timeline_refuse_periods_out_of_range,
    ]
    lists: [
        run_list_filters_by_statuses_reason_and_time, many_runs_are_changed_only_with_their_number,
        automations_are_sorted_by_name_with_counts,
    ]
    prechecks: [
        precheck_requires_agents_write,
        precheck_directory_change_requires_agents_write,
        invalid_precheck_is_refused_with_field,
    ]
    unified: [
        server_info_shows_unified_mode,
        automation_from_browser_is_bound_to_unified_session,
        automation_list_filters_by_session_in_unified_mode,
    ]
}
