//! A simulation of whole servers: many seeds, each of which decides everything that happens. Clocks,
//! processes, agents and people are made up; the database, the transitions and the ticks are the
//! product's. What the agents did is kept outside the database, and compared with it.
//!
//! `MATINS_SEED=17 cargo nextest run -p matins-daemon --test simulation one_seed --run-ignored all --no-capture` plays one
//! seed again and prints each step.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test, whose seeds and steps are told"
)]

mod agents;
mod breaks;
mod chance;
mod chaos;
mod checks;
mod history;
mod loops;
mod people;
mod schedules;
mod server;
mod sql;
mod time;
mod world;

use std::collections::BTreeMap;

use crate::{breaks::Break, world::World};

/// What became of a seed.
struct Played {
    steps: u64,
    called: BTreeMap<&'static str, u64>,
    trace: Vec<String>,
    violation: Option<String>,
}

async fn play(seed: u64, broken: Break, traced: bool) -> Played {
    let mut world = World::new(seed, broken, traced)
        .await
        .expect("a world can be made");
    let lived = world.live().await;
    Played {
        steps: world.steps,
        called: world.called,
        trace: world.trace.unwrap_or_default(),
        violation: lived.err().map(|error| format!("{error:#}")),
    }
}

/// How many seeds are played; each is some 1200 steps.
const SEEDS: u64 = 880;

/// Parts in which they are played, beside each other.
const PARTS: u64 = 8;

/// Plays a part of the seeds of the product as it is: nothing may be wrong in any.
async fn nothing_is_wrong(part: u64) {
    let seeds = (part..SEEDS).step_by(usize::try_from(PARTS).unwrap());
    let mut steps = 0;
    let mut called = BTreeMap::<_, u64>::new();
    for seed in seeds {
        let played = play(seed, Break::Nothing, false).await;
        if played.violation.is_some() {
            fail(seed).await;
        }
        steps += played.steps;
        for (name, times) in played.called {
            *called.entry(name).or_default() += times;
        }
    }
    println!("{steps} steps: {called:?}");
    assert!(
        steps * PARTS > 1_000_000,
        "the seeds take {steps} steps only"
    );
}

/// Plays a seed again that went wrong, and tells what happened.
async fn fail(seed: u64) {
    let again = play(seed, Break::Nothing, true).await;
    println!("MATINS_SEED={seed} plays it from the beginning; its last steps:");
    for line in again.trace.iter().rev().take(300).rev() {
        println!("{line}");
    }
    panic!("seed {seed}: {}", again.violation.unwrap_or_default());
}

macro_rules! parts {
    ($($name:ident $part:literal),*) => {
        $(#[tokio::test]
        async fn $name() {
            nothing_is_wrong($part).await;
        })*
    };
}

parts!(
    nothing_is_wrong_in_part_0 0,
    nothing_is_wrong_in_part_1 1,
    nothing_is_wrong_in_part_2 2,
    nothing_is_wrong_in_part_3 3,
    nothing_is_wrong_in_part_4 4,
    nothing_is_wrong_in_part_5 5,
    nothing_is_wrong_in_part_6 6,
    nothing_is_wrong_in_part_7 7
);

/// Finds what is broken on purpose, by one of its invariants.
async fn is_found(broken: Break, invariants: &[&str]) {
    for seed in 0..SEEDS {
        let Some(violation) = play(seed, broken, false).await.violation else {
            continue;
        };
        let short: String = violation.chars().take(300).collect();
        println!("{broken:?} is found by seed {seed}: {short}");
        let by = |invariant: &&str| violation.contains(*invariant);
        assert!(
            invariants.iter().any(by),
            "{broken:?} is found as {violation}"
        );
        return;
    }
    panic!("{broken:?} is found by none of {SEEDS} seeds");
}

macro_rules! is_found {
    ($($name:ident: $broken:ident as $($invariant:literal)|+,)*) => {
        $(#[tokio::test]
        async fn $name() {
            is_found(Break::$broken, &[$($invariant),+]).await;
        })*
    };
}

is_found! {
    two_turns_on_one_seat_are_found: TwoOnASeat as "I2",
    a_stalled_attempt_that_goes_on_is_found: StalledGoesOn as "I3" | "I4",
    a_fence_that_ignores_the_worker_is_found: AnyWorker as "I4",
    a_missed_instant_without_a_row_is_found: ForgetsWhatWasMissed as "I1",
    a_skipped_instant_without_a_row_is_found: ForgetsWhatWasSkipped as "I1",
    an_occurrence_that_is_fired_twice_is_found: FiresTwice as "I1",
    an_occurrence_that_is_fired_early_is_found: FiresEarly as "I1",
    an_end_that_promotes_nothing_is_found: PromotesNothing as "I3",
    a_lost_number_of_a_log_is_found: LosesNumbers as "I5",
    an_end_that_nobody_sees_is_found: EndsSilently as "I3",
    a_refusal_that_counts_as_success_is_found: RefusalSucceeds as "I6",
    a_queue_without_limit_is_found: QueuesWithoutLimit as "I10",
    people_who_wait_behind_automations_are_found: AutomationsFirst as "order",
    a_heartbeat_that_is_stale_before_its_lease_is_found: StalesBeforeTheLease as "I2",
    a_clock_that_is_believed_when_it_leaps_is_found: TrustsEveryClock as "I2",
    a_persons_words_that_are_lost_are_found: LosesWords as "I3",
}

#[tokio::test]
#[ignore = "plays the seed in MATINS_SEED, and prints each step"]
async fn one_seed() {
    #[expect(
        clippy::disallowed_methods,
        reason = "which seed to play is asked for from outside"
    )]
    let seed = std::env::var("MATINS_SEED").expect("MATINS_SEED names a seed");
    let seed: u64 = seed.parse().expect("MATINS_SEED is a number");
    let played = play(seed, Break::Nothing, true).await;
    for line in played.trace {
        println!("{line}");
    }
    println!("{} steps: {:?}", played.steps, played.called);
    assert_eq!(played.violation, None, "seed {seed}");
}
