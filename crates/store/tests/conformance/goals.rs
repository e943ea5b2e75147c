//! Goals: the tasks of a goal run as turns of its seats, each is done once, and the goal ends.

mod budgets;
mod cancel;
mod causes;
mod checks;
mod edits;
mod failures;
mod formats;
mod interruptions;
mod life;
mod memories;
mod messages;
mod moves;
mod notifications;
mod outside_edits;
mod plan_questions;
mod policies;
mod presence;
mod prompts;
mod questions;
mod report_blocks;
mod reports;
mod retries;
mod rounds;
mod shared_directories;
mod stage;
mod sweeps;
mod tools;
mod turns;
mod usage;
mod views;

use store::database::Dialect;

use crate::{goals, registry::Behaviour};

pub(crate) use budgets::{
    draft_that_pauses_at_its_start_has_its_time, goal_reports_and_pauses_at_end_of_its_time,
    goal_reports_and_pauses_at_ninety_percent_of_budget, question_without_time_has_that_of_team,
    time_of_draft_counts_from_its_start, time_that_person_gave_to_draft_stays,
    turn_waits_for_budget_of_tenant_until_time_of_goal_is_over,
    turns_without_cost_do_not_reach_budget_of_money,
};
pub(crate) use cancel::{
    cancelled_goal_cancels_its_turns_and_closes_its_session,
    cancelled_goal_stops_turns_with_messages, cancelled_session_starts_next_task_and_leaves_it,
    closed_session_cancels_its_goal, goal_that_is_given_up_stops_turn_with_message,
    tools_that_write_are_refused_after_cancellation,
    turn_that_is_claimed_during_cancel_of_its_task_does_not_begin,
    turn_with_message_outlives_goal_that_is_done,
};
pub(crate) use causes::{
    plan_that_fails_names_its_cause, task_whose_turn_is_cancelled_waits_for_person,
    work_that_fails_names_its_cause,
};
pub(crate) use checks::{
    broken_check_waits_for_person_and_is_repeated, cancelled_goal_stops_its_checks,
    checks_of_each_task_count_apart_from_those_of_planner,
    checks_of_lost_server_are_claimed_after_its_lease, checks_of_removed_instance_are_broken,
    failed_check_reaches_worker_and_next_round_is_fenced,
    goal_whose_check_waits_for_lost_server_pauses_and_goes_on,
    lost_checks_of_corrupt_and_later_goals_do_not_block_others,
    passed_checks_complete_task_and_keep_evidence, requeued_checks_are_claimed_at_once,
    servers_without_locks_claim_checks_once,
};
pub(crate) use edits::{
    edit_of_task_is_new_version_of_plan_and_event, edited_task_has_new_texts_in_later_prompts,
    edited_task_that_has_failed_waits_for_its_retry,
    edits_without_locks_of_one_version_have_one_winner,
    priority_that_person_changes_decides_next_turn,
    task_in_other_state_or_goal_that_is_over_is_not_edited,
};
pub(crate) use failures::{
    answer_before_end_of_turn_starts_next_turn_of_task, answer_starts_next_turn_of_task_that_asked,
    answer_to_question_of_failed_attempt_does_not_answer_next_one,
    draft_starts_and_first_plan_waits_for_its_approval,
    failed_task_is_attempted_twice_and_then_replanned, planner_cancels_tasks_with_its_next_plan,
    question_ends_with_the_wait_of_its_task, refused_plan_publishes_nothing,
    result_sent_back_is_reworked_in_same_memory,
    staged_plan_outlives_lost_worker_and_is_published_once, stuck_goal_is_given_up_at_its_deadline,
    team_that_cannot_work_makes_nothing, tools_of_tasks_belong_to_their_turns,
    turn_ends_in_session_that_earlier_program_closed,
    turn_of_task_that_was_cancelled_after_its_answer_ends, turn_without_report_is_reminded_once,
};
pub(crate) use formats::{
    edited_budget_keeps_unknown_keys, moved_task_keeps_unknown_keys,
    policies_of_seat_need_server_that_knows_them, shared_directory_needs_server_that_knows_it,
    time_limit_of_check_needs_server_that_knows_it,
};
pub(crate) use interruptions::{
    attempt_after_lost_worker_has_its_report, attempt_after_lost_worker_names_staged_changes,
};
pub(crate) use life::{
    ends_of_turns_without_locks_finish_each_task_once, goal_of_other_tenant_is_not_found,
    person_pauses_edits_and_resumes_goal, plan_of_thousand_tasks_is_published_at_once,
    small_goal_is_planned_worked_judged_and_reported,
    task_waits_for_messages_of_people_on_its_seat, turn_that_has_not_begun_waits_for_end_of_pause,
};
pub(crate) use memories::{
    each_task_has_memory_that_its_later_turns_resume,
    judge_that_works_opens_its_memory_with_tools_of_worker,
    later_plan_in_new_memory_says_what_exists, memory_of_removed_instance_is_replaced_and_named,
    memory_that_message_begins_opens_with_rules, retry_of_task_resumes_its_memory,
};
pub(crate) use messages::{
    message_behind_full_turn_waits_at_limit_with_notice,
    message_beyond_turns_of_goal_waits_for_task, message_of_paused_goal_starts_no_turn,
    message_turn_counts_when_it_begins, message_turns_without_locks_stay_within_limit,
    messages_are_in_prompt_of_each_task_turn, messages_of_goal_are_refused_at_limit,
    messages_that_wait_start_turn_when_limit_is_higher_or_goal_goes_on,
    messages_that_wait_start_turn_when_stuck_goal_goes_on, talk_of_two_seats_ends_by_limit_of_goal,
};
pub(crate) use moves::{
    comment_on_move_of_task_commits_with_it, each_move_of_goal_is_in_its_log_once,
    inputs_to_draft_goal_wait_for_its_start, session_of_goal_has_no_pause_of_its_own,
};
pub(crate) use notifications::{
    goal_and_question_of_later_version_do_not_stop_notifications,
    pause_and_end_of_goal_are_delivered_once_to_each_endpoint,
    question_is_delivered_once_with_its_goal, stuck_goal_is_delivered_as_stuck_and_later_as_failed,
};
pub(crate) use outside_edits::{
    edits_in_own_folder_are_bounded_and_relative_on_any_server,
    edits_outside_of_paths_of_tasks_are_in_report,
};
pub(crate) use plan_questions::{
    attempt_after_failed_answer_names_staged_changes,
    default_of_question_starts_turn_that_publishes_staged_plan,
    planner_that_asks_keeps_its_staged_tasks_until_the_answer,
    planner_withdraws_staged_changes_after_answer,
};
pub(crate) use policies::{
    time_of_turn_counts_up_to_limit_of_its_seat, turns_of_seat_have_policies_of_team,
};
pub(crate) use presence::{
    goal_whose_retry_waits_for_lost_server_pauses_and_goes_on,
    goal_whose_server_comes_and_goes_is_given_up,
    goal_with_lost_server_pauses_after_end_of_its_time,
    retry_in_backoff_does_not_end_wait_for_lost_server,
    retry_on_removed_seat_is_cancelled_as_its_task_moves, seat_that_takes_task_over_gets_its_text,
    seats_of_removed_instance_take_no_task_of_each_other,
    server_that_comes_and_goes_is_awaited_until_one_deadline,
    task_of_removed_instance_moves_to_another_seat, task_waits_for_seat_whose_server_is_offline,
    turn_that_waits_for_files_of_removed_instance_begins_on_another,
};
pub(crate) use prompts::{
    failed_tasks_hide_no_newest_result,
    findings_of_resolved_check_are_in_no_later_prompt_and_report,
    later_check_has_findings_of_earlier_one_and_its_round,
    later_plan_counts_findings_beyond_its_list, later_plan_names_reasons_that_are_new,
    long_list_has_failed_and_newest_tasks_with_whole_results,
    notes_of_failed_review_are_no_earlier_findings, open_task_has_no_result_in_later_plan,
    task_behind_many_others_has_first_results_and_counts_the_rest,
    turn_gets_answers_to_questions_of_turn_before_alone,
};
pub(crate) use questions::{
    answered_question_of_task_is_not_asked_again,
    default_of_question_outside_tasks_is_message_of_goal, question_after_report_withdraws_it,
    question_of_turn_that_was_asked_to_stop_keeps_its_report,
};
pub(crate) use report_blocks::{
    blank_proposal_in_answer_requests_no_plan, block_is_refused_for_what_tools_refuse,
    cancelled_in_answer_completes_no_task, long_prose_of_report_is_cut,
};
pub(crate) use reports::{
    agent_without_tools_fails_as_unavailable,
    equal_proposal_of_other_task_or_result_reaches_planner,
    judge_learns_tool_calls_and_artifacts_of_work, message_of_seat_hides_no_proposal,
    proposal_during_plan_reaches_next_plan, proposal_of_worker_reaches_planner,
    proposals_beyond_room_of_plan_get_further_plan, question_of_planner_hides_no_proposal,
    reasons_of_refused_report_reach_later_reminder, report_in_answer_counts_as_call,
    report_in_answer_of_agent_with_tools_counts_after_reminder_alone,
    report_in_answer_over_limit_is_refused_whole,
};
pub(crate) use retries::{
    first_plan_after_tasks_of_person_has_rules_and_approval,
    retry_of_task_that_was_not_accepted_has_its_findings,
};
pub(crate) use rounds::{
    runs_of_judge_have_the_verdicts_that_count, verdict_of_run_is_as_the_task_moved,
};
pub(crate) use shared_directories::{
    deferred_turn_in_shared_directory_begins_on_any_instance,
    failed_message_turn_in_shared_directory_leaves_no_pin,
    goal_outside_shared_directories_works_on_one_instance,
    queued_turns_of_goal_go_where_its_files_are,
    seats_in_shared_directory_work_on_several_instances,
    server_without_shared_directory_leaves_goal_to_others,
};
pub(crate) use sweeps::{
    end_of_goals_time_wakes_scheduler, idle_goal_is_found_and_its_lost_turn_fails,
    idle_goal_whose_question_is_lost_goes_on,
    turn_of_cancelled_goal_ends_with_lease_of_lost_server,
};
pub(crate) use tools::{
    cancellation_of_task_that_ended_is_withdrawn, message_behind_those_of_open_task_is_carried,
    messages_beyond_bound_of_task_turn_wait_for_next_one, plan_over_limit_is_refused,
    planner_mends_its_staged_plan, report_about_cancelled_task_is_refused,
    seats_of_goal_send_messages, verdict_without_evidence_is_refused_and_changes_nothing,
    waiting_message_is_in_next_turn_of_task, worker_creating_tasks_is_refused,
};
pub(crate) use turns::{
    ends_of_one_batch_start_no_turn_beyond_parallel,
    message_that_waits_for_turn_leaves_with_its_cause,
    messages_that_wait_for_turn_outlive_pause_and_failures,
    messages_to_all_seats_start_turns_below_parallel,
    ready_task_takes_seat_on_which_no_person_talks,
    task_starts_after_each_end_of_turn_without_task,
};
pub(crate) use usage::{
    goals_are_spenders_apart_from_conversations, seats_of_goal_have_their_turns_and_usage,
};
pub(crate) use views::{
    budget_and_time_of_goal_are_changed, goals_are_listed_with_their_tasks_and_usage,
    new_text_of_goal_changes_title_that_no_person_chose,
    overview_has_goals_that_only_person_can_move, prompts_of_tasks_name_seat_and_task,
    report_has_verdicts_and_text_of_planner, sessions_of_goals_are_listed_alone_or_left_out,
    task_by_itself_is_as_in_its_goal, task_has_texts_findings_and_runs,
};

