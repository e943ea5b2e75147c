//! A simulation of whole servers. A seed decides everything that happens. Clocks, processes, agents and people are
//! simulated; the database, the transitions and the ticks are the product's. The agents' record is kept outside the
//! database and compared with it.
//!
//! `MATINS_SEED=17 cargo t 'test(replay_seed_from_environment)' --run-ignored all --no-capture` runs one seed again and
//! prints each step.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test, which prints its seeds and steps"
)]

mod agents;
mod checks;
mod defects;
mod faults;
mod history;
mod loops;
mod people;
mod rng;
mod schedules;
mod simulated_server;
mod sql;
mod time;
mod world;

use std::collections::BTreeMap;

use crate::{defects::Defect, world::World};

/// The result of one seed.
struct SeedResult {
    steps: u64,
    call_counts: BTreeMap<&'static str, u64>,
    trace: Vec<String>,
    violation: Option<String>,
}

async fn play_seed(seed: u64, broken: Defect) -> SeedResult {
    let mut world = World::new(seed, broken).await.expect("a world can be made");
    let lived = world.run_to_end().await;
    SeedResult {
        steps: world.steps,
        call_counts: world.call_counts,
        trace: world.trace,
        violation: lived.err().map(|error| format!("{error:#}")),
    }
}

/// The number of all seeds, which take a million steps together. `scripts/test-long` plays all of them.
const SEED_COUNT: u64 = 880;

/// The number of seeds that a run plays, unless `MATINS_SEEDS` has another number.
const SEEDS_PER_RUN: u64 = 110;

/// The fewest steps that a seed takes on average. Most take about 1200.
const MIN_STEPS_PER_SEED: u64 = 1000;

/// The number of parts that run concurrently.
const PART_COUNT: u64 = 8;

/// Returns the number in an environment variable, or `default` without the variable.
fn number_from_environment(name: &str, default: u64) -> u64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "scripts choose the seeds of a run"
    )]
    let value = std::env::var(name).ok();
    value.map_or(default, |value| {
        value
            .parse()
            .unwrap_or_else(|_| panic!("invalid `{name}` `{value}`: a number is expected"))
    })
}

/// Runs one part of the seeds without a defect. Each of them must pass.
///
/// A run plays `MATINS_SEEDS` seeds from `MATINS_FIRST_SEED` on. `scripts/test` chooses the first one by the commit, so
/// that successive commits play other seeds.
async fn check_seeds_of_part(part: u64) {
    let first = number_from_environment("MATINS_FIRST_SEED", 0);
    let count = number_from_environment("MATINS_SEEDS", SEEDS_PER_RUN);
    let seeds = (first + part..first + count).step_by(usize::try_from(PART_COUNT).unwrap());
    let played_seeds = u64::try_from(seeds.clone().count()).unwrap();
    println!("seeds {:?}", seeds.clone().collect::<Vec<_>>());
    let mut steps = 0;
    let mut called = BTreeMap::<_, u64>::new();
    for seed in seeds {
        let played = play_seed(seed, Defect::Nothing).await;
        if let Some(violation) = played.violation {
            print_last_steps(seed, &played.trace);
            panic!("seed {seed}: {violation}");
        }
        steps += played.steps;
        for (name, times) in played.call_counts {
            *called.entry(name).or_default() += times;
        }
    }
    println!("{steps} steps: {called:?}");
    assert!(
        steps >= played_seeds * MIN_STEPS_PER_SEED,
        "{played_seeds} seeds take {steps} steps only"
    );
}

/// Prints the last steps of a failed seed. IDs count on within a process, and order what is otherwise equal, so that the
/// seed alone may play otherwise than after the seeds before it.
fn print_last_steps(seed: u64, trace: &[String]) {
    println!(
        "MATINS_SEED={seed} plays it from the beginning; if it passes alone, play this part again. Its last steps:"
    );
    for line in trace.iter().rev().take(300).rev() {
        println!("{line}");
    }
}

macro_rules! parts {
    ($($name:ident $part:literal),*) => {
        $(#[tokio::test]
        async fn $name() {
            check_seeds_of_part($part).await;
        })*
    };
}

parts!(
    seeds_of_part_0_keep_all_invariants 0,
    seeds_of_part_1_keep_all_invariants 1,
    seeds_of_part_2_keep_all_invariants 2,
    seeds_of_part_3_keep_all_invariants 3,
    seeds_of_part_4_keep_all_invariants 4,
    seeds_of_part_5_keep_all_invariants 5,
    seeds_of_part_6_keep_all_invariants 6,
    seeds_of_part_7_keep_all_invariants 7
);

/// Checks that a defect is detected by one of these invariants.
async fn assert_defect_is_detected(broken: Defect, invariants: &[&str]) {
    for seed in 0..SEED_COUNT {
        let Some(violation) = play_seed(seed, broken).await.violation else {
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
    panic!("{broken:?} is found by none of {SEED_COUNT} seeds");
}

macro_rules! is_found {
    ($($name:ident: $broken:ident as $($invariant:literal)|+,)*) => {
        $(#[tokio::test]
        async fn $name() {
            assert_defect_is_detected(Defect::$broken, &[$($invariant),+]).await;
        })*
    };
}

is_found! {
    two_runs_per_seat_are_detected: TwoRunsPerSeat as "I2",
    continuing_stalled_attempt_is_detected: StalledRunContinues as "I3" | "I4",
    missing_worker_fence_is_detected: NoFence as "I4",
    lost_missed_row_is_detected: LosesMissedRows as "I1",
    lost_skipped_row_is_detected: LosesSkippedRows as "I1",
    double_fire_is_detected: FiresTwice as "I1",
    early_fire_is_detected: FiresEarly as "I1",
    missing_promotion_is_detected: PromotesNothing as "I3",
    log_sequence_gap_is_detected: LogSequenceGaps as "I5",
    missing_end_notice_is_detected: NoEndNotice as "I3",
    refusal_counted_as_success_is_detected: RefusalSucceeds as "I6",
    unlimited_queue_is_detected: QueuesWithoutLimit as "I10",
    automations_before_people_are_detected: AutomationsFirst as "order",
    heartbeat_stale_before_lease_end_is_detected: StaleBeforeLeaseEnds as "I2",
    trusted_clock_leap_is_detected: TrustsLeapingClock as "I2",
    lost_message_is_detected: LosesMessages as "I3",
}

#[tokio::test]
#[ignore = "plays the seed in MATINS_SEED, and prints each step"]
async fn replay_seed_from_environment() {
    let seed = number_from_environment("MATINS_SEED", 0);
    let played = play_seed(seed, Defect::Nothing).await;
    for line in played.trace {
        println!("{line}");
    }
    println!("{} steps: {:?}", played.steps, played.call_counts);
    assert_eq!(played.violation, None, "seed {seed}");
}
