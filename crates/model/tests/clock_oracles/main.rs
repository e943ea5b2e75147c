//! Compares fires with those of other implementations (oracles) for the same expressions, zones and instants.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]
#![expect(
    clippy::print_stdout,
    reason = "the runner shows the output of failed tests"
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

/// The minimum number of random expressions that the brute-force search and croniter answer, unless `MATINS_ORACLE_CASES`
/// has another number. The minimum for systemd, which supports fewer expressions, is half of it.
const CASES: usize = 20_000;

/// The seed of every ordinary run.
const SEED: u64 = 20_261_121;

/// Returns the seed of this run, and prints it so that a failure can be reproduced.
#[expect(
    clippy::disallowed_methods,
    reason = "the environment may set another seed"
)]
fn seed() -> u64 {
    let given = std::env::var("MATINS_ORACLE_SEED");
    let seed = given.map_or(SEED, |seed| seed.parse().unwrap());
    println!("MATINS_ORACLE_SEED={seed}");
    seed
}

/// Returns the number of cases of this run.
#[expect(
    clippy::disallowed_methods,
    reason = "scripts choose the number of cases"
)]
fn case_count() -> usize {
    let given = std::env::var("MATINS_ORACLE_CASES");
    given.map_or(CASES, |count| count.parse().unwrap())
}

/// Returns the first fires of Matins, or none if Matins refuses the expression because it never fires.
fn matins_fires(case: &Case) -> Vec<i64> {
    let spec = Spec::Cron {
        expression: case.expression.clone(),
        zone: case.zone.clone(),
    };
    let schedule = match Schedule::parse(&spec) {
        Ok(schedule) => schedule,
        Err(Error::NeverFires { .. }) => return Vec::new(),
        Err(error) => panic!("{error}"),
    };
    let after = Timestamp::from_microsecond(case.after * 1_000_000 + case.micros).unwrap();
    let fires = schedule.upcoming(after, FIRES).into_iter();
    fires.map(|at| at.as_microsecond() / 1_000_000).collect()
}

/// A cache of the clocks of zones.
#[derive(Default)]
struct ClockCache(RefCell<HashMap<String, Rc<Clocks>>>);

impl ClockCache {
    fn of(&self, zone: &str) -> Rc<Clocks> {
        let mut cache = self.0.borrow_mut();
        let clocks = cache.entry(zone.to_owned());
        Rc::clone(clocks.or_insert_with(|| Rc::new(Clocks::of(zone))))
    }
}

#[test]
fn cron_fires_match_brute_force_search() {
    let all_clocks = ClockCache::default();
    for case in cases::random(seed(), case_count(), 1) {
        let reading = Interpretation::of(&case.expression);
        let clocks = all_clocks.of(&case.zone);
        let found = brute_force::fires(&reading, &clocks, case.after, FIRES);
        assert_eq!(matins_fires(&case), found, "{case:?}");
    }
}

#[test]
fn croniter_differs_only_as_documented() {
    let least = case_count();
    let cases = cases::random(seed(), least + least * 2 / 5, 1);
    compare(
        "croniter",
        &rules::CRONITER,
        dialects::croniter,
        cases,
        least,
    );
}

#[test]
fn systemd_differs_only_as_documented() {
    let least = case_count() / 2;
    // One call of systemd answers many expressions after the same instant.
    let cases = cases::random(seed(), least * 2, 20);
    compare("systemd", &rules::SYSTEMD, dialects::systemd, cases, least);
}

/// Compares `oracle` for the examples of the page and for those of `cases` that the oracle supports, at least `least`.
/// The oracle may differ only by `rules`, and each rule must be used.
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
        "only {} questions",
        questions.len()
    );
    let answers = oracle::query(oracle, &questions);

    let mut used = vec![0; rules.len()];
    let mut unexplained = Vec::new();
    let mut examples = examples.into_iter();
    for ((text, case), answer) in questions.iter().zip(&answers) {
        let expected = matins_fires(case);
        let differs = answer.as_ref() != Ok(&expected);
        let clocks = all_clocks.of(&case.zone);
        let explained = rules::explain(rules, case, &clocks, answer).filter(|_| differs);
        if let Some(example) = examples.next() {
            let names = explained.iter().flatten().map(|index| rules[*index].name);
            example.assert_matches(names, &expected, answer);
        }
        match explained {
            Some(indexes) => indexes.iter().for_each(|index| used[*index] += 1),
            None if differs => {
                unexplained.push(format!("{case:?} as {text:?}: {expected:?}, {answer:?}"));
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
