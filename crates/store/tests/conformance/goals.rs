//! Goals: the tasks of a goal run as turns of its seats, each is done once, and the goal ends.

mod budgets;
mod causes;
mod checks;
mod failures;
mod formats;
mod memories;
mod messages;
mod moves;
mod notifications;
mod presence;
mod reports;
mod stage;
mod sweeps;
mod tools;
mod views;

use futures::future::join_all;
use model::{
    TenantId,
    goal::{
        GoalState, NewTask, PauseReason, Reviews,
        TaskStatus::{Done, Running},
    },
    run::{Origin, RunStatus},
    session::{SessionEvent, SessionStatus},
    turn::WriteOutcome,
};
use store::{Error, GoalChange, Scope, database::Dialect};

use crate::{
    event_summary::summary,
    fixtures::{TestStore, id},
    goals,
    registry::Behaviour,
    stage::{Stage, answer},
    without_locks::{patiently, without_locks},
};

use self::stage::{done, team, verdict, work};

pub(crate) use budgets::{
    draft_that_pauses_at_its_start_has_its_time, goal_reports_and_pauses_at_end_of_its_time,
    goal_reports_and_pauses_at_ninety_percent_of_budget, question_without_time_has_that_of_team,
    time_of_draft_counts_from_its_start, time_that_person_gave_to_draft_stays,
    turns_without_cost_do_not_reach_budget_of_money,
};
pub(crate) use causes::{plan_that_fails_names_its_cause, work_that_fails_names_its_cause};
pub(crate) use checks::{
    broken_check_waits_for_person_and_is_repeated, cancelled_goal_stops_its_checks,
    checks_of_lost_server_are_claimed_after_its_lease, checks_of_removed_instance_are_broken,
    failed_check_reaches_worker_and_next_round_is_fenced,
    goal_whose_check_waits_for_lost_server_pauses_and_goes_on,
    lost_checks_of_corrupt_and_later_goals_do_not_block_others,
    passed_checks_complete_task_and_keep_evidence, requeued_checks_are_claimed_at_once,
    servers_without_locks_claim_checks_once,
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
    time_limit_of_check_needs_server_that_knows_it,
};
pub(crate) use memories::{
    each_task_has_memory_that_its_later_turns_resume, later_plan_in_new_memory_says_what_exists,
    memory_of_removed_instance_is_replaced_and_named, retry_of_task_resumes_its_memory,
};
pub(crate) use messages::{
    message_behind_full_turn_waits_at_limit_with_notice,
    message_beyond_turns_of_goal_waits_for_task, message_of_paused_goal_starts_no_turn,
    message_turn_counts_when_it_begins, message_turns_without_locks_stay_within_limit,
    messages_of_goal_are_refused_at_limit,
    messages_that_wait_start_turn_when_limit_is_higher_or_goal_goes_on,
    messages_that_wait_start_turn_when_stuck_goal_goes_on, talk_of_two_seats_ends_by_limit_of_goal,
};
pub(crate) use moves::{
    comment_on_move_of_task_commits_with_it, each_move_of_goal_is_in_its_log_once,
    inputs_to_draft_goal_wait_for_its_start,
};
pub(crate) use notifications::{
    goal_and_question_of_later_version_do_not_stop_notifications,
    pause_and_end_of_goal_are_delivered_once_to_each_endpoint,
    question_is_delivered_once_with_its_goal, stuck_goal_is_delivered_as_stuck_and_later_as_failed,
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
pub(crate) use reports::{
    agent_without_tools_fails_as_unavailable,
    equal_proposal_of_other_task_or_result_reaches_planner,
    judge_learns_tool_calls_and_artifacts_of_work, proposal_during_plan_reaches_next_plan,
    proposal_of_worker_reaches_planner, reasons_of_refused_report_reach_later_reminder,
    report_in_answer_counts_as_call, report_in_answer_over_limit_is_refused_whole,
};
pub(crate) use sweeps::{
    end_of_goals_time_wakes_scheduler, idle_goal_is_found_and_its_lost_turn_fails,
    idle_goal_whose_question_is_lost_goes_on,
    turn_of_cancelled_goal_ends_with_lease_of_lost_server,
};
pub(crate) use tools::{
    cancellation_of_task_that_ended_is_withdrawn, message_behind_those_of_open_task_is_carried,
    plan_over_limit_is_refused, planner_mends_its_staged_plan,
    report_about_cancelled_task_is_refused, seats_of_goal_send_messages,
    verdict_without_evidence_is_refused_and_changes_nothing,
    waiting_message_is_in_next_turn_of_task, worker_creating_tasks_is_refused,
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
            message_turns_without_locks_stay_within_limit, time_limit_of_check_needs_server_that_knows_it,
            messages_that_wait_start_turn_when_limit_is_higher_or_goal_goes_on,
            messages_that_wait_start_turn_when_stuck_goal_goes_on, each_move_of_goal_is_in_its_log_once,
            comment_on_move_of_task_commits_with_it, pause_and_end_of_goal_are_delivered_once_to_each_endpoint,
            stuck_goal_is_delivered_as_stuck_and_later_as_failed, question_is_delivered_once_with_its_goal,
            goal_and_question_of_later_version_do_not_stop_notifications, plan_that_fails_names_its_cause,
            work_that_fails_names_its_cause, inputs_to_draft_goal_wait_for_its_start,
            prompts_of_tasks_name_seat_and_task, overview_has_goals_that_only_person_can_move,
        ]
    }
    sqlite {}
    postgres {}
}

