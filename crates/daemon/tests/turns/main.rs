//! Turns from due to done, with real agent processes, on both databases.
//!
//! What the product claims is compared with what the agents' own ledgers say.

#![expect(clippy::unwrap_used, reason = "tests and their helpers")]

#[macro_use]
mod passing_on;

mod approvals;
mod budgets;
mod cancels;
mod failures;
mod fences;
mod fleet;
mod hostile;
mod invariants;
mod limits;
mod loops;
mod lost_answers;
mod notifications;
mod outcomes;
mod permissions;
mod prechecks;
mod records;
mod remembers;
mod resources;
mod restores;
mod retention;
mod stops;
mod talking;
mod watched;
mod world;

/// Makes a test of each scenario for each database.
macro_rules! scenarios {
    ($($file:ident: [$($scenario:ident),* $(,)?])*) => {
        mod on_sqlite {
            scenarios! { @tests Sqlite $($file: [$($scenario),*])* }
        }

        mod on_postgres {
            scenarios! { @tests Postgres $($file: [$($scenario),*])* }
        }
    };
    (@tests $database:ident $($file:ident: [$($scenario:ident),*])*) => {$($(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $scenario() {
            let world = crate::world::World::new(crate::world::Database::$database).await;
            crate::$file::$scenario(&world).await;
            crate::invariants::check(&world).await;
        }
    )*)*};
}

