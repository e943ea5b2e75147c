//! The example of the document `goals.progress`.

use model::goal::{
    Alternation, BudgetLevel, GoalProgress, Input, Presence, Progress, Prompt, SeatNo,
    SeatProgress, SeatsWait, Stop, StuckCause, TaskNo,
};

/// Returns the progress of a goal, in which each key of the document has a value.
pub(super) fn example() -> GoalProgress {
    let (planner, worker, judge) = (SeatNo(0), SeatNo(1), SeatNo(2));
    let turn = Input::Task {
        task: TaskNo(3),
        prompt: Prompt::Rework,
    };
    GoalProgress {
        plan_version: 2,
        replans: 1,
        plan_requested: true,
        accepted: true,
        failed_checks: 1,
        check_progress: Progress {
            attempts: 0,
            rounds: 1,
            reviews: 2,
            reminded: true,
            home: Some(worker),
            judge: Some(judge),
            judge_reminded: true,
            judge_misses: 1,
            unreported: true,
            findings: ["f1".to_owned()].into(),
            equal_findings: 3,
            failed_check: Some(("tests".into(), "1 failed".into())),
            equal_checks: 4,
        },
        reported: true,
        stop: Some(Stop::Stuck(StuckCause::NoProgress)),
        budget: BudgetLevel::Low,
        seats_wait: SeatsWait::Expired,
        turns: 30,
        idle_turns: 5,
        messages: 7,
        message_turns: 4,
        message_inputs: vec![(
            planner,
            "inp_0199f3c2a4b07d10a111111111111111".parse().unwrap(),
        )],
        waiting_messages: vec![(
            worker,
            "inp_0199f3c2a4b07d10a222222222222222".parse().unwrap(),
        )],
        alternation: Alternation {
            last: Some(judge),
            before: Some(worker),
            turns: 3,
        },
        seats: vec![
            SeatProgress {
                presence: Presence::Online,
                turn: Some(Input::Other),
                queue: Vec::new(),
                other_inputs: 1,
                waited_for: false,
            },
            SeatProgress {
                presence: Presence::Offline,
                turn: Some(turn),
                queue: vec![(TaskNo(4), Prompt::Review)],
                other_inputs: 0,
                waited_for: true,
            },
        ],
        checking: [TaskNo(3)].into(),
        occupied: [(TaskNo(3), Some(worker)), (TaskNo(4), None)].into(),
    }
}
