//! Random teams, limits, plans and events.

use std::collections::BTreeSet;

use super::{
    tests_support::{Choices, input, role, seat},
    *,
};

pub(super) fn random_team(choices: &mut Choices<'_>) -> Team {
    let mut roles = vec![role(PLANNER), role(WORKER)];
    let mut seats = vec![seat("planner-1", PLANNER, Directory::Shared)];
    let own = [Directory::Shared, Directory::Own];
    roles[1].attempts = choices.of(&[2, 1, 3]);
    roles[1].accept_answers = choices.percent(20);
    for no in 1..=choices.of(&[2, 1, 3]) {
        seats.push(seat(&format!("worker-{no}"), WORKER, choices.of(&own)));
    }
    if choices.percent(30) {
        roles.push(Role {
            writes: choices.of(&[None, Some(vec!["src".to_owned()])]),
            ..role("researcher")
        });
        seats.push(seat("researcher-1", "researcher", Directory::Shared));
    }
    if choices.percent(70) {
        roles.push(role(JUDGE));
        for no in 1..=choices.of(&[1, 2]) {
            seats.push(seat(&format!("judge-{no}"), JUDGE, Directory::Shared));
        }
    }
    Team {
        roles,
        seats,
        reviews: choices.of(&[Reviews::Marked, Reviews::All, Reviews::Goal]),
        checks: BTreeSet::from(["lint".to_owned(), "tests".to_owned()]),
        approve_plan: choices.percent(10),
        verification: choices.of(&[vec![], vec![], vec![], vec!["tests".to_owned()]]),
    }
}

pub(super) fn random_limits(choices: &mut Choices<'_>) -> Limits {
    let few = choices.percent(50);
    let mut limit = |all: &[u32], default| if few { choices.of(all) } else { default };
    let default = Limits::default();
    Limits {
        plan: limit(&[50, 4, 6], default.plan),
        tasks: limit(&[100, 8, 12], default.tasks),
        replans: limit(&[5, 0, 1, 2], default.replans),
        rounds: limit(&[3, 1, 2, 5], default.rounds),
        equal_rounds: limit(&[3, 2, 1], default.equal_rounds),
        failed_checks: limit(&[2, 1, 3], default.failed_checks),
        idle_turns: limit(&[24, 4, 8], default.idle_turns),
        alternating_turns: limit(&[6, 2, 3], default.alternating_turns),
        messages: limit(&[200, 3, 10], default.messages),
        message_turns: limit(&[40, 1, 4], default.message_turns),
        turns: limit(&[200, 5, 10, 20], default.turns),
        parallel: limit(&[3, 1, 2], default.parallel),
    }
}

/// Returns a plan, which sometimes has a fault.
fn random_plan(graph: &Graph, choices: &mut Choices<'_>) -> Plan {
    let existing: Vec<_> = graph.tasks().iter().map(|task| task.key.clone()).collect();
    let prefix = format!("t{}", graph.tasks().len());
    let count = 1 + choices.below(5);
    let mut tasks: Vec<NewTask> = Vec::new();
    for no in 0..count {
        let key = format!("{prefix}.{no}");
        let role = choices.of(&[WORKER, WORKER, WORKER, WORKER, "researcher", JUDGE]);
        let has_role = graph.team().role(role).is_some() || choices.percent(3);
        let mut task = NewTask::new(&key, if has_role { role } else { WORKER });
        if !choices.percent(80) {
            // An equal task, if the first one is done.
            task.title = "the same".to_owned();
        }
        for _ in 0..choices.of(&[0, 1, 1, 2, 3]) {
            let forward = choices.percent(2);
            let from_plan = no > 0 && choices.percent(60);
            let dependency = if forward {
                format!("{prefix}.{}", choices.below(count))
            } else if from_plan {
                format!("{prefix}.{}", choices.below(no))
            } else if existing.is_empty() {
                continue;
            } else {
                choices.of(&existing)
            };
            // Keys of plans, checks and reports are unknown to plans.
            if !dependency.contains('#') || choices.percent(3) {
                task.depends_on.push(dependency);
            }
        }
        if choices.percent(20) && !existing.is_empty() {
            let old = choices.of(&existing);
            if !old.contains('#') {
                task.replaces.push(old);
            }
        }
        task.priority = choices.of(&[5, 0, 9, 4, 5]);
        task.optional = choices.percent(25);
        task.review = choices.percent(30) && graph.team().role(JUDGE).is_some();
        let writes = ["a", "a/b", "ab", "src", "./a/", "."].map(str::to_owned);
        task.writes = match choices.below(4) {
            0 => Some(vec![]),
            1 => Some(vec![choices.of(&writes)]),
            2 => Some(vec![choices.of(&writes), choices.of(&writes)]),
            _ => None,
        };
        if choices.percent(20) {
            task.checks.push(choices.of(&["tests", "lint"]).to_owned());
        }
        for line in 0..choices.of(&[0, 0, 1, 2]) {
            task.acceptance.push(format!("line {line}"));
        }
        if choices.percent(10) {
            task.each = vec!["one".to_owned(), "two".to_owned()];
        }
        tasks.push(task);
    }
    let mut drops = Vec::new();
    if choices.percent(10) && !existing.is_empty() {
        drops.push(choices.of(&existing));
    }
    if choices.percent(3) {
        tasks.clear();
    }
    Plan { tasks, drops }
}

