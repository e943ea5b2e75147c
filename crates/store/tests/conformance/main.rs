//! What the store promises, shown on both databases.
//!
//! One file for each concept; a behaviour is an `async fn name(db: &TestStore)`. It is listed once,
//! below, and becomes a test for each database it speaks of. A behaviour that is not here does not
//! exist.

#![expect(clippy::unwrap_used, reason = "behaviours and their helpers are tests")]

#[macro_use]
mod registry;

mod again;
mod answers;
mod approvals;
mod batch;
mod begin;
mod broken;
mod budgets;
mod cancel;
mod catalog;
mod claim;
mod coordinator;
mod deleting;
mod due;
mod edit;
mod endpoints;
mod events;
mod feed;
mod finish;
mod fire;
mod fixtures;
mod fleet;
mod formats;
mod heartbeat;
mod invariants;
mod lists;
mod locks;
mod news;
mod notifications;
mod opening;
mod outlook;
mod overlap;
mod owed;
mod pages;
mod plans;
mod poolers;
mod prechecks;
mod record;
mod retention;
mod retry;
mod row_security;
mod say;
mod schema;
mod second_net;
mod sequences;
mod sessions;
mod shared;
mod stage;
mod statements;
mod sweep;
mod tenants;
mod tokens;
mod too_new;
mod transactions;
mod values;
mod waking;
mod webhooks;
mod withdrawing;
mod without_locks;
mod words;

use fixtures::TestStore;
use registry::Behaviour;
use store::database::Dialect;