/// Lists the behaviours of goals that run on a database.
pub(crate) fn all_behaviours(dialect: Dialect) -> Vec<Behaviour> {
    behaviours(dialect)
}

pub(crate) async fn small_goal_is_planned_worked_judged_and_reported(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.goal(team(2, Some(Reviews::Marked))).await;
    // 1. The planner gets the goal, and its tasks become visible when its turn succeeds.
    let planner = stage.turn(db, session, "planner").await;
    let run = stage.run(planner.run).await;
    assert_eq!(run.origin, Origin::Task);
    assert!(
        run.content.contains("Draft the campaign."),
        "{}",
        run.content
    );
    assert_eq!(run.prompt_ref.unwrap().id, "goal.plan");
    let mut mail = work("mail", &[]);
    mail.review = true;
    for task in [mail, work("tone", &[]), work("page", &["mail", "tone"])] {
        stage.stage_task(&planner, &task).await.unwrap();
    }
    assert_eq!(stage.tasks(session).await, ["plan#1 RUNNING nothing"]);
    stage.succeed(planner.run).await;
    assert_eq!(
        stage.tasks(session).await,
        [
            "plan#1 DONE nothing",
            "mail RUNNING nothing",
            "tone RUNNING nothing",
            "page PENDING mail, tone",
        ]
    );
    // 2. Two workers work at the same time.
    let first = stage.turn(db, session, "worker-1").await;
    let second = stage.turn(db, session, "worker-2").await;
    stage.report(&first, &done("The mail.")).await.unwrap();
    stage.succeed(first.run).await;
    stage.report(&second, &done("Friendly.")).await.unwrap();
    stage.succeed(second.run).await;
    assert_eq!(
        stage.tasks(session).await[1..],
        [
            "mail RUNNING nothing",
            "tone DONE nothing",
            "page PENDING mail"
        ]
    );
    // 3. The judge reads the result and accepts it, and the last task gets the results of the others.
    let judge = stage.turn(db, session, "judge").await;
    assert!(stage.run(judge.run).await.content.contains("The mail."));
    stage.report(&judge, &verdict(&["read it"])).await.unwrap();
    stage.succeed(judge.run).await;
    let last = stage.next_turn(db, session).await;
    let content = stage.run(last.run).await.content;
    assert!(
        content.contains("The mail.") && content.contains("Friendly."),
        "{content}"
    );
    stage.report(&last, &done("The page.")).await.unwrap();
    stage.succeed(last.run).await;
    // 4. The judge accepts the whole goal, the planner reports, and the session is done.
    let check = stage.turn(db, session, "judge").await;
    stage.report(&check, &verdict(&["read all"])).await.unwrap();
    stage.succeed(check.run).await;
    let report = stage.turn(db, session, "planner").await;
    stage.succeed(report.run).await;
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!((view.state, view.plan_version), (GoalState::Done, 1));
    assert!(
        view.tasks.iter().all(|task| task.status == Done),
        "{view:?}"
    );
    let status = stage.store.session(stage.scope(), session).await.unwrap();
    assert_eq!(status.status(), SessionStatus::Done);
    assert!(stage.claim().await.is_none());
    // Each task became DONE once, and its log says so.
    let log = stage.store.events(stage.scope(), session, 0, 1000).await;
    let log: Vec<String> = log.unwrap().iter().map(|it| summary(&it.change)).collect();
    for key in ["plan#1", "mail", "tone", "page", "check#1", "report#1"] {
        let line = format!("task {key} DONE");
        assert_eq!(log.iter().filter(|it| **it == line).count(), 1, "{log:?}");
    }
}

