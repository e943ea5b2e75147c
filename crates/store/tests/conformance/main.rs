//! The contract of the store, tested on both databases.
//!
//! Each file covers one concept. A behaviour, `async fn name(db: &TestStore)`, runs only if the list below names it.

#![expect(clippy::unwrap_used, reason = "behaviours and their helpers are tests")]

#[macro_use]
mod registry;

mod agent_removal;
mod approval_inputs;
mod approvals;
mod artifacts;
mod automation_lists;
mod backlog;
mod batch;
mod begin;
mod budgets;
mod budgets_of_minutes;
mod cancel;
mod catalog;
mod changes;
mod check_violations;
mod claim;
mod deadlocks;
mod delete_session;
mod directories;
mod due;
mod edit;
mod elicitations;
mod endpoints;
mod event_summary;
mod events;
mod feed;
mod finish;
mod fire;
mod fixtures;
mod formats;
mod goals;
mod heartbeat;
mod idempotency;
mod invariants;
mod lists;
mod locks;
mod manual_retry;
mod memory;
mod multi_server;
mod notifications;
mod opening;
mod overlap;
mod pages;
mod placement;
mod plans;
mod poolers;
mod postgres_server;
mod prechecks;
mod questions;
mod record;
mod retention;
mod retry;
mod row_security;
mod run_lists;
mod run_reports;
mod scheduler_status;
mod schema;
mod seat_messages;
mod send_message;
mod sequences;
mod session_updates;
mod sessions;
mod stage;
mod statements;
mod sweep;
mod tenant_isolation;
mod tenants;
mod token_makers;
mod tokens;
mod too_new;
mod tool_calls;
mod transactions;
mod values;
mod webhooks;
mod withdraw_approvals;
mod without_locks;
mod zone_rules;

use {fixtures::TestStore, registry::Behaviour, store::database::Dialect};

