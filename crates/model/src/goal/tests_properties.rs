//! Properties beyond single events: a goal whose effects are all answered ends, and the order of independent results does not
//! change the outcome.

use std::collections::BTreeMap;

use proptest::{collection::vec, prelude::*};

use super::{
    tests_random::{random_limits, random_team},
    tests_support::*,
    *,
};

/// Answers one thing that is under way. Returns `None` if nothing is.
fn answer(graph: &Graph, choices: &mut Choices<'_>) -> Option<Event> {
    let mut open: Vec<Event> = Vec::new();
    for (no, seat) in graph.seats().iter().enumerate() {
        let Some(input) = seat.turn else { continue };
        let task = input.task().map(|task| &graph.tasks()[task.0]);
        let kind = task.map(|task| (task.kind, task.activity()));
        let bad = choices.percent(30);
        let end = match kind {
            Some((_, Some(Activity::Review { .. }))) if bad => {
                TurnEnd::Verdict(Verdict::SendBack(vec![Finding {
                    regression: true,
                    ..blocker("f")
                }]))
            }
            Some((_, Some(Activity::Review { .. }))) => {
                TurnEnd::Verdict(Verdict::Accept { evidence: 10 })
            }
            Some((TaskKind::Plan, Some(_))) => {
                let key = format!("t{}", graph.tasks().len());
                let tasks = vec![NewTask {
                    review: false,
                    ..work(&key, &[])
                }];
                TurnEnd::Planned(Plan {
                    tasks,
                    drops: Vec::new(),
                })
            }
            Some((TaskKind::Work, Some(_))) if bad => TurnEnd::ReportedFailure,
            Some((TaskKind::Work, Some(_))) => TurnEnd::Reported,
            _ => SILENT,
        };
        let (seat, follow_up) = (SeatNo(no), choices.percent(30));
        open.push(Event::TurnEnded {
            seat,
            end,
            follow_up,
            new_artifact: true,
        });
    }
    for (no, task) in graph.tasks().iter().enumerate() {
        match task.activity() {
            Some(Activity::Checks) => open.push(Event::ChecksPassed(TaskNo(no))),
            Some(Activity::Question { .. }) => open.push(Event::Answered(TaskNo(no))),
            _ => {}
        }
    }
    (!open.is_empty()).then(|| choices.of(&open))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// The number of turns bounds each sequence, even if each agent fails, escalates and saves artifacts forever.
    #[test]
    fn goal_whose_effects_are_answered_ends(values in vec(any::<u16>(), 0..400)) {
        let mut choices = Choices::new(&values);
        let team = Team { approve_plan: false, ..random_team(&mut choices) };
        let limits = random_limits(&mut choices);
        let mut graph = Graph::new(team, limits.clone()).unwrap();
        let mut events = 0;
        advance(&mut graph, Event::Start).unwrap();
        while let Some(event) = answer(&graph, &mut choices) {
            advance(&mut graph, event).unwrap();
            events += 1;
            prop_assert!(events <= 2 * limits.turns, "{} events", events);
        }
        prop_assert!(graph.goal() != GoalState::Active, "{:?}", graph);
    }

    /// Each task has its own result, whatever the order of the turns, so the statuses at the end are the same.
    #[test]
    fn order_of_independent_results_does_not_change_statuses(
        edges in vec((0_usize..8, 0_usize..8), 0..12),
        failing in any::<u8>(),
        optional in any::<u8>(),
        one in vec(any::<u16>(), 60),
        other in vec(any::<u16>(), 60),
    ) {
        let tasks: Vec<_> = (0..8).map(|no| {
            let before = edges.iter().filter(|(from, to)| *to == no && from < to);
            NewTask {
                depends_on: before.map(|(from, _)| format!("t{from}")).collect(),
                optional: optional >> no & 1 == 1,
                ..work(&format!("t{no}"), &[])
            }
        }).collect();
        let statuses = |values: &[u16]| {
            let mut choices = Choices::new(values);
            let limits = Limits { replans: 0, ..Limits::default() };
            let mut game = Game::with_limits(team(3, None), limits);
            game.plan(tasks.clone());
            loop {
                let seats = game.graph.seats().iter().enumerate();
                let busy: Vec<_> = seats.filter(|(_, seat)| seat.turn.is_some()).collect();
                if busy.is_empty() {
                    break;
                }
                let (no, seat) = choices.of(&busy);
                let task = seat.turn.and_then(Input::task).unwrap();
                let fails = game.graph.tasks()[task.0].key.strip_prefix('t')
                    .is_some_and(|no| failing >> no.parse::<u32>().unwrap() & 1 == 1);
                let end = match game.graph.tasks()[task.0].kind {
                    TaskKind::Work if fails => TurnEnd::ReportedFailure,
                    TaskKind::Work => TurnEnd::Reported,
                    _ => SILENT,
                };
                game.go(Event::TurnEnded { seat: SeatNo(no), end, follow_up: false, new_artifact: true });
            }
            let found: BTreeMap<_, _> = game.graph.tasks().iter().map(|task| (task.key.clone(), task.status())).collect();
            (found, game.graph.goal())
        };
        prop_assert_eq!(statuses(&one), statuses(&other));
    }
}