scenarios! {
    approvals: [
        what_people_decide_is_what_the_agent_is_told,
        several_requests_wait_beside_each_other,
        while_a_request_waits_its_agent_is_not_silent,
        a_request_waits_no_longer_than_its_turn,
        a_turn_that_is_called_off_waits_for_nobody,
        a_server_that_stops_hands_back_what_waits,
        a_request_that_was_given_up_cannot_be_allowed_any_more,
        while_a_request_waits_the_heartbeat_goes_on,
        while_a_request_waits_its_slot_is_anothers_but_not_every_one,
    ]
    budgets: [
        a_turn_that_uses_too_much_is_stopped,
        an_answer_that_was_done_before_it_heard_stands,
        a_turn_has_used_by_how_much_its_session_grew,
        what_a_session_used_before_it_was_counted_is_not_charged,
        currencies_that_take_turns_are_each_charged_once,
        a_turn_learns_what_others_use_meanwhile,
    ]
    cancels: [
        a_running_turn_is_called_off_at_once,
        a_turn_that_was_done_before_it_heard_is_a_success,
        a_turn_is_called_off_while_its_agent_starts,
        what_waits_is_called_off_without_a_turn,
    ]
    failures: [
        a_command_that_is_not_there_uses_up_its_attempts,
        an_agent_that_ends_before_it_introduces_itself_is_started_again,
        an_agent_that_dies_in_mid_text_is_told_so_when_it_is_asked_again,
        where_the_policy_says_fail_a_crash_in_mid_turn_is_final,
        a_crash_before_the_prompt_is_tried_again_whatever_the_policy,
        a_sign_in_that_nobody_can_do_is_said_and_not_tried_again,
        another_version_of_the_protocol_is_refused,
        an_automation_that_fails_again_and_again_pauses_itself,
    ]
    fences: [
        a_stalled_attempt_that_ends_its_turn_changes_nothing,
        a_stalled_attempt_that_goes_on_is_killed_as_soon_as_it_writes,
        a_stalled_attempt_that_is_silent_is_killed_at_its_next_heartbeat,
        the_attempt_after_a_stalled_one_begins_when_nothing_of_it_is_left,
        the_agent_of_a_deleted_session_is_killed_at_its_next_heartbeat,
        what_a_worker_left_whose_runs_were_given_up_is_killed_before_the_next_turn,
    ]
    hostile: [
        a_line_of_100_megabytes_fails_the_turn,
        a_message_of_too_many_values_fails_the_turn,
        lines_that_are_no_messages_do_not_end_a_turn,
        half_a_message_and_an_exit_fail_the_turn,
        an_agent_that_exits_is_told_apart_by_when_it_did,
        what_an_agent_may_not_ask_for_is_refused_and_the_turn_goes_on,
        a_restore_that_answers_wrongly_fails_with_what_was_wrong,
        what_a_load_replays_after_its_answer_is_not_taken_for_an_answer,
        an_agent_that_talks_on_after_its_answer_is_not_listened_to_for_ever,
        an_agent_that_never_stops_to_talk_is_stopped_in_time,
        of_more_than_ten_thousand_tool_calls_ten_thousand_are_kept,
        of_tool_calls_without_end_in_size_only_the_first_keep_their_output,
        standard_error_without_end_is_taken_and_its_end_kept,
        a_good_agent_beside_bad_ones_is_not_held_up,
    ]
    lost_answers: [
        a_turn_whose_beginning_was_never_answered_is_handed_back_at_once,
        a_beginning_that_is_not_answered_is_handed_back_by_a_server_that_stops,
        a_run_that_is_anothers_by_then_is_left_to_it,
        a_run_whose_claim_was_never_answered_is_taken_up_by_who_claimed_it,
    ]
    limits: [
        a_silent_agent_that_obeys_is_stopped_and_keeps_its_memory,
        a_silent_agent_that_ignores_everything_is_killed,
        an_agent_that_talks_for_ever_is_stopped_in_time,
        an_agent_that_never_starts_is_stopped_in_time,
    ]
    loops: [
        the_scheduler_sleeps_until_the_due_instant,
        what_becomes_due_while_much_is_fired_is_fired_beside_it,
        no_more_turns_run_than_there_are_slots,
        two_automations_run_side_by_side,
        people_go_before_automations_and_nobody_into_a_running_turn,
        a_clock_that_is_set_fires_nothing_twice_and_nothing_early,
        a_turn_goes_on_when_the_clock_is_set,
        after_eight_hours_of_sleep_the_latest_instant_is_made_up_for,
        after_eight_hours_of_sleep_every_instant_is_made_up_for_in_order,
    ]
    resources: [
        a_fork_bomb_dies_of_its_limit,
        an_agent_that_takes_too_much_memory_dies_of_its_limit,
        an_agent_that_computes_too_long_dies_of_its_limit,
        each_process_is_held_to_its_files_and_leaves_no_core,
        the_many_files_that_a_server_may_open_are_not_its_agents,
        no_secret_of_the_servers_environment_reaches_agent_or_guard,
    ]
    stops: [
        a_turn_that_ends_in_time_is_waited_for,
        a_turn_that_does_not_end_is_handed_back_and_taken_up_again,
        a_turn_that_has_not_come_to_its_prompt_is_handed_back_whole,
        an_agent_that_ignores_the_wish_to_stop_does_not_hold_the_server,
    ]
    restores: [
        a_busy_session_is_waited_for,
        a_lost_session_fails_and_is_never_replaced_silently,
        a_refused_restore_of_a_session_that_is_there_fails_and_keeps_it,
        an_agent_that_cannot_restore_has_one_turn,
        mode_and_settings_are_applied_again_after_each_restore,
        a_setting_that_the_agent_does_not_have_fails_before_the_prompt,
        a_session_whose_first_turn_crashed_is_no_memory,
        the_working_directory_never_changes,
    ]
    notifications: [
        an_answer_arrives_signed,
        an_automations_answer_goes_where_its_session_says,
        a_receiver_that_is_down_is_told_once_it_is_up,
        what_was_sent_and_not_recorded_is_sent_again_under_its_id,
        a_slow_receiver_holds_up_no_other,
    ]
    retention: [
        a_server_removes_what_is_old_and_keeps_what_was_said,
        what_is_to_be_kept_for_ever_is,
    ]
    outcomes: [
        each_stop_reason_is_an_outcome_of_its_own,
        a_stop_reason_that_nobody_knows_is_a_failure,
        an_empty_answer_is_flagged_and_said,
        an_error_as_answer_fails_the_turn_and_keeps_what_was_said,
        an_answer_longer_than_is_kept_is_cut_and_said_so,
        a_session_too_large_for_its_agent_fails_and_can_be_reset,
    ]
    prechecks: [
        a_precheck_that_says_yes_is_followed_by_the_turn,
        a_precheck_that_says_no_skips_the_occurrence_and_starts_no_agent,
        what_a_precheck_leaves_in_its_folder_stays,
        a_precheck_that_says_neither_is_followed_by_the_turn_and_recorded,
        a_precheck_that_takes_too_long_is_killed_with_all_it_started,
        a_precheck_is_told_what_it_is_asked_about_and_no_secret,
        a_precheck_without_end_in_words_is_taken_and_its_end_kept,
        retries_are_not_asked_about_again,
        a_run_is_called_off_while_its_precheck_is_asked,
        a_server_that_stops_gives_back_what_it_asks_about,
        the_heartbeat_goes_on_while_a_precheck_is_asked,
    ]
    permissions: [
        rules_allow_and_deny_and_what_none_covers_is_denied,
        a_request_of_a_cancelled_turn_is_answered_cancelled,
    ]
    records: [
        what_an_agent_does_is_kept_in_its_last_state,
        what_comes_after_the_answer_is_taken,
        what_a_load_replays_is_not_kept_twice,
        text_is_seen_while_it_is_written_and_once_afterwards,
        text_is_flushed_at_most_five_times_a_second,
    ]
    talking: [what_an_agent_says_while_a_request_waits_is_recorded]
    watched: [
        what_is_fired_claimed_and_done_is_counted_and_timed,
        what_is_missed_is_counted_without_a_lag,
        each_attempt_is_a_turn_and_the_first_alone_has_waited,
        a_turn_that_failed_after_it_was_called_off_is_counted_as_called_off,
        a_run_that_is_given_up_is_counted_once_and_is_no_turn,
        every_loop_that_fails_is_counted_by_its_name,
        a_turn_is_one_span_of_ids_and_of_nothing_that_is_said,
    ]
    remembers: [
        a_continuous_automation_remembers_its_last_turn,
        a_persons_words_are_answered_in_the_session,
        a_person_and_a_schedule_at_the_same_moment_are_two_turns_in_order,
        a_session_that_must_settle_is_not_restored_before_its_time,
        a_prompt_is_its_words_whole_and_nothing_of_what_came_before,
    ]
}