pub(crate) async fn person_pauses_edits_and_resumes_goal(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(2, None), &[work("a", &[]), work("b", &["a"])])
        .await;
    let paused = stage.change(session, GoalChange::Pause).await.unwrap();
    assert_eq!(paused, GoalState::Paused(PauseReason::Person));
    let refused = stage.change(session, GoalChange::Pause).await;
    assert!(matches!(refused, Err(Error::Goal(_))), "{refused:?}");
    // The turn under way ends, and no other starts.
    let worker = stage.next_turn(db, session).await;
    stage.report(&worker, &done("A")).await.unwrap();
    stage.succeed(worker.run).await;
    assert!(stage.claim().await.is_none());
    let resumed = stage.change(session, GoalChange::Resume).await.unwrap();
    assert_eq!(resumed, GoalState::Active);
    // An edit queues a plan, whose prompt has the new text.
    let edit = GoalChange::Edit("Draft two campaigns.".into());
    stage.change(session, edit).await.unwrap();
    let planner = stage.turn(db, session, "planner").await;
    let content = stage.run(planner.run).await.content;
    assert!(content.contains("Draft two campaigns."), "{content}");
    // A plan of a person needs the version that the person has read.
    let plan = || model::goal::Plan {
        tasks: vec![work("c", &[])],
        drops: vec!["b".into()],
    };
    let stale = GoalChange::Publish {
        version: 0,
        plan: plan(),
    };
    let refused = stage.change(session, stale).await;
    assert!(matches!(refused, Err(Error::Goal(_))), "{refused:?}");
    let publish = GoalChange::Publish {
        version: 1,
        plan: plan(),
    };
    stage.change(session, publish).await.unwrap();
    let tasks = stage.tasks(session).await;
    assert!(tasks.contains(&"c RUNNING nothing".to_owned()), "{tasks:?}");
    assert!(
        tasks.contains(&"b CANCELLED nothing".to_owned()),
        "{tasks:?}"
    );
    let unknown = stage.change(session, GoalChange::Retry("x".into())).await;
    assert!(
        matches!(unknown, Err(Error::NotFound { .. })),
        "{unknown:?}"
    );
}

pub(crate) async fn cancelled_goal_cancels_its_turns_and_closes_its_session(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let plan = [work("a", &[]), work("b", &[]), work("c", &["a"])];
    let session = stage.planned_goal(db, team(2, None), &plan).await;
    let running = stage.turn(db, session, "worker-1").await;
    let waiting = stage.open_run(db, session, "worker-2").await.unwrap();
    let cancelled = stage.change(session, GoalChange::Cancel).await.unwrap();
    assert_eq!(cancelled, GoalState::Cancelled);
    let statuses = stage.statuses([waiting, running.run]).await;
    assert_eq!(statuses, [RunStatus::Cancelled, RunStatus::Running]);
    assert!(
        stage
            .run(running.run)
            .await
            .state
            .cancel_requested_at()
            .is_some()
    );
    let session_row = stage.store.session(stage.scope(), session).await.unwrap();
    assert_eq!(session_row.status(), SessionStatus::Failed);
    // The tools refuse, and the end of the turn changes nothing.
    let late = stage.report(&running, &done("late")).await;
    assert!(matches!(late, Err(Error::Refused(_))), "{late:?}");
    stage.succeed(running.run).await;
    let tasks = stage.tasks(session).await;
    assert_eq!(
        tasks[1..],
        [
            "a CANCELLED nothing",
            "b CANCELLED nothing",
            "c CANCELLED nothing"
        ]
    );
    assert!(stage.claim().await.is_none());
    let again = stage.change(session, GoalChange::Resume).await;
    assert!(matches!(again, Err(Error::Goal(_))), "{again:?}");
}

pub(crate) async fn closed_session_cancels_its_goal(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(2, None), &[work("a", &[]), work("b", &[])])
        .await;
    let running = stage.turn(db, session, "worker-1").await;
    let (scope, now) = (stage.scope(), stage.now());
    let event = SessionEvent::Fail;
    let closed = stage
        .store
        .transition_session(scope, session, event, None, now);
    closed.await.unwrap();
    let view = stage.store.goal(scope, session).await.unwrap();
    assert_eq!(view.state, GoalState::Cancelled);
    stage.succeed(running.run).await;
    assert!(stage.claim().await.is_none());
}

