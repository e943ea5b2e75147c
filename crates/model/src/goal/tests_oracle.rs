//! Plays random goals against the naive model, and checks the invariants after each event. A seed decides a goal, and
//! `MATINS_GOAL_SEED=N` plays it again. A goal that fails is made smaller before it is shown.

use proptest::{
    collection::vec,
    prelude::*,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};

use super::{
    tests_naive::Naive,
    tests_random::{random_event, random_limits, random_team},
    tests_support::Choices,
    *,
};
use crate::lifecycle::Lifecycle;

/// The number of goals of an ordinary run.
const GOALS: u64 = 2_000;
/// The highest number of choices of a goal. An event takes about six of them.
const MAX_CHOICES: usize = 600;

/// Returns the number in an environment variable, or `default` without the variable.
fn number_from_environment(name: &str, default: u64) -> u64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "scripts choose the seeds of a run"
    )]
    let value = std::env::var(name).ok();
    value.map_or(default, |value| {
        let number = value.parse();
        number.unwrap_or_else(|_| panic!("invalid `{name}` `{value}`: a number is expected"))
    })
}

/// The result of one goal.
#[derive(Default)]
struct Played {
    events: u64,
    refused: u64,
    done_tasks: u64,
    ends: std::collections::BTreeMap<String, u64>,
}

/// Plays one goal.
fn play(values: &[u16], played: &mut Played, traced: bool) -> Result<(), TestCaseError> {
    let mut choices = Choices::new(values);
    let (team, limits) = (random_team(&mut choices), random_limits(&mut choices));
    let mut graph = Graph::new(team.clone(), limits.clone()).unwrap();
    let mut naive = Naive::new(team, limits);
    let mut done: Vec<TaskNo> = Vec::new();
    let mut event = Event::Start;
    loop {
        if traced {
            println!("{event:?}");
        }
        let before = graph.clone();
        let result = advance(&mut graph, event.clone());
        let expected = naive.follow(&event);
        prop_assert_eq!(result.is_ok(), expected, "{:?}: {:?}", &event, &result);
        played.events += 1;
        match result {
            Err(_) => {
                played.refused += 1;
                prop_assert_eq!(&graph, &before, "a refused event changed the graph");
            }
            Ok(effects) => {
                if traced {
                    println!("    {effects:?}");
                }
                check_effects(&before, &graph, &effects, &mut done)?;
            }
        }
        prop_assert_eq!(naive.lines(), lines(&graph), "after {:?}", &event);
        prop_assert!(graph.is_alive(), "idle after {:?}", &event);
        check_indexes(&graph)?;
        for no in 0..graph.tasks().len() {
            naive
                .check_wait(no, &graph.waits_for(TaskNo(no)))
                .map_err(TestCaseError::fail)?;
        }
        if choices.is_over() {
            break;
        }
        event = random_event(&graph, &mut choices);
    }
    played.done_tasks += done.len() as u64;
    *played.ends.entry(graph.goal().to_string()).or_default() += 1;
    Ok(())
}

/// Returns the state of a graph in the form of the naive model.
fn lines(graph: &Graph) -> Vec<String> {
    let task = |task: &Task| format!("{} {:?}", task.key, task.state).replace("unmet: ", "");
    let seat = |seat: &Seat| {
        let (turn, queue) = (&seat.turn, &seat.queue);
        let (others, waited_for) = (seat.other_inputs, seat.waited_for);
        format!("{} {turn:?} {queue:?} {others} {waited_for}", seat.name)
    };
    let progress = graph.progress();
    let wait = match progress.seats_wait {
        SeatsWait::None => None,
        SeatsWait::UntilDeadline => Some(false),
        SeatsWait::Expired => Some(true),
    };
    let mut lines = vec![format!("{:?} {} {wait:?}", graph.goal(), graph.turns())];
    lines.push(format!(
        "{} {} {:?} {:?} {}",
        progress.messages,
        progress.message_turns,
        progress.message_inputs,
        progress.waiting_messages,
        progress.alternation.turns
    ));
    lines.extend(graph.tasks().iter().map(task));
    lines.extend(graph.seats().iter().map(seat));
    lines
}