behaviours! {
    both {
        schema: [
            duplicate_row_violates_named_unique_index, ended_or_deleted_row_frees_unique_index,
            active_run_excludes_other_active_runs_of_seat, inconsistent_row_violates_named_check,
            unique_indexes_of_table_have_distinct_columns, every_foreign_key_includes_tenant,
            reference_to_row_of_other_tenant_is_refused, session_deletion_cascades_to_its_rows,
        ]
        values: [every_value_type_round_trips, every_value_type_may_be_null, corrupt_value_error_names_column_and_row]
        transactions: [
            dropped_transaction_is_rolled_back, read_transaction_sees_one_snapshot, read_transaction_refuses_writes,
            concurrent_writers_are_serialized, fetch_of_one_row_refuses_none_and_many, fetch_by_keys_finds_each_key,
        ]
        opening: [
            reopened_database_is_unchanged, concurrent_opens_of_new_database_succeed,
            new_database_opens_once_its_reader_has_ended, interrupted_open_can_be_repeated,
            newer_database_is_refused_and_unchanged, examine_reports_version_and_size_without_changes,
            read_only_database_refuses_writes, database_of_other_application_is_refused_and_unchanged,
        ]
        without_locks: [
            schedulers_without_locks_fire_each_instant_once, messages_without_locks_share_one_seat_in_sequence,
            fires_without_locks_keep_overlap_policy, workers_without_locks_claim_each_run_once,
            finish_and_stall_without_locks_have_one_winner, approval_decisions_without_locks_have_one_winner,
            question_answers_without_locks_have_one_winner, equal_questions_without_locks_are_one,
            concurrent_transitions_without_locks_keep_invariants,
        ]
        send_message: [
            waiting_message_is_edited_until_worker_takes_it, concurrent_messages_share_one_seat_in_sequence,
            seat_takes_people_before_automations_in_order, message_to_busy_seat_waits_for_end_of_turn,
            occurrence_is_hidden_from_running_turn, message_from_channel_has_person_origin,
            message_to_closed_session_is_refused, input_of_automation_is_not_edited, session_key_is_scoped_to_tenant,
            message_to_free_seat_is_queued, edit_rewrites_file_of_message, message_to_seat_runs_beside_other_seats,
        ]
        budgets: [
            usage_without_budget_is_counted_and_unlimited, run_over_budget_is_deferred_until_next_period,
            automation_resumed_before_next_period_pauses_again, usage_equal_to_limit_exhausts_budget,
            run_stopped_by_budget_pauses_automation_and_is_not_retried, repeated_usage_reports_are_counted_once,
            concurrent_turns_are_all_counted_against_budget, usage_reported_by_lost_worker_stays_counted,
            seat_without_memory_has_no_usage, budget_periods_begin_at_midnight_utc,
            tenant_budget_limits_all_runs_of_its_tenant_only, usage_of_deleted_automation_stays_in_tenant_usage,
            run_deferred_by_budget_does_not_block_its_seat, messages_of_seats_wait_for_budget_of_tenant,
        ]
        budgets_of_minutes: [
            budget_in_unknown_currency_pauses_and_requests_attention, minutes_of_running_turns_count_for_other_turns,
            turn_of_deleted_session_counts_its_minutes, cancelled_waiting_run_pauses_no_automation,
            minutes_of_turns_count_when_they_end, budget_of_minutes_needs_its_format, downtime_uses_no_minutes_up,
        ]
        prechecks: [
            run_in_precheck_of_deleted_automation_does_not_begin, run_requeued_during_precheck_is_prechecked_again,
            declined_run_deletes_its_otherwise_empty_session, declined_run_keeps_session_with_other_content,
            precheck_of_occurrence_comes_before_its_turn, precheck_is_repeated_until_first_turn_begins,
            run_cancelled_during_precheck_ends_cancelled, declined_run_is_skipped_and_starts_next_run,
            declined_run_does_not_change_failure_count, decline_of_foreign_or_begun_run_is_fenced,
            declined_webhook_run_keeps_no_payload, message_of_person_has_no_precheck, declined_run_frees_overlap_slot,
        ]
        backlog: [
            backlog_before_pause_or_deletion_is_recorded_as_missed, corrupt_automation_does_not_block_others,
            corrupt_automation_can_be_deleted,
        ]
        formats: [
            unknown_key_alone_does_not_stop_automation, edit_keeps_unknown_keys_and_later_format,
            edited_agent_and_budget_keep_unknown_keys, instance_reports_server_format_and_too_new_documents,
        ]
        too_new: [
            too_new_automation_stays_due_for_newer_server, too_new_trigger_stops_its_automation,
            queued_run_of_too_new_document_is_left_to_newer_server, run_of_tenant_with_too_new_budget_is_not_claimed,
            claimed_run_with_too_new_document_is_requeued, fire_and_edit_of_too_new_automation_are_refused,
            pause_of_too_new_automation_loses_no_instant, too_new_automation_can_be_deleted,
            started_run_of_too_new_automation_ends_as_usual, run_of_removed_too_new_trigger_is_not_claimed,
            instants_after_pause_of_too_new_automation_are_not_due, run_ends_despite_unreadable_tenant_budget,
            unreadable_agent_hides_no_other, settings_edit_of_too_new_seat_is_refused,
        ]
        scheduler_status: [scheduler_status_returns_next_due_work]
        batch: [failed_message_in_batch_fails_alone, finish_by_other_worker_in_same_batch_is_fenced]
        due: [
            occurrence_for_closed_session_is_skipped_with_attention, jittered_trigger_fires_late_and_keeps_its_instant,
            concurrently_due_triggers_create_one_continuous_session, due_trigger_of_paused_automation_is_unscheduled,
            fire_due_of_tenant_fires_no_trigger_of_others, concurrent_schedulers_fire_each_instant_once,
            catch_up_all_runs_missed_instants_in_batches, invalid_schedule_pauses_its_automation_alone,
            one_time_trigger_is_done_after_its_instant, occurrence_for_paused_session_is_deferred,
            trigger_does_not_fire_before_its_instant, due_trigger_creates_one_run_and_advances,
            catch_up_latest_runs_last_missed_instant, repeated_instant_creates_no_second_row,
            fire_due_returns_earliest_due_instant, repeated_fire_due_fires_nothing_twice,
            resumed_automation_is_due_from_now_on, occurrence_in_quiet_hours_is_skipped, failed_fire_leaves_trigger_due,
            missed_range_is_one_row_with_count, skipped_occurrence_has_no_session,
        ]
        fire: [
            fires_in_same_microsecond_are_separate_occurrences, file_fires_only_automations_placed_on_its_instance,
            data_of_file_is_fenced_in_prompt_of_every_attempt, file_does_not_fire_paused_or_expired_automation,
            fresh_automation_gets_new_session_for_each_run, concurrent_fires_create_one_continuous_session,
            file_does_not_fire_automation_of_other_tenant, manual_fire_ignores_pause_and_quiet_hours,
            automation_name_is_unique_until_deletion, automation_with_unknown_agent_is_refused,
            pause_and_resume_keep_continuous_session, automation_deletion_cancels_waiting_runs,
            fire_of_deleted_automation_is_not_found, continuous_automation_keeps_its_session,
            manual_fire_does_not_change_schedule, every_automation_has_manual_trigger, automation_deletion_cancels_file,
            file_with_reserved_input_fires_once, run_after_reset_starts_new_session, file_follows_overlap_policy,
        ]
        claim: [
            claimed_runs_of_worker_are_listed_until_begun, run_is_claimed_only_on_instance_of_its_memory,
            claim_prefers_people_and_keeps_input_order, claim_returns_attempt_and_input_instant, pause_takes_file_back,
            claim_from_empty_queue_returns_nothing, concurrent_claims_take_each_run_once, folder_of_seat_needs_no_other_directory,
            claim_of_named_run_claims_no_other, deferred_run_cannot_be_claimed, claim_takes_messages_of_seats_last,
        ]
        begin: [
            begin_repeated_with_its_secret_returns_same_assignment, begin_of_unclaimed_or_foreign_run_is_fenced,
            permission_rules_of_agent_and_automation_are_combined, begin_on_instance_without_memory_is_refused,
            first_completed_turn_pins_seat_to_instance, scheduled_turn_is_readable_in_transcript,
            rendered_prompt_is_only_in_run_record, message_of_person_is_stored_verbatim, cancelled_run_does_not_begin,
        ]
        run_reports: [
            seat_without_failures_has_no_report, report_names_each_end_without_success,
            report_begins_after_last_success_began, attempts_at_one_input_are_one_line_by_last_end,
            command_of_agent_has_no_report_and_leaves_it_to_next_prompt, policy_turns_reports_of_automation_off,
            runs_of_other_seats_and_tenants_are_not_reported, occurrences_without_seat_are_reported_to_their_session,
            skips_of_quiet_hours_and_prechecks_are_counted, report_of_thousand_failures_lists_newest_and_counts_rest,
            report_is_stored_and_repeated_with_its_prompt, instructions_open_each_new_memory_of_seat,
        ]
        sweep: [
            sweep_starts_unpromoted_runs_and_counts_faults, sweep_of_ended_backoff_counts_no_fault,
            sweep_keeps_blocked_runs_deferred, sweep_promotes_more_than_one_batch, sweep_starts_one_run_of_exclusive_automation,
        ]
        events: [
            session_log_is_read_after_number, session_state_change_is_in_its_log,
            event_numbers_have_no_gap_and_follow_commits, rolled_back_event_takes_no_number,
            deferred_runs_are_in_session_log, event_of_later_version_is_unknown_and_keeps_its_number,
        ]
        cancel: [
            waiting_run_is_cancelled_at_once_and_frees_its_seat, cancel_of_claimed_or_running_run_is_only_requested,
            cancel_of_session_runs_starts_no_deferred_run, cancel_starts_next_run_of_automation,
            close_of_session_cancels_its_file, run_of_other_tenant_is_not_found, cancel_of_ended_run_is_refused,
        ]
        record: [
            write_of_unstarted_or_ended_attempt_is_fenced, stalled_attempt_cannot_finish,
            repeated_entry_replaces_its_row, entry_of_other_run_cannot_be_replaced, live_text_is_read_from_any_position,
        ]
        overlap: [
            seat_taken_by_person_does_not_block_automation, overlap_queue_serializes_runs_across_sessions,
            overlap_cancel_running_cancels_earlier_runs, run_in_backoff_does_not_block_next_run,
            superseded_claimed_run_does_not_begin, fire_beyond_queue_limit_is_skipped, overlap_skip_records_its_reason,
            overlap_allow_runs_concurrently, overlap_ignores_runs_of_people, file_counts_as_waiting_run,
        ]
        manual_retry: [
            retry_of_run_without_failure_is_refused, failed_run_is_retried_once_with_interrupted_prompt,
            manual_retry_of_unseen_prompt_sends_it_unchanged, manual_retry_is_allowed_after_attempts_are_exhausted,
            retry_in_closed_session_or_deleted_automation_is_refused, manual_retry_waits_for_busy_seat,
            concurrent_manual_retries_create_one_attempt,
        ]
        sessions: [
            invalid_session_transition_names_current_state, session_of_other_tenant_is_not_found,
            session_key_is_unique_within_tenant, session_pause_defers_queued_runs_and_keeps_running_turn,
            claimed_run_of_paused_session_is_deferred, session_resume_starts_deferred_runs_in_order,
            draft_session_defers_inputs_until_enabled, session_close_cancels_waiting_runs_and_keeps_running_turn,
            claimed_run_of_closed_session_is_cancelled, failed_run_of_closed_session_is_not_retried,
            run_deferred_by_pause_frees_overlap_slot, session_is_created_as_draft_of_channel,
            title_edit_with_stale_version_is_refused, concurrent_title_edits_have_one_winner, seats_are_created_at_once,
        ]
        directories: [
            own_folder_is_resolved_by_server_that_takes_turn, paths_of_own_folders_are_removed_by_migration,
            run_without_directory_waits_for_server_that_has_it, run_refused_by_all_online_servers_fails_after_wait,
            only_online_servers_count_for_missing_directory, run_without_directory_on_only_server_fails_at_once,
            own_folder_is_left_to_later_servers, found_directory_removes_refusal, only_owner_of_claim_refuses_run,
        ]
        heartbeat: [
            heartbeat_of_cancelled_run_returns_first_reason, heartbeat_of_foreign_or_unclaimed_run_is_lost,
            begin_long_after_claim_renews_heartbeat, heartbeat_of_ended_run_is_lost, heartbeat_replies_for_each_run,
        ]
        delete_session: [
            automation_that_agent_makes_blocks_or_loses_to_deletion, system_automations_do_not_block_session_deletion,
            continuous_automation_is_unlinked_from_deleted_session, unreadable_bound_automation_blocks_session_deletion,
            session_and_bound_automations_are_deleted_atomically, session_deletion_starts_next_run_of_automation,
            session_deletion_removes_seats_and_memory, bound_automation_blocks_session_deletion,
            worker_of_deleted_session_is_fenced, deletion_counts_no_turn_for_file,
        ]
        finish: [
            run_deferred_for_unknown_reason_waits_for_its_instant, automation_with_consecutive_failures_is_paused,
            partial_answer_is_kept_and_marked_interrupted, every_outcome_sets_status_and_transcript_end,
            answer_of_automation_is_message_with_source, unrequested_cancelled_end_counts_as_failure,
            finish_and_next_start_are_one_transaction, empty_answer_leaves_notice_of_no_answer,
            only_completed_turn_updates_seat_memory, finish_by_other_worker_changes_nothing, run_names_include_answer,
            trivial_answers_are_stored_and_logged, finish_stores_usage_title_and_record, retried_failures_count_once,
            run_row_without_reason_is_readable,
        ]
        edit: [
            automation_edit_with_stale_version_is_refused, concurrent_automation_edits_have_one_winner,
            automation_edit_to_taken_name_is_refused, unchanged_triggers_keep_cadence_across_edit,
            removed_trigger_records_its_missed_instants, triggers_edited_while_paused_are_due_after_resume,
            jitter_edit_moves_fire_time_and_not_instant, run_of_removed_trigger_keeps_its_prompt,
            edit_of_agent_or_directory_needs_session_reset, edited_session_mode_applies_to_next_run,
            rebind_clears_attention_of_closed_session, edit_clears_optional_fields,
        ]
        notifications: [
            answer_notification_has_channel_of_session, endpoint_gets_only_subscribed_notification_kinds,
            concurrent_notifiers_create_one_delivery_per_event, delivery_is_claimed_by_one_sender_until_lease_expires,
            failing_delivery_backs_off_and_is_given_up, endpoint_with_status_410_or_day_of_failures_is_disabled,
            old_finished_deliveries_are_trimmed, delivery_of_earlier_version_is_sent_byte_for_byte,
        ]
        endpoints: [endpoint_lifecycle_is_limited_to_its_tenant, endpoint_of_deleted_automation_is_disabled_with_reason]
        webhooks: [
            webhook_creates_run_with_payload, retry_of_webhook_run_keeps_payload,
            replayed_webhook_returns_first_run_without_effect, webhook_id_is_scoped_to_trigger,
            concurrent_webhooks_fire_once_per_id, webhook_respects_overlap_pause_and_quiet_hours,
            webhook_secret_is_deleted_with_its_trigger, webhook_trigger_of_other_tenant_is_not_found,
            rotated_webhook_secret_stays_valid_until_its_end, webhook_receipts_are_kept_for_replay_window,
        ]
        retention: [
            recent_or_unfinished_records_are_not_trimmed, clock_set_back_leaves_no_gap_in_trimmed_log,
            transcripts_and_runs_are_never_trimmed, leftovers_of_ended_runs_are_trimmed, long_log_is_trimmed_in_batches,
            trimmed_log_continues_its_numbers, skipped_run_has_no_record_to_trim, old_usage_is_trimmed,
        ]
        lists: [
            lists_contain_no_row_of_other_tenant, sessions_are_listed_by_last_change_and_type,
            runs_are_listed_newest_first_by_session_automation_and_status, automations_and_agents_are_listed_by_name,
            ensure_tenant_returns_same_id_for_same_name, agent_edit_with_stale_version_is_refused,
            transcript_is_read_backward_without_loss_or_repeat, messages_of_run_are_found_by_start_number,
            run_and_session_ids_are_found_by_range_within_tenant, session_keys_in_form_of_id_are_listed_within_tenant,
            manual_trigger_is_listed_first, seats_are_listed_with_names_of_their_objects,
        ]
        pages: [
            listed_sessions_have_last_message_and_last_run, tenant_pages_and_instance_queues_are_listed,
            automations_are_listed_by_target_session, automation_pages_match_state_and_text,
            unfinished_runs_are_counted_by_status, session_pages_match_every_filter, run_pages_match_every_filter,
        ]
        automation_lists: [
            automation_list_has_agent_session_triggers_and_outcomes, automation_with_corrupt_trigger_hides_no_other,
            automations_are_sorted_in_pages_and_counted, automations_by_id_keep_order, overview_knows_recoveries,
        ]
        run_lists: [
            run_list_has_one_row_for_each_input, run_list_is_filtered_by_reason_and_creation,
            run_statuses_are_those_of_the_list, listed_runs_have_names_of_people, changed_day_of_overview_is_read_again,
            listed_runs_have_kind_of_trigger_and_channel, overview_reads_period_due_and_needing_automations,
            timeline_reads_inputs_and_due_automations_of_period, overview_shows_usage_of_day_and_month,
        ]
        tenants: [
            tenant_name_and_id_are_unique, tenant_is_readable_by_itself_and_system_only,
            concurrent_budget_edits_have_one_winner, seat_of_other_tenant_or_session_is_not_found,
        ]
        plans: [plans_of_pages_use_an_index, plan_of_unreported_runs_uses_indexes]
        retry: [
            ended_backoff_precedes_later_message_without_sweep, retry_after_interruption_sends_interrupted_prompt,
            retry_waits_for_other_run_of_exclusive_automation, stall_keeps_live_text_and_creates_next_attempt,
            stalled_run_with_cancel_request_is_not_retried, heartbeat_concurrent_with_stall_is_consistent,
            retry_of_unseen_prompt_sends_it_unchanged, on_crash_fail_does_not_retry_prompted_run,
            run_with_fresh_heartbeat_is_not_stalled, run_fails_when_attempts_are_exhausted,
            agent_error_or_timeout_is_not_retried, run_of_dead_worker_is_stalled_at_once, lost_workers_exhaust_attempts,
            requeued_run_waits_behind_people, backoff_does_not_occupy_seat, requeued_run_uses_no_attempt,
        ]
        tokens: [
            token_without_scopes_has_all_permissions_of_role, concurrent_uses_of_sign_in_link_have_one_winner,
            token_ids_are_found_by_range_within_tenant, revoked_token_revokes_its_browser_tokens,
            browser_token_expires_with_parent_token, sign_in_link_works_once_before_expiry,
            token_is_found_by_hash_until_expiry, browser_sign_out_keeps_parent_token, unknown_secret_finds_no_token,
            token_pages_are_listed_newest_first, token_use_is_recorded_once_a_minute, expired_sign_ins_are_trimmed,
            token_of_other_tenant_is_not_found, runtime_token_names_its_instance,
            new_runtime_token_revokes_earlier_ones_of_instance, runtime_token_of_instance_of_other_tenant_is_refused,
        ]
        token_makers: [
            explicit_end_after_end_of_maker_is_refused, token_without_end_expires_with_its_maker,
            revoked_or_expired_token_makes_no_token, token_of_other_tenant_makes_no_token, token_never_makes_itself,
            browser_and_its_tokens_expire_with_their_signer, revocation_without_cascade_leaves_made_tokens_valid,
            cascading_revocation_revokes_all_made_tokens, token_made_during_cascading_revocation_does_not_survive,
        ]
        idempotency: [
            idempotency_key_belongs_to_its_first_request, released_key_is_free_unless_response_is_recorded,
            repeated_request_gets_first_response, trimmed_idempotency_key_is_free_again,
            concurrent_claims_of_one_key_get_one_id, message_with_reserved_id_creates_one_run,
            fire_with_reserved_id_creates_one_occurrence, retry_with_reserved_id_creates_one_attempt,
            used_reserved_id_and_taken_name_are_different_errors,
            concurrent_requests_with_one_reserved_id_have_one_effect, test_delivery_with_reserved_id_is_created_once,
            secret_rotation_with_idempotency_key_happens_once, trigger_with_equal_spec_or_id_is_added_once,
        ]
        feed: [
            skipped_and_missed_occurrences_are_in_automation_log, feed_cursor_before_trimmed_events_is_reported_lost,
            added_and_removed_triggers_are_in_automation_log, automation_feed_contains_its_own_events_only,
            feed_cursor_ahead_of_feed_is_reported_lost, feed_contains_all_logs_of_its_tenant_only,
            feed_reader_misses_no_concurrent_event, automation_changes_are_in_its_log, feed_is_read_from_any_cursor,
        ]
        session_updates: [
            events_of_many_sessions_are_read_in_one_call, session_updates_are_limited_to_tenant,
            live_texts_of_many_runs_are_read_in_one_call, grown_live_text_is_read_from_middle,
        ]
        changes: [
            commit_wakes_all_subscribers, rolled_back_change_wakes_no_subscriber,
            commit_of_other_process_wakes_subscribers, live_text_of_other_process_wakes_subscribers,
            session_deletion_wakes_subscribers, last_dropped_subscription_stops_listener,
            work_of_other_process_wakes_workers, late_worker_is_signalled_at_once,
        ]
        approvals: [
            approval_request_without_running_turn_is_fenced, approval_is_decided_once,
            decision_at_approval_deadline_is_refused, undecided_approval_expires_at_deadline,
            attempt_after_stall_requests_new_approval, end_or_cancel_of_attempt_voids_its_approvals,
            approval_of_other_tenant_is_not_found, approvals_are_listed_by_session_automation_run_and_state,
            approval_request_and_decision_are_in_feed_and_notices, approval_decision_of_other_process_wakes_subscriber,
        ]
        seat_messages: [
            seat_message_has_one_row_per_recipient, subscriber_gets_missed_then_new_messages,
            unacknowledged_messages_are_delivered_again, seat_messages_of_other_tenant_or_session_are_not_found,
            publish_in_closed_session_is_refused, session_deletion_ends_message_subscriptions,
            concurrent_publish_and_subscribe_loses_no_message, default_of_question_continues_chain_of_its_turn,
            messages_start_turns_in_order, attempts_carry_same_messages, messages_wait_while_paused,
            publishers_make_one_input, chain_of_messages_has_an_end, agent_sends_message_once, person_sends_to_seats,
        ]
        agent_removal: [
            agent_in_use_is_not_removed, refused_agent_removal_names_limited_number_of_users,
            removed_agent_is_unusable_until_put_again, removal_and_use_of_agent_have_one_winner,
        ]
        approval_inputs: [long_approval_input_is_read_whole, approval_input_of_other_tenant_is_not_found]
        tool_calls: [
            tool_call_counts_only_while_its_run_runs, agent_automation_is_made_once_and_bound_to_its_session,
            agent_automations_are_limited_for_each_turn_session_and_tenant, proposed_automation_waits_for_a_person,
            agent_automation_ends_with_its_lifetime, reminder_resumed_after_its_instant_is_over,
            webhook_after_lifetime_of_agent_automation_is_skipped, tools_of_turn_are_at_most_those_of_its_automation,
        ]
        memory: [
            memory_belongs_to_automation_of_run_or_to_session, recall_selects_by_key_prefix_text_and_confidence,
            memory_entry_is_replaced_and_counts_versions, edit_of_replaced_memory_entry_is_refused, people_read_and_edit_memory,
            memory_of_run_that_is_over_is_unchanged, memory_is_limited_for_turn_and_owner, memory_of_failed_run_is_unconfirmed,
            expired_memory_is_never_returned, memory_is_deleted_with_its_owner, stale_memory_edit_is_refused,
            memory_write_frees_expired_entries, refused_memory_write_is_refused_alone,
        ]
        questions: [
            question_is_asked_once_and_only_while_its_run_runs, unanswered_question_takes_its_default_at_deadline,
            question_and_its_answer_are_in_feed_of_automation, answer_waits_for_busy_seat_and_paused_session,
            questions_are_listed_by_session_and_state, question_of_later_format_is_left_alone, answer_outlives_its_automation,
            deleted_session_removes_its_questions, question_of_other_tenant_is_not_found, fourth_question_of_turn_is_refused,
            closed_session_voids_its_questions, answer_is_next_input_of_seat_once, answer_keeps_its_automation,
        ]
        elicitations: [
            elicitation_without_running_turn_is_fenced, end_or_cancel_of_attempt_voids_its_elicitations_alone,
            unanswered_elicitation_expires_without_an_input,
        ]
        artifacts: [
            artifact_of_ended_run_is_not_saved, other_content_makes_next_version_and_same_content_none,
            concurrent_saves_of_one_name_make_two_versions, artifacts_are_limited_for_each_turn_and_session,
            bytes_of_artifacts_are_limited_for_each_tenant, artifacts_of_other_tenant_are_not_found,
            artifacts_are_listed_by_name_prefix, session_deletion_removes_references_to_contents,
        ]
        sequences: [random_sequence_keeps_invariants] withdraw_approvals: [withdrawn_approval_cannot_be_decided]
        zone_rules: [
            pause_after_new_zone_rules_records_instant_by_present_rules, outdated_corrupt_trigger_waits_for_its_instant,
            stored_instant_off_schedule_runs_and_schedule_continues, outdated_triggers_are_recomputed_once_in_batches,
            instant_moved_by_earlier_version_has_unknown_zone_rules, stored_instant_off_schedule_is_missed_by_policy,
            due_instant_of_older_zone_rules_fires_by_present_rules, pause_records_stored_instant_off_schedule_as_missed,
            instant_of_later_zone_rules_is_left_alone_until_due, outdated_trigger_of_later_format_is_left_alone,
            schedule_without_zone_rules_is_never_outdated, instant_of_older_zone_rules_moves_both_ways,
            instant_that_moves_into_past_is_caught_up, unmoved_instant_gets_present_edition,
            jitter_edit_keeps_edition_of_instant, server_reports_its_zone_rules,
        ]
        placement: [
            runs_of_dead_worker_are_stalled_on_its_instance_alone, placed_runs_are_claimed_on_their_instance_alone,
            run_belongs_to_its_instance_and_tenant_alone, retry_of_placed_run_stays_on_its_instance, seat_has_one_file,
            run_is_delivered_after_confirmed_write, placement_of_current_session_is_fixed, removal_fails_delivered_runs,
            removal_of_instance_fails_placed_runs, cancelled_and_lost_runs_are_disturbed, delivered_run_is_claimed_once,
            placement_names_instance_of_tenant, placement_keeps_older_servers_away, files_are_claimed_for_one_instance,
            added_instance_has_one_token, cancelled_file_ends_at_once, delivered_run_never_stalls, runtime_is_no_server,
            requeued_run_gets_new_file, lease_of_dispatcher_ends, claim_fences_dispatcher, failed_write_is_retried,
        ]
        multi_server: [
            claim_shares_slots_between_tenants, claim_with_one_slot_alternates_tenants,
            pinned_and_unpinned_runs_of_tenant_keep_input_order, claim_skips_runs_pinned_to_other_instances,
            tenant_with_many_due_triggers_does_not_delay_others, first_turn_registers_instance_for_tenant,
            server_is_online_until_stop_or_missing_presence, older_server_with_same_identity_loses_instance,
            concurrent_servers_with_same_identity_have_one_winner, runs_pinned_to_removed_instance_fail,
            instance_removal_is_limited_to_its_tenant, files_of_earlier_servers_are_looked_for_again,
        ]
    }
    sqlite {
        opening: [
            large_file_is_checked_completely_only_by_examine, non_database_file_is_refused_and_unchanged,
            database_file_is_readable_by_owner_only, damaged_file_is_refused_and_unchanged, connections_share_no_pages,
            statements_are_compiled_once_for_each_connection,
            empty_file_is_opened_as_new_database, in_memory_database_keeps_its_rows, missing_folder_is_named_in_error,
        ]
        transactions: [full_disk_has_its_own_error] postgres_server: [sqlite_has_no_server_status]
    }
    postgres {
        plans: [plans_of_claim_and_fire_due_use_queue_indexes, outdated_triggers_are_found_by_index, periods_join_no_attempts]
        feed: [feed_does_not_pass_open_transactions, database_restored_on_other_server_keeps_feed_order]
        multi_server: [
            claim_fills_slot_past_locked_run, fire_due_skips_while_other_scheduler_holds_lock,
            later_schema_is_used_if_marked_compatible, migration_is_refused_while_old_servers_run,
        ]
        postgres_server: [
            database_clock_is_read_between_two_uptimes, postgres_status_reports_privileges_transactions_and_vacuum,
            concurrent_trim_is_skipped_while_lock_is_taken, concurrent_trims_remove_each_row_once,
        ]
        changes: [lost_listener_reconnects_and_wakes_all_subscribers, subscribers_poll_faster_without_listener]
        seat_messages: [message_subscription_listens_to_session_channel, published_message_notifies_session_channel]
        poolers: [
            transaction_pooler_is_detected_and_supported, session_pooler_is_treated_as_server,
            statement_pooler_is_refused, ignored_startup_parameters_are_set_per_transaction,
            direct_address_is_used_to_listen_and_migrate, direct_address_of_other_database_is_refused,
            read_only_database_behind_pooler_refuses_writes,
        ]
        deadlocks: [concurrent_transitions_over_few_seats_do_not_deadlock] cancel: [cancel_that_meets_claim_is_requested]
        locks: [transitions_of_seat_lock_seat_first, claim_skips_locked_runs]
        delete_session: [deletion_that_races_with_automation_of_agent_leaves_no_orphan]
        opening: [superuser_role_is_refused, runtime_blocks_no_migration]
        token_makers: [
            cascading_revocation_waits_for_creation_and_revokes_its_token, creation_waits_for_revocation_of_its_maker,
            tokens_of_earlier_schema_stay_valid,
        ]
        row_security: [
            every_table_has_row_security, tenant_reads_and_writes_only_its_own_rows,
            connection_without_scope_reads_and_writes_nothing,
        ]
        tenant_isolation: [row_security_alone_hides_rows_of_other_tenants]
        transactions: [
            dropped_begin_leaves_no_settings_on_connection, dead_idle_connection_is_replaced,
            transaction_notifies_each_changed_session_once,
        ]
    }
}