pub(crate) async fn plan_of_thousand_tasks_is_published_at_once(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_goal(team(2, None));
    (new.team.limits.graph.plan, new.team.limits.graph.tasks) = (1000, 1000);
    let created = stage.store.create_goal(stage.tenant, &new, stage.now());
    let session = created.await.unwrap();
    let planner = stage.turn(db, session, "planner").await;
    let items = |from: usize| (from..from + 500).map(|no| format!("item {no}")).collect();
    let first = NewTask {
        each: items(0),
        title: "Label {item}".into(),
        ..work("label", &[])
    };
    let second = NewTask {
        each: items(500),
        ..work("check", &[])
    };
    stage.stage_task(&planner, &first).await.unwrap();
    assert_eq!(stage.stage_task(&planner, &second).await.unwrap(), 2);
    stage.succeed(planner.run).await;
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.tasks.len(), 1001);
    assert_eq!(view.tasks[500].key, "label/500");
    assert_eq!(view.tasks[500].title, "Label item 499");
    let running = view.tasks.iter().filter(|task| task.status == Running);
    assert_eq!(running.count(), 2, "one for each worker");
}

pub(crate) async fn task_waits_for_messages_of_people_on_its_seat(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.goal(team(1, None)).await;
    // The message waits for the turn under way, and goes before the next one of the planner.
    let planner = stage.turn(db, session, "planner").await;
    let message = stage.send_message(session, "How far are you?").await.run_id;
    stage.stage_task(&planner, &work("a", &[])).await.unwrap();
    stage.succeed(planner.run).await;
    let worker = stage.turn(db, session, "worker-1").await;
    stage.report(&worker, &done("A")).await.unwrap();
    stage.succeed(worker.run).await;
    let report = stage.open_run(db, session, "planner").await.unwrap();
    assert_eq!(report, message, "the message has the seat");
    stage.start(message).await;
    stage.succeed(message).await;
    let report = stage.turn(db, session, "planner").await;
    stage.succeed(report.run).await;
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.state, GoalState::Done);
}

pub(crate) async fn goal_of_other_tenant_is_not_found(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(1, None), &[work("a", &[])])
        .await;
    let other = TenantId::from_uuid(id());
    let goal = stage.store.goal(Scope::Tenant(other), session).await;
    assert!(matches!(goal, Err(Error::NotFound { .. })), "{goal:?}");
    let change = &GoalChange::Cancel;
    let changed = stage.store.change_goal(other, session, change, stage.now());
    let changed = changed.await;
    assert!(
        matches!(changed, Err(Error::NotFound { .. })),
        "{changed:?}"
    );
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.state, GoalState::Active);
}

pub(crate) async fn ends_of_turns_without_locks_finish_each_task_once(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let keys = ["a", "b", "c", "d"];
    let plan = keys.map(|key| work(key, &[]));
    let mut new = stage.new_goal(team(4, None));
    new.team.limits.graph.parallel = 4;
    let session = stage.store.create_goal(stage.tenant, &new, stage.now());
    let session = session.await.unwrap();
    stage.plan(db, session, &plan).await;
    let mut callers = Vec::new();
    for seat in ["worker-1", "worker-2", "worker-3", "worker-4"] {
        let caller = stage.turn(db, session, seat).await;
        stage.report(&caller, &done("done")).await.unwrap();
        callers.push(caller);
    }
    // Two servers end each turn.
    let stores = without_locks(db).await;
    let (stage, result) = (&stage, &answer("Done."));
    let mut ends = Vec::new();
    for caller in &callers {
        for store in &stores {
            ends.push(async move {
                patiently!(store.finish(caller.run, &stage.worker, result, stage.now()))
            });
        }
    }
    let outcomes = join_all(ends).await;
    let committed = outcomes.iter().filter(|it| **it == WriteOutcome::Committed);
    assert_eq!(committed.count(), 4);
    let log = stage.store.events(stage.scope(), session, 0, 1000).await;
    let log: Vec<String> = log.unwrap().iter().map(|it| summary(&it.change)).collect();
    for key in keys {
        let line = format!("task {key} DONE");
        assert_eq!(log.iter().filter(|it| **it == line).count(), 1, "{log:?}");
    }
    let report = stage.turn(db, session, "planner").await;
    stage.succeed(report.run).await;
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.state, GoalState::Done);
}