/// Compares the indexes and counters of a graph with its tasks.
fn check_indexes(graph: &Graph) -> Result<(), TestCaseError> {
    let numbers = |status: TaskStatus| {
        let all = graph.tasks.iter().enumerate();
        all.filter(move |(_, task)| task.status() == status)
    };
    let running: Vec<_> = numbers(TaskStatus::Running)
        .map(|(no, _)| TaskNo(no))
        .collect();
    prop_assert!(graph.running.iter().eq(&running), "{:?}", &graph.running);
    let ready: usize = graph
        .ready
        .iter()
        .map(std::collections::BTreeSet::len)
        .sum();
    prop_assert_eq!(ready, numbers(TaskStatus::Ready).count());
    let required = graph
        .tasks
        .iter()
        .filter(|task| task.is_required_and_open());
    prop_assert_eq!(graph.required_open, required.count());
    let dependencies: usize = graph.tasks.iter().map(|task| task.depends_on.len()).sum();
    prop_assert_eq!(graph.dependency_count, dependencies);
    Ok(())
}

/// Checks the invariants that effects and states have by themselves.
fn check_effects(
    before: &Graph,
    graph: &Graph,
    effects: &[Effect],
    done: &mut Vec<TaskNo>,
) -> Result<(), TestCaseError> {
    let mut statuses: Vec<_> = before
        .tasks()
        .iter()
        .map(|task| Some(task.status()))
        .collect();
    statuses.resize(graph.tasks().len(), None);
    for effect in effects {
        match effect {
            Effect::Moved { task, from, to } => {
                prop_assert_eq!(statuses[task.0], *from, "{:?}", effect);
                let moves = TaskEvent::ALL.iter();
                let allowed = from
                    .is_none_or(|from| moves.clone().any(|it| from.next_state(*it) == Some(*to)));
                prop_assert!(allowed, "{:?}", effect);
                statuses[task.0] = Some(*to);
                if *to == TaskStatus::Done {
                    prop_assert!(!done.contains(task), "{:?} is done twice", task);
                    done.push(*task);
                }
            }
            Effect::Started {
                input: Input::Task { task, .. },
                ..
            } => {
                let task = &graph.tasks()[task.0];
                for dependency in &task.depends_on {
                    let dependency = &graph.tasks()[dependency.0];
                    let is_satisfied =
                        dependency.status() == TaskStatus::Done || dependency.optional;
                    prop_assert!(is_satisfied, "{} runs before {}", task.key, dependency.key);
                }
            }
            _ => {}
        }
    }
    let now: Vec<_> = graph
        .tasks()
        .iter()
        .map(|task| Some(task.status()))
        .collect();
    prop_assert_eq!(statuses, now, "the effects do not lead to the graph");
    Ok(())
}

/// Returns the choices of a seed as a strategy, so that a failing goal is shrunk.
fn runner(seed: u64) -> TestRunner {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config {
        cases: 1,
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..Config::default()
    };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

fn play_seed(seed: u64, traced: bool) -> Played {
    let cell = std::cell::RefCell::new(Played::default());
    let result = runner(seed).run(&vec(any::<u16>(), 0..MAX_CHOICES), |values| {
        let mut played = Played::default();
        let result = play(&values, &mut played, false);
        *cell.borrow_mut() = played;
        result
    });
    if let Err(failed) = result {
        if let (true, proptest::test_runner::TestError::Fail(_, values)) = (traced, &failed) {
            let _ = play(values, &mut Played::default(), true);
        }
        panic!("seed {seed} (MATINS_GOAL_SEED={seed}): {failed}");
    }
    cell.into_inner()
}

/// `scripts/test-long` plays 100,000 goals: `MATINS_GOALS=100000`, from `MATINS_FIRST_GOAL` on.
#[test]
fn random_goals_agree_with_naive_model() {
    let count = number_from_environment("MATINS_GOALS", GOALS);
    let first = number_from_environment("MATINS_FIRST_GOAL", 0);
    let mut all = Played::default();
    for seed in first..first + count {
        let played = play_seed(seed, false);
        all.events += played.events;
        all.refused += played.refused;
        all.done_tasks += played.done_tasks;
        for (end, count) in played.ends {
            *all.ends.entry(end).or_default() += count;
        }
    }
    println!(
        "{} events of {count} goals from seed {first}, {} refused, {} tasks done; the goals: {:?}",
        all.events, all.refused, all.done_tasks, all.ends
    );
    // The goals must reach all parts of the graph.
    if count >= GOALS {
        assert!(all.events > 20 * count, "{} events", all.events);
        assert!(all.refused * 2 < all.events, "{} refused", all.refused);
        assert!(all.done_tasks > count, "{} tasks done", all.done_tasks);
        assert!(all.ends.len() >= 8, "{:?}", all.ends);
    }
}

#[test]
#[ignore = "plays the goal of `MATINS_GOAL_SEED` and prints its events if it fails"]
fn replay_goal_from_environment() {
    let seed = number_from_environment("MATINS_GOAL_SEED", 0);
    play_seed(seed, true);
}
