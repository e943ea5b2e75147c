//! Fires compared with what others say of the same expressions, zones and instants.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]
#![expect(
    clippy::print_stdout,
    reason = "the runner shows it where a test fails"
)]

mod brute_force;
mod cases;
mod clocks;
mod dialects;
mod meaning;
mod oracle;
mod page;
mod random;
mod rules;

use std::{cell::RefCell, collections::HashMap, rc::Rc};

use model::{
    Timestamp,
    schedule::{Error, Schedule, Spec},
};

use self::{
    brute_force::Interpretation,
    cases::Case,
    clocks::Clocks,
    rules::{FIRES, Rule},
};

/// How many random expressions the search through the calendar and croniter answer, at the least.
const CASES: usize = 20_000;
/// As many for systemd, which knows fewer expressions.
const SYSTEMD_CASES: usize = 10_000;

/// The seed of every ordinary run.
const SEED: u64 = 20_261_121;

/// The seed of this run, printed so that it can be had again.
#[expect(
    clippy::disallowed_methods,
    reason = "a test is given another seed by its environment"
)]
fn seed() -> u64 {
    let given = std::env::var("MATINS_ORACLE_SEED");
    let seed = given.map_or(SEED, |seed| seed.parse().unwrap());
    println!("MATINS_ORACLE_SEED={seed}");
    seed
}

/// What Matins says: the first fires, or none for what it refuses because there are none.
fn matins_fires(case: &Case) -> Vec<i64> {
    let spec = Spec::Cron {
        expression: case.expression.clone(),
        zone: case.zone.clone(),
    };
    let schedule = match Schedule::parse(&spec) {
        Ok(schedule) => schedule,
        Err(Error::NeverFires { .. }) => return Vec::new(),
        Err(error) => panic!("failed to {error}"),
    };
    let after = Timestamp::from_microsecond(case.after * 1_000_000 + case.micros).unwrap();
    let fires = schedule.upcoming(after, FIRES).into_iter();
    fires.map(|at| at.as_microsecond() / 1_000_000).collect()
}

/// The clocks of the zones asked for so far.
#[derive(Default)]
struct ClockCache(RefCell<HashMap<String, Rc<Clocks>>>);

impl ClockCache {
    fn of(&self, zone: &str) -> Rc<Clocks> {
        let mut known = self.0.borrow_mut();
        let clocks = known.entry(zone.to_owned());
        Rc::clone(clocks.or_insert_with(|| Rc::new(Clocks::of(zone))))
    }
}

#[test]
fn cron_fires_match_brute_force_search() {
    let all_clocks = ClockCache::default();
    for case in cases::random(seed(), CASES, 1) {
        let reading = Interpretation::of(&case.expression);
        let clocks = all_clocks.of(&case.zone);
        let found = brute_force::fires(&reading, &clocks, case.after, FIRES);
        assert_eq!(matins_fires(&case), found, "{case:?}");
    }
}

#[test]
fn croniter_differs_only_as_documented() {
    let cases = cases::random(seed(), CASES + CASES * 2 / 5, 1);
    compare(
        "croniter",
        &rules::CRONITER,
        dialects::croniter,
        cases,
        CASES,
    );
}

#[test]
fn systemd_differs_only_as_documented() {
    // One call answers many expressions after the same instant.
    let cases = cases::random(seed(), SYSTEMD_CASES * 2, 20);
    compare(
        "systemd",
        &rules::SYSTEMD,
        dialects::systemd,
        cases,
        SYSTEMD_CASES,
    );
}

/// Asks `oracle` about the examples of the page and about those of `cases` that it knows, `least`
/// or more, and lets it differ only by `rules`, each of which must be used.
fn compare(
    oracle: &str,
    rules: &[Rule],
    dialect: impl Fn(&Case, &Clocks) -> Option<String>,
    cases: Vec<Case>,
    least: usize,
) {
    let all_clocks = ClockCache::default();
    let examples = page::examples(oracle);
    let cases = examples
        .iter()
        .map(|example| example.case.clone())
        .chain(cases);
    let questions: Vec<(String, Case)> = cases
        .filter_map(|case| Some((dialect(&case, &all_clocks.of(&case.zone))?, case)))
        .collect();
    assert!(
        questions.len() >= least + examples.len(),
        "{} asked",
        questions.len()
    );
    let answers = oracle::query(oracle, &questions);

    let mut used = vec![0; rules.len()];
    let mut unexplained = Vec::new();
    let mut examples = examples.into_iter();
    for ((text, case), answer) in questions.iter().zip(&answers) {
        let own = matins_fires(case);
        let differs = answer.as_ref() != Ok(&own);
        let clocks = all_clocks.of(&case.zone);
        let explained = rules::explain(rules, case, &clocks, answer).filter(|_| differs);
        if let Some(example) = examples.next() {
            let names = explained.iter().flatten().map(|place| rules[*place].name);
            example.assert_matches(names, &own, answer);
        }
        match explained {
            Some(places) => places.iter().for_each(|place| used[*place] += 1),
            None if differs => {
                unexplained.push(format!("{case:?} as {text:?}: {own:?}, {answer:?}"));
            }
            None => {}
        }
    }
    println!("{oracle} answered {} questions and differs:", answers.len());
    for (rule, used) in rules.iter().zip(&used) {
        println!("{used:6} {}", rule.name);
    }
    assert!(
        unexplained.is_empty(),
        "no rule explains\n{}",
        unexplained.join("\n")
    );
    assert!(!used.contains(&0), "a rule is never used");
}