fn random_findings(choices: &mut Choices<'_>) -> Vec<Finding> {
    let count = choices.of(&[1, 2, 1, 0]);
    let finding = |_| Finding {
        id: choices.of(&["f1", "f2", "f3"]).to_owned(),
        severity: choices.of(&[Severity::Blocker, Severity::Blocker, Severity::Minor]),
        regression: choices.percent(20),
    };
    (0..count).map(finding).collect()
}

fn random_end(graph: &Graph, input: Input, choices: &mut Choices<'_>) -> TurnEnd {
    let rare = choices.below(20);
    match rare {
        19 if choices.percent(30) => return TurnEnd::Cancelled,
        19 => return TurnEnd::Failed,
        18 => return TurnEnd::WithoutReport { listed_tools: true },
        17 if choices.percent(30) => {
            return TurnEnd::WithoutReport {
                listed_tools: false,
            };
        }
        17 if choices.percent(30) => return TurnEnd::RefusedReport(Vec::new()),
        16 => return TurnEnd::Questions(choices.of(&[1, 2, 0])),
        _ => {}
    }
    let Input::Task { task, .. } = input else {
        return TurnEnd::WithoutReport { listed_tools: true };
    };
    let task = &graph.tasks()[task.0];
    match (task.activity(), task.kind) {
        (Some(Activity::Review { .. }), _) => TurnEnd::Verdict(if choices.percent(40) {
            Verdict::SendBack(random_findings(choices))
        } else {
            let evidence = choices.of(&[2, 2, 1, 0]);
            Verdict::Accept { evidence }
        }),
        (_, TaskKind::Plan) => TurnEnd::Planned(random_plan(graph, choices)),
        (_, TaskKind::Report) => TurnEnd::WithoutReport { listed_tools: true },
        _ if choices.percent(20) => TurnEnd::ReportedFailure,
        _ => TurnEnd::Reported,
    }
}

/// Returns an event of an input of a person, or of messages between seats.
fn random_input(graph: &Graph, seats: &[SeatNo], choices: &mut Choices<'_>) -> Event {
    // An input that was not requested counts nowhere.
    let mut inputs = vec![input(0)];
    let requested = graph.message_inputs().iter();
    let requested = requested.chain(graph.waiting_messages());
    inputs.extend(requested.map(|(_, input)| *input));
    match choices.below(6) {
        0 => {
            let count = choices.below(seats.len() + 1);
            Event::OtherTurns((0..count).map(|_| choices.of(seats)).collect())
        }
        1 => Event::MessageSent(choices.of(seats)),
        2 => Event::MessageTurnBegan(inputs[choices.below(inputs.len())]),
        3 => Event::MessageTurnDropped(inputs[choices.below(inputs.len())]),
        _ => Event::MessageTurn {
            seat: choices.of(seats),
            input: input(choices.of(&[1, 2, 3, 4, 5, 6, 7, 8])),
        },
    }
}