behaviours! {
    both {
        schema: [
            what_is_unique_is_refused_twice_by_name, what_is_over_or_deleted_makes_room,
            whatever_is_under_way_keeps_others_from_its_seat, what_does_not_fit_together_is_refused_by_name,
            no_two_unique_indexes_of_a_table_have_the_same_columns,
            every_foreign_key_between_tenants_rows_holds_the_tenant, no_row_can_refer_to_another_tenants,
            a_session_takes_all_that_is_its_own_with_it,
        ]
        values: [
            every_kind_of_value_comes_back_as_it_was, every_kind_of_value_may_be_absent,
            a_stored_value_that_makes_no_sense_names_its_place,
        ]
        transactions: [
            what_was_not_committed_never_was, a_reader_sees_one_state_throughout, a_reader_cannot_write,
            writers_wait_for_each_other, one_row_means_exactly_one,
        ]
        opening: [
            opening_again_changes_nothing, many_may_open_at_once, an_interrupted_opening_can_be_repeated,
            a_newer_database_is_refused_and_left_alone, a_look_tells_version_and_size_and_changes_nothing,
            what_is_opened_to_read_cannot_be_written,
            the_database_of_another_application_is_refused_and_left_alone,
        ]
        without_locks: [
            schedulers_that_race_fire_each_instant_once, people_who_race_get_one_seat_in_turn,
            fires_that_race_keep_the_overlap, workers_that_race_claim_each_run_once,
            an_end_that_races_with_a_stall_has_one_winner,
            a_decision_that_races_with_whatever_ends_it_has_one_winner, everything_at_once_breaks_nothing,
        ]
        say: [
            a_closed_session_refuses_words, words_to_a_free_seat_are_queued_at_once,
            words_to_a_busy_seat_wait_and_the_end_of_its_turn_starts_them,
            people_go_before_automations_and_each_in_their_order,
            an_occurrence_is_never_seen_by_the_turn_that_runs, what_a_channel_says_are_a_persons_words,
            many_who_speak_at_once_get_one_seat_in_turn, the_same_session_key_in_two_tenants_is_two_sessions,
        ]
        budgets: [
            without_a_budget_all_is_counted_and_nothing_held,
            a_turn_beyond_the_budget_waits_until_there_is_one_again,
            who_resumes_before_the_day_is_over_is_told_again, a_limit_is_reached_by_the_last_of_it,
            a_run_that_was_cut_off_pauses_its_automation_and_is_not_tried_again,
            what_a_run_uses_is_counted_once, runs_that_end_or_begin_at_once_are_all_counted,
            what_a_lost_worker_had_counted_stays_counted, a_seat_without_a_memory_has_used_nothing,
            days_and_months_begin_at_midnight_in_utc, a_tenants_budget_holds_for_all_of_it_and_nobody_else,
            what_a_removed_automation_used_stays_the_tenants, nobody_waits_behind_a_run_without_a_budget,
        ]
        prechecks: [
            an_occurrence_is_asked_about_before_its_turn, a_persons_words_are_never_asked_about,
            an_input_is_asked_about_until_its_turn_has_begun_once,
            a_run_that_is_given_back_while_it_is_asked_about_is_asked_about_again,
            a_declined_run_is_skipped_with_its_reason_and_starts_the_next,
            a_declined_run_takes_the_session_along_that_it_had_for_itself,
            a_session_in_which_anything_else_is_stays, only_whoever_has_a_run_that_is_not_begun_declines_it,
            a_declined_run_is_neither_a_failure_nor_a_success,
            a_declined_run_makes_room_for_another_one_of_its_automation,
            what_is_called_off_while_it_is_asked_about_ends_so,
            what_is_asked_about_when_its_automation_is_deleted_never_begins,
            of_a_declined_webhook_nothing_is_kept_but_its_row,
        ]
        owed: [
            what_was_due_before_a_pause_or_an_end_has_its_row, a_row_that_cannot_be_read_holds_up_no_other,
            what_cannot_be_read_can_be_removed,
        ]
        formats: [
            unknown_key_alone_stops_nothing, edit_keeps_unknown_keys_and_the_later_format,
            edited_agent_and_budget_keep_unknown_keys,
            instance_shows_the_format_of_its_server_and_what_it_cannot_honour,
        ]
        too_new: [
            too_new_automation_stays_due_for_a_server_that_honours_it, too_new_trigger_stops_its_automation_alone,
            queued_run_of_a_too_new_document_is_left_to_a_server_that_honours_it,
            run_of_a_tenant_with_a_too_new_budget_is_not_claimed,
            claimed_run_whose_document_became_too_new_goes_back_to_the_queue,
            fire_and_edit_of_a_too_new_automation_are_refused,
            person_pauses_and_resumes_a_too_new_automation_and_no_instant_is_lost,
            person_deletes_a_too_new_automation,
            run_that_began_before_its_automation_became_too_new_ends_as_usual,
            run_of_a_removed_too_new_trigger_is_not_claimed_over_and_over,
            instants_after_a_pause_are_not_due_whatever_follows_it,
            run_ends_though_the_budget_of_its_tenant_became_unreadable, unreadable_agent_hides_no_other,
            settings_of_a_too_new_seat_are_not_edited,
        ]
        outlook: [one_look_tells_what_is_to_come]
        batch: [
            what_many_ask_for_together_fails_alone, a_stranger_beside_a_worker_takes_its_end_from_nobody,
        ]
        due: [
            before_its_instant_nothing_fires, a_look_tells_when_the_first_that_was_due_was,
            a_due_trigger_becomes_one_run_and_moves_on, looking_again_fires_nothing_twice,
            many_schedulers_fire_each_instant_once, what_cannot_be_written_leaves_its_trigger_due,
            one_instant_ends_its_trigger, a_missed_stretch_is_one_row_with_a_count,
            the_latest_missed_instant_is_made_up_for, all_missed_instants_are_made_up_for_in_pieces,
            a_spread_fire_waits_for_its_moment_and_keeps_its_instant,
            a_paused_automation_fires_nothing_and_goes_on_from_now,
            an_instant_that_comes_again_gets_no_second_row, a_due_trigger_of_a_paused_automation_is_stopped,
            a_schedule_that_cannot_be_read_holds_up_no_other, what_is_due_in_quiet_hours_is_skipped,
            an_occurrence_for_a_closed_session_is_skipped_and_asks_for_attention,
            an_occurrence_for_a_paused_session_waits, two_triggers_due_at_once_make_a_continuous_session_once,
            one_tenants_look_leaves_the_others_alone, a_skipped_occurrence_belongs_to_no_session,
        ]
        fire: [
            a_removed_automation_cannot_be_fired, a_name_is_one_automations_until_it_is_removed,
            a_agent_of_nobody_is_refused, firing_leaves_the_cadence_untouched,
            two_fires_in_one_microsecond_are_two_occurrences, a_person_may_fire_while_paused_and_in_quiet_hours,
            a_fresh_automation_gets_a_session_for_each_run, a_continuous_automation_stays_in_its_session,
            fires_at_once_make_a_continuous_session_once, after_a_reset_the_next_run_starts_another_session,
            pausing_and_resuming_keeps_the_session, removing_an_automation_calls_off_what_waits,
            every_automation_has_the_manual_trigger,
        ]
        claim: [
            an_empty_queue_gives_nothing, a_claim_tells_which_attempt_it_is_and_when_the_input_came,
            many_claimers_take_each_run_once, people_are_claimed_before_automations_and_each_in_their_order,
            a_named_run_is_claimed_alone, what_waits_cannot_be_claimed,
            what_a_worker_has_claimed_and_not_begun_is_told, a_run_is_claimed_only_where_its_memory_lies,
        ]
        begin: [
            a_run_that_is_not_the_workers_is_lost, a_run_that_was_called_off_never_begins,
            no_agent_without_its_memory_is_started_in_its_place, a_scheduled_turn_is_shown_as_a_readable_event,
            the_prompt_that_is_sent_is_in_the_record_and_nowhere_else,
            a_persons_words_are_shown_as_they_were_said, the_first_turn_pins_its_seat_and_its_end_decides,
            the_rules_of_the_agent_and_the_automation_hold_together,
        ]
        sweep: [
            what_was_left_behind_starts_and_counts_as_a_fault, a_backoff_that_is_over_is_no_fault,
            what_is_held_stays, more_than_one_look_takes_is_swept_at_once,
            of_an_exclusive_automation_one_starts,
        ]
        events: [
            a_log_is_read_on_from_a_number, a_move_of_a_session_is_in_its_log,
            numbers_have_no_gap_and_follow_commits, what_is_undone_takes_no_number,
            what_waits_is_in_the_log_of_its_session,
            event_of_a_later_version_is_unknown_and_keeps_its_number,
        ]
        cancel: [
            what_is_over_cannot_be_called_off, another_tenants_run_is_as_if_it_were_not_there,
            a_waiting_run_is_called_off_at_once_and_makes_room, an_executed_run_is_only_asked_to_stop,
            all_of_a_session_are_called_off_and_none_starts_instead,
            calling_one_off_lets_the_automations_next_one_start,
        ]
        record: [
            an_attempt_that_is_over_writes_nothing, a_stalled_attempt_cannot_finish,
            a_row_written_again_replaces_what_it_said, a_row_of_another_run_cannot_be_replaced,
            text_being_written_is_read_on_from_any_position,
        ]
        overlap: [
            a_skipped_overlap_says_so, beyond_the_queue_limit_occurrences_are_skipped,
            queued_runs_follow_each_other_across_sessions,
            a_seat_that_goes_to_a_person_does_not_hold_up_the_automation, allowed_runs_stand_side_by_side,
            a_later_occurrence_calls_the_earlier_ones_off, a_superseded_run_that_has_not_begun_never_does,
            only_the_automations_own_runs_count, a_run_in_its_backoff_holds_up_no_other,
        ]
        again: [
            only_what_ended_without_success_is_tried_again, a_failed_run_is_tried_again_once_and_not_blindly,
            what_no_agent_saw_is_sent_as_it_was_when_tried_again,
            attempts_that_are_used_up_leave_one_to_a_person, nothing_is_tried_again_where_nobody_wants_it,
            another_attempt_waits_for_its_seat, people_who_ask_at_once_get_one_attempt,
        ]
        sessions: [
            a_move_that_its_state_does_not_allow_names_the_state,
            another_tenants_session_is_as_if_it_were_not_there, a_key_names_one_session_of_a_tenant,
            a_session_without_a_folder_gets_one_of_its_own, pausing_holds_what_is_queued_and_lets_a_turn_go_on,
            a_claimed_run_whose_session_is_paused_waits_again, resuming_starts_what_waited_in_its_order,
            a_draft_holds_its_inputs_until_it_is_enabled,
            closing_a_session_calls_off_what_waits_and_lets_a_turn_end,
            a_claimed_run_whose_session_is_closed_is_called_off, a_closed_session_gets_no_further_attempt,
            holding_a_run_lets_the_automations_next_one_start,
            a_session_may_begin_as_a_draft_and_belong_to_a_channel, a_title_is_changed_on_what_was_read,
            people_who_race_for_a_title_have_one_winner,
        ]
        heartbeat: [
            a_run_of_another_worker_is_lost, a_run_that_is_over_is_lost, a_run_that_was_called_off_is_told_why,
            each_run_of_a_worker_gets_its_own_answer,
            a_turn_that_begins_long_after_its_claim_is_not_given_up,
        ]
        deleting: [
            bound_automations_of_people_block_deleting, system_jobs_and_other_threads_never_block_deleting,
            a_continuous_automation_lets_go_of_a_deleted_session,
            deleting_a_session_lets_the_automations_next_run_start, a_seat_and_its_memory_go_with_the_session,
            automations_go_with_their_session_in_one_transaction,
            an_automation_that_a_broken_one_hides_still_blocks,
            whoever_takes_a_turn_of_a_deleted_session_is_fenced,
        ]
        finish: [
            every_outcome_leaves_its_status_and_a_visible_end, a_finish_by_another_worker_changes_nothing,
            the_answer_is_a_message_with_its_source, an_answer_without_text_is_said_to_be_none,
            no_answer_is_too_little_to_be_kept_and_told,
            run_deferred_for_a_reason_of_a_later_version_waits_for_its_instant,
            run_whose_row_lacks_its_reason_is_listed_all_the_same, what_was_answered_before_a_failure_is_kept_and_marked,
            only_a_turn_that_ended_makes_the_agents_session_the_memory, usage_title_and_record_are_kept,
            an_agent_that_ends_as_cancelled_unasked_has_failed_and_that_counts,
            an_automation_that_keeps_failing_pauses_itself, failures_that_are_tried_again_count_once,
            the_end_and_the_next_start_are_one_transaction,
        ]
        edit: [
            an_edit_of_what_was_changed_meanwhile_is_refused, editors_who_race_have_one_winner,
            a_name_that_another_has_is_refused,
            triggers_that_stay_keep_their_cadence_and_others_are_due_from_now,
            what_a_trigger_owes_that_goes_has_its_row,
            triggers_of_a_paused_automation_are_due_when_it_is_resumed,
            another_spread_moves_the_moment_and_not_the_instant,
            a_run_of_a_trigger_that_went_is_prompted_as_it_was_due,
            a_session_that_goes_on_keeps_its_agent_and_its_directory,
            an_automation_goes_elsewhere_after_an_edit, what_was_said_of_a_closed_session_is_taken_back,
            an_edit_can_clear_what_may_be_absent,
        ]
        notifications: [
            an_answer_is_told_with_the_channel_of_its_session, each_kind_of_event_is_told_to_whoever_chose_it,
            tellers_that_race_make_one_delivery_of_each_event,
            a_delivery_is_one_senders_until_its_lease_is_over,
            a_delivery_that_fails_waits_longer_each_time_and_is_given_up,
            an_endpoint_that_is_gone_or_fails_for_a_day_is_disabled,
            deliveries_that_are_over_are_trimmed_when_they_are_old,
            delivery_of_an_earlier_version_is_sent_byte_for_byte,
        ]
        endpoints: [
            endpoints_are_made_changed_and_removed,
            an_endpoint_of_a_deleted_automation_is_disabled_and_says_why,
        ]
        webhooks: [
            a_webhook_becomes_a_run_with_what_came_with_it, later_attempts_know_what_came_with_a_webhook,
            a_replay_changes_nothing_and_is_answered_like_the_first_time, an_id_is_one_of_its_trigger_alone,
            webhooks_that_race_fire_once_for_each_id, a_webhook_obeys_overlap_pause_and_quiet_hours,
            triggers_come_and_go_and_with_them_their_secrets, another_tenants_trigger_is_as_if_there_were_none,
            a_secret_that_is_changed_holds_for_a_while, receipts_are_kept_for_longer_than_a_replay_can_pass,
        ]
        retention: [
            what_is_young_or_not_over_stays, transcripts_and_runs_are_never_trimmed,
            a_trimmed_log_goes_on_with_its_numbers, a_clock_that_was_set_back_tears_no_hole_into_a_log,
            much_is_trimmed_in_pieces, what_ended_runs_left_behind_goes, what_was_used_long_ago_is_removed,
            what_was_skipped_has_no_record_to_trim,
        ]
        lists: [
            lists_hold_nothing_of_another_tenant, sessions_are_listed_by_their_last_change_and_by_type,
            runs_are_listed_newest_first_by_session_automation_and_status,
            automations_and_agents_are_listed_by_name, a_tenants_name_gives_the_same_id_each_time,
            a_agent_is_changed_by_whoever_saw_it_last, the_end_of_a_transcript_is_read_alone,
            what_a_run_said_is_found_without_what_came_before,
            ids_are_found_between_two_others_and_only_the_tenants_own,
            an_automations_triggers_are_listed_with_the_manual_one_first,
        ]
        pages: [
            runs_are_read_page_by_page_by_all_that_they_are_asked_for,
            sessions_are_read_page_by_page_by_all_that_they_are_asked_for,
            automations_are_read_page_by_page,
            automations_are_listed_by_where_their_turns_go,
            tenants_are_read_page_by_page_and_instances_tell_what_waits,
            what_is_not_over_is_counted_by_status,
        ]
        tenants: [
            a_tenants_name_and_its_id_are_used_once, a_tenant_is_read_by_itself_and_by_the_system,
            of_two_who_change_a_budget_one_wins,
        ]
        plans: [pages_are_found_by_an_index]
        retry: [
            a_fresh_heartbeat_is_not_stalled, a_heartbeat_between_the_look_and_the_lock_saves_the_run,
            a_lost_worker_leaves_its_text_and_the_next_attempt,
            an_interrupted_prompt_is_never_sent_again_blindly, what_the_agent_never_saw_is_sent_as_it_was,
            attempts_are_used_up, workers_that_are_lost_use_up_the_attempts, an_answer_is_never_tried_again,
            on_crash_fail_gives_up_what_may_have_been_prompted, a_backoff_does_not_hold_the_seat,
            a_backoff_that_is_over_goes_first_though_no_sweep_saw_it,
            a_run_that_is_handed_back_uses_up_no_attempt, a_handed_back_run_waits_behind_people,
            a_worker_that_is_known_to_be_gone_is_not_waited_for,
            a_lost_run_that_was_called_off_is_not_tried_again,
            a_retry_of_an_exclusive_automation_waits_for_its_other_run,
        ]
        tokens: [
            a_secret_that_nobody_has_is_worth_nothing, a_token_is_found_by_its_hash_until_it_expires,
            a_token_without_scopes_may_do_what_its_role_may,
            a_revoked_token_takes_the_browsers_with_it_that_it_signed_in,
            a_browser_that_signs_out_leaves_its_token, a_browser_ends_with_the_token_that_signed_it_in,
            another_tenants_token_is_as_if_it_were_not_there, tokens_are_listed_newest_first_page_by_page,
            tokens_are_found_between_two_ids_and_only_the_tenants_own,
            the_use_of_a_token_is_noted_once_a_minute, a_link_signs_one_browser_in_once_and_in_time,
            browsers_that_race_for_a_link_have_one_winner, sign_ins_that_are_long_over_are_removed,
        ]
        answers: [
            a_key_belongs_to_the_request_that_claimed_it,
            a_key_that_is_let_go_of_is_free_unless_it_was_answered, a_request_repeated_gets_the_first_answer,
            a_key_is_free_again_when_it_is_old, many_who_claim_a_key_at_once_get_one_id,
            words_with_a_reserved_id_are_taken_up_once, a_fire_with_a_reserved_id_is_one_occurrence,
            another_attempt_with_a_reserved_id_is_made_once,
            what_has_its_reserved_id_is_told_from_a_name_that_is_taken,
            what_races_with_one_reserved_id_is_made_once, a_test_with_a_reserved_id_is_sent_once,
            what_makes_no_row_is_done_once_with_its_answer, a_trigger_that_says_the_same_is_added_once,
        ]
        feed: [
            a_feed_holds_every_log_of_a_tenant_and_no_other, a_feed_is_read_on_from_any_place,
            triggers_that_come_and_go_are_in_the_log, what_happens_to_an_automation_is_in_its_log,
            what_is_skipped_or_missed_is_in_the_log_of_its_automation,
            the_feed_of_an_automation_holds_what_belongs_to_it,
            whoever_reads_on_while_many_write_misses_nothing, a_place_before_what_is_kept_is_told,
            a_place_that_nobody_has_reached_is_told,
        ]
        news: [
            many_logs_are_read_on_at_once, the_news_of_a_session_are_for_its_tenant,
            the_texts_of_many_turns_are_read_on_at_once, a_piece_that_has_grown_is_read_on_in_its_middle,
        ]
        waking: [
            whoever_commits_wakes_those_who_wait, what_is_undone_wakes_nobody,
            another_process_wakes_those_who_wait, text_that_is_written_elsewhere_wakes_its_viewers,
            a_session_that_is_gone_wakes_its_readers, who_waits_no_more_costs_nothing,
        ]
        approvals: [
            only_whoever_has_a_turn_asks_for_it, a_decision_is_for_one_request_and_made_once,
            a_decision_comes_before_the_deadline_or_not_at_all, what_nobody_decides_expires,
            the_attempt_after_a_stall_asks_anew, the_end_of_an_attempt_makes_void_what_it_asked,
            another_tenants_approval_is_as_if_it_were_not_there, approvals_are_listed_by_whom_they_belong_to,
            a_request_is_told_to_whoever_follows, a_decision_of_another_process_wakes_whoever_waits,
        ]
        coordinator: [
            a_message_is_a_row_for_each_seat_that_receives_it, a_subscriber_gets_what_it_missed_and_then_what_comes,
            what_is_not_acknowledged_comes_again, another_tenants_messages_are_as_if_there_were_none,
            a_closed_session_refuses_messages, a_session_that_is_deleted_ends_its_subscriptions,
            nothing_is_lost_while_others_publish_and_subscribe,
        ]
        withdrawing: [what_is_withdrawn_cannot_be_decided_any_more]
        sequences: [a_random_sequence_keeps_the_invariants]
        fleet: [
            tenants_share_what_is_claimed, tenants_take_turns_where_there_is_one_slot,
            of_one_tenants_what_lies_here_and_what_may_go_anywhere_keep_their_order,
            what_lies_elsewhere_is_passed_over_wherever_it_sorts,
            a_tenant_of_whom_much_is_due_holds_up_no_other,
            a_tenant_that_never_used_an_instance_may_take_its_turns_there,
            a_server_is_online_until_it_stops_or_shows_nothing,
            of_two_servers_with_one_identity_the_older_is_told,
            of_two_servers_that_begin_at_once_with_one_identity_one_serves,
            what_waits_for_an_instance_that_is_gone_fails, an_instance_is_removed_by_its_own_tenant_alone,
        ]
    }
    sqlite {
        opening: [
            a_file_that_is_no_database_is_refused_and_left_alone, a_damaged_file_is_refused_and_left_alone,
            a_large_file_is_looked_at_whole_only_where_somebody_asks, an_empty_file_is_a_new_database,
            a_missing_folder_is_named, the_file_is_for_its_owner_alone,
            a_database_in_memory_keeps_what_it_is_given,
        ]
        transactions: [a_full_disk_is_told_apart]
        shared: [without_a_server_there_is_nothing_to_tell]
    }
    postgres {
        plans: [claims_and_looks_read_what_they_take]
        feed: [
            what_commits_late_is_not_overtaken, a_database_from_another_server_keeps_its_order,
        ]
        fleet: [
            no_slot_stays_free_that_somebody_waits_for, one_scheduler_looks_at_a_time, a_later_schema_is_used_where_it_says_that_this_program_may,
            nobody_migrates_beside_servers_that_cannot_go_on,
        ]
        shared: [
            the_databases_clock_is_read_between_question_and_answer, a_server_tells_of_itself_what_operators_look_at,
            of_several_who_remove_what_is_old_one_does_and_nobody_waits,
            many_who_remove_what_is_old_remove_each_row_once,
        ]
        waking: [
            a_lost_listener_is_replaced_and_everybody_woken,
            while_nobody_can_listen_whoever_waits_looks_more_often,
        ]
        coordinator: [
            a_subscription_has_its_channel_listened_to,
            the_database_tells_whoever_listens_what_is_published,
        ]
        poolers: [
            a_pooler_that_keeps_no_sessions_is_recognised_and_served,
            a_pooler_that_keeps_sessions_is_served_as_the_server_itself,
            a_pooler_that_takes_no_transactions_is_refused,
            what_is_told_at_the_start_and_ignored_is_set_by_each_transaction,
            a_direct_address_listens_and_migrates, a_direct_address_of_something_else_is_refused,
            what_is_opened_to_read_through_a_pooler_cannot_be_written,
        ]
        locks: [
            whoever_changes_what_a_seat_does_locks_it_first, a_claim_passes_over_what_another_one_holds,
        ]
        opening: [a_role_above_row_security_is_refused]
        row_security: [
            every_table_is_guarded, a_tenant_sees_and_changes_only_its_own_rows,
            without_a_scope_nothing_is_seen_or_written,
        ]
        second_net: [where_the_first_net_is_gone_nothing_of_another_tenant_is_read]
        transactions: [
            a_beginning_that_is_given_up_leaves_nothing_to_the_next,
            a_connection_that_died_while_idle_is_replaced, a_change_of_a_session_wakes_its_readers_once,
        ]
    }
}