behaviours! {
    both {
        goals: [
            small_goal_is_planned_worked_judged_and_reported, person_pauses_edits_and_resumes_goal,
            cancelled_goal_cancels_its_turns_and_closes_its_session, closed_session_cancels_its_goal,
            plan_of_thousand_tasks_is_published_at_once, task_waits_for_messages_of_people_on_its_seat,
            goal_of_other_tenant_is_not_found, ends_of_turns_without_locks_finish_each_task_once,
            refused_plan_publishes_nothing, staged_plan_outlives_lost_worker_and_is_published_once,
            failed_task_is_attempted_twice_and_then_replanned, tools_of_tasks_belong_to_their_turns,
            turn_without_report_is_reminded_once, result_sent_back_is_reworked_in_same_memory,
            stuck_goal_is_given_up_at_its_deadline, team_that_cannot_work_makes_nothing,
            answer_before_end_of_turn_starts_next_turn_of_task,
            answer_to_question_of_failed_attempt_does_not_answer_next_one, question_ends_with_the_wait_of_its_task,
            turn_ends_in_session_that_earlier_program_closed, turn_of_task_that_was_cancelled_after_its_answer_ends,
            answer_starts_next_turn_of_task_that_asked, planner_cancels_tasks_with_its_next_plan,
            draft_starts_and_first_plan_waits_for_its_approval, idle_goal_is_found_and_its_lost_turn_fails,
            idle_goal_whose_question_is_lost_goes_on, end_of_goals_time_wakes_scheduler,
            turn_of_cancelled_goal_ends_with_lease_of_lost_server, worker_creating_tasks_is_refused,
            plan_over_limit_is_refused, planner_mends_its_staged_plan, cancellation_of_task_that_ended_is_withdrawn,
            report_about_cancelled_task_is_refused, verdict_without_evidence_is_refused_and_changes_nothing,
            seats_of_goal_send_messages, waiting_message_is_in_next_turn_of_task,
            message_behind_those_of_open_task_is_carried, each_task_has_memory_that_its_later_turns_resume,
            retry_of_task_resumes_its_memory, memory_of_removed_instance_is_replaced_and_named,
            later_plan_in_new_memory_says_what_exists, goal_reports_and_pauses_at_ninety_percent_of_budget,
            goal_reports_and_pauses_at_end_of_its_time, turns_without_cost_do_not_reach_budget_of_money,
            question_without_time_has_that_of_team, agent_without_tools_fails_as_unavailable,
            time_of_draft_counts_from_its_start, draft_that_pauses_at_its_start_has_its_time,
            time_that_person_gave_to_draft_stays, report_in_answer_counts_as_call,
            judge_learns_tool_calls_and_artifacts_of_work, proposal_of_worker_reaches_planner,
            report_in_answer_over_limit_is_refused_whole, reasons_of_refused_report_reach_later_reminder,
            proposal_during_plan_reaches_next_plan, equal_proposal_of_other_task_or_result_reaches_planner,
            passed_checks_complete_task_and_keep_evidence, failed_check_reaches_worker_and_next_round_is_fenced,
            checks_of_lost_server_are_claimed_after_its_lease, requeued_checks_are_claimed_at_once,
            cancelled_goal_stops_its_checks, broken_check_waits_for_person_and_is_repeated,
            servers_without_locks_claim_checks_once, checks_of_removed_instance_are_broken,
            lost_checks_of_corrupt_and_later_goals_do_not_block_others, task_waits_for_seat_whose_server_is_offline,
            task_of_removed_instance_moves_to_another_seat, seat_that_takes_task_over_gets_its_text,
            goal_whose_check_waits_for_lost_server_pauses_and_goes_on,
            goal_whose_retry_waits_for_lost_server_pauses_and_goes_on,
            goal_with_lost_server_pauses_after_end_of_its_time, retry_in_backoff_does_not_end_wait_for_lost_server,
            server_that_comes_and_goes_is_awaited_until_one_deadline, goal_whose_server_comes_and_goes_is_given_up,
            retry_on_removed_seat_is_cancelled_as_its_task_moves, sessions_of_goals_are_listed_alone_or_left_out,
            turn_that_waits_for_files_of_removed_instance_begins_on_another,
            seats_of_removed_instance_take_no_task_of_each_other, goals_are_listed_with_their_tasks_and_usage,
            task_has_texts_findings_and_runs, report_has_verdicts_and_text_of_planner,
            budget_and_time_of_goal_are_changed, new_text_of_goal_changes_title_that_no_person_chose,
            task_by_itself_is_as_in_its_goal, moved_task_keeps_unknown_keys, edited_budget_keeps_unknown_keys,
            talk_of_two_seats_ends_by_limit_of_goal, messages_of_goal_are_refused_at_limit,
            message_beyond_turns_of_goal_waits_for_task, message_of_paused_goal_starts_no_turn,
            message_behind_full_turn_waits_at_limit_with_notice, message_turn_counts_when_it_begins,
            default_of_question_outside_tasks_is_message_of_goal, answered_question_of_task_is_not_asked_again,
            message_turns_without_locks_stay_within_limit, time_limit_of_check_needs_server_that_knows_it,
            messages_that_wait_start_turn_when_limit_is_higher_or_goal_goes_on,
            messages_that_wait_start_turn_when_stuck_goal_goes_on, each_move_of_goal_is_in_its_log_once,
            comment_on_move_of_task_commits_with_it, pause_and_end_of_goal_are_delivered_once_to_each_endpoint,
            stuck_goal_is_delivered_as_stuck_and_later_as_failed, question_is_delivered_once_with_its_goal,
            goal_and_question_of_later_version_do_not_stop_notifications, plan_that_fails_names_its_cause,
            work_that_fails_names_its_cause, task_whose_turn_is_cancelled_waits_for_person, inputs_to_draft_goal_wait_for_its_start,
            memory_that_message_begins_opens_with_rules, messages_are_in_prompt_of_each_task_turn,
            later_check_has_findings_of_earlier_one_and_its_round,
            long_list_has_failed_and_newest_tasks_with_whole_results,
            later_plan_names_reasons_that_are_new, findings_of_resolved_check_are_in_no_later_prompt_and_report,
            prompts_of_tasks_name_seat_and_task, overview_has_goals_that_only_person_can_move,
            session_of_goal_has_no_pause_of_its_own,
            cancelled_session_starts_next_task_and_leaves_it,
            cancelled_goal_stops_turns_with_messages, goal_that_is_given_up_stops_turn_with_message,
            turn_with_message_outlives_goal_that_is_done, tools_that_write_are_refused_after_cancellation,
            planner_that_asks_keeps_its_staged_tasks_until_the_answer,
            default_of_question_starts_turn_that_publishes_staged_plan,
            planner_withdraws_staged_changes_after_answer, attempt_after_failed_answer_names_staged_changes,
            checks_of_each_task_count_apart_from_those_of_planner, open_task_has_no_result_in_later_plan,
            failed_tasks_hide_no_newest_result, messages_beyond_bound_of_task_turn_wait_for_next_one,
            notes_of_failed_review_are_no_earlier_findings, question_of_planner_hides_no_proposal,
            retry_of_task_that_was_not_accepted_has_its_findings,
            first_plan_after_tasks_of_person_has_rules_and_approval,
            runs_of_judge_have_the_verdicts_that_count, verdict_of_run_is_as_the_task_moved,
            goals_are_spenders_apart_from_conversations, seats_of_goal_have_their_turns_and_usage,
            edited_task_has_new_texts_in_later_prompts, priority_that_person_changes_decides_next_turn,
            edit_of_task_is_new_version_of_plan_and_event, edited_task_that_has_failed_waits_for_its_retry,
            task_in_other_state_or_goal_that_is_over_is_not_edited, edits_without_locks_of_one_version_have_one_winner,
            report_in_answer_of_agent_with_tools_counts_after_reminder_alone,
            edits_outside_of_paths_of_tasks_are_in_report, edits_in_own_folder_are_bounded_and_relative_on_any_server,
            policies_of_seat_need_server_that_knows_them, time_of_turn_counts_up_to_limit_of_its_seat,
            turns_of_seat_have_policies_of_team,
            attempt_after_lost_worker_names_staged_changes, attempt_after_lost_worker_has_its_report,
            turn_gets_answers_to_questions_of_turn_before_alone,
            task_behind_many_others_has_first_results_and_counts_the_rest,
            proposals_beyond_room_of_plan_get_further_plan, later_plan_counts_findings_beyond_its_list,
            ready_task_takes_seat_on_which_no_person_talks, task_starts_after_each_end_of_turn_without_task,
            messages_to_all_seats_start_turns_below_parallel, messages_that_wait_for_turn_outlive_pause_and_failures,
            message_that_waits_for_turn_leaves_with_its_cause, ends_of_one_batch_start_no_turn_beyond_parallel,
            seats_in_shared_directory_work_on_several_instances, goal_outside_shared_directories_works_on_one_instance,
            deferred_turn_in_shared_directory_begins_on_any_instance,
            failed_message_turn_in_shared_directory_leaves_no_pin, queued_turns_of_goal_go_where_its_files_are,
            turn_that_has_not_begun_waits_for_end_of_pause, turn_waits_for_budget_of_tenant_until_time_of_goal_is_over,
            server_without_shared_directory_leaves_goal_to_others, shared_directory_needs_server_that_knows_it,
            message_of_seat_hides_no_proposal,
            question_after_report_withdraws_it, question_of_turn_that_was_asked_to_stop_keeps_its_report,
            cancelled_in_answer_completes_no_task, blank_proposal_in_answer_requests_no_plan,
            block_is_refused_for_what_tools_refuse,
            long_prose_of_report_is_cut,
            judge_that_works_opens_its_memory_with_tools_of_worker,
        ]
    }
    sqlite {}
    postgres {
        goals: [turn_that_is_claimed_during_cancel_of_its_task_does_not_begin]
    }
}

/// Lists the behaviours of goals that run on a database.
pub(crate) fn all_behaviours(dialect: Dialect) -> Vec<Behaviour> {
    behaviours(dialect)
}