/// Returns an edit of a task, most often of one that accepts it.
fn random_edit(graph: &Graph, choices: &mut Choices<'_>) -> Event {
    let fits = |task: &Task| {
        let has_begun = matches!(task.state, TaskState::Running(_) | TaskState::Done(_));
        task.kind == TaskKind::Work && !has_begun
    };
    let tasks = graph.tasks().iter().enumerate();
    let tasks = tasks.filter(|(_, task)| fits(task));
    let mut tasks: Vec<_> = tasks.map(|(no, _)| TaskNo(no)).collect();
    tasks.push(random_task(graph, choices));
    let content = |choices: &mut Choices<'_>| TaskFields {
        title: choices.of(&["the same", "another"]).to_owned(),
        description: String::new(),
        acceptance: choices.of(&[vec![], vec!["line 0".to_owned()]]),
        priority: choices.of(&[5, 0, 9, 4, 10]),
    };
    Event::EditTask(TaskEdit {
        version: graph.plan_version() + u32::from(choices.percent(10)),
        task: choices.of(&tasks),
        before: content(choices),
        after: content(choices),
    })
}

fn random_task(graph: &Graph, choices: &mut Choices<'_>) -> TaskNo {
    TaskNo(choices.below(graph.tasks().len() + 1))
}

/// Returns an event that often fits the graph.
pub(super) fn random_event(graph: &Graph, choices: &mut Choices<'_>) -> Event {
    let seats: Vec<_> = (0..graph.seats().len()).map(SeatNo).collect();
    let turn = |seat: &SeatNo| graph.seats()[seat.0].turn;
    let (others, busy): (Vec<_>, Vec<_>) = seats
        .iter()
        .copied()
        .filter(|seat| turn(seat).is_some())
        .partition(|seat| turn(seat) == Some(Input::Other));
    let with = |fits: &dyn Fn(&Task) -> bool| -> Vec<TaskNo> {
        let all = graph.tasks().iter().enumerate();
        all.filter(|(_, task)| fits(task))
            .map(|(no, _)| TaskNo(no))
            .collect()
    };
    let checking = with(&|task| task.activity() == Some(&Activity::Checks));
    let asking = with(&|task| matches!(task.activity(), Some(Activity::Question { .. })));
    let failed = with(&|task| task.status() == TaskStatus::Failed);
    let any_task = random_task(graph, choices);
    match choices.below(100) {
        0..12 if !others.is_empty() => {
            let mut others = others;
            others.retain(|_| choices.percent(30));
            Event::OtherTurns(others.into_iter().collect())
        }
        0..55 if !busy.is_empty() => {
            let seat = choices.of(&busy);
            let input = turn(&seat).unwrap_or(Input::Other);
            Event::TurnEnded {
                seat,
                end: random_end(graph, input, choices),
                follow_up: choices.percent(5),
                new_artifact: choices.percent(20),
            }
        }
        0..65 if !checking.is_empty() => {
            let (task, check) = (choices.of(&checking), "tests".to_owned());
            let last_lines = choices.of(&["x", "y"]).to_owned();
            match choices.below(4) {
                0 => Event::CheckFailed {
                    task,
                    check,
                    last_lines,
                },
                1 => Event::CheckBroken { task, check },
                _ => Event::ChecksPassed(task),
            }
        }
        0..72 if !asking.is_empty() => Event::Answered(choices.of(&asking)),
        0..76 => random_input(graph, &seats, choices),
        76..80 => {
            let presence = match choices.below(10) {
                0..6 => Presence::Online,
                6..9 => Presence::Offline,
                _ => Presence::Removed,
            };
            let mut changes = vec![(choices.of(&seats), presence)];
            if choices.percent(30) {
                changes.push((choices.of(&seats), presence));
            }
            Event::SeatPresence(changes)
        }
        80..82 if !failed.is_empty() => Event::Retry(choices.of(&failed)),
        80..84 if !failed.is_empty() => Event::Accept(choices.of(&failed)),
        80..85 => match choices.below(5) {
            0 => Event::Retry(any_task),
            1 => Event::Accept(any_task),
            2 => random_edit(graph, choices),
            _ => Event::CancelTask(any_task),
        },
        85..87 => Event::Budget(choices.of(BudgetLevel::ALL)),
        87..89 => Event::DeadlinePassed(choices.of(Deadline::ALL)),
        89..91 => Event::Publish {
            version: graph
                .plan_version()
                .saturating_sub(u32::from(choices.percent(20))),
            plan: random_plan(graph, choices),
        },
        91 => Event::Replan,
        92 => Event::Pause,
        93..97 => Event::Resume,
        97 => random_edit(graph, choices),
        98 if choices.percent(30) => Event::Limits(random_limits(choices)),
        99 if choices.percent(20) => Event::Cancel,
        _ => Event::Answered(any_task),
    }
}
