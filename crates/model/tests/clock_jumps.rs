//! Tests of triggers under clocks that jump, stand still and drift: a scheduler that only plans, on a clock that only
//! the test moves.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::time::Duration;

use model::{
    Timestamp, TriggerId,
    limits::{FIRE_GRACE, OCCURRENCES_PER_FIRE, SLEEP_SLICE},
    occurrence::{self, ScheduledFire},
    policy::{CatchUp, Policies},
    schedule::{Schedule, Spec},
};
use proptest::{collection::vec, prelude::*, sample::select};
use uuid::Uuid;

const HOUR: Duration = Duration::from_hours(1);
const FIFTY_YEARS: Duration = Duration::from_hours(50 * 365 * 24 + 12 * 24);
const TIMESTAMP_RESOLUTION: Duration = Duration::from_micros(1);

/// An event of the machine.
#[derive(Debug, Clone, Copy)]
enum Event {
    /// The scheduler runs for this time, on a clock that gains this many microseconds per second.
    Run(Duration, i64),
    /// The machine sleeps: time goes on, and the scheduler does not poll.
    Sleep(Duration),
    /// The clock is set forward.
    Forward(Duration),
    /// The clock is set back.
    Back(Duration),
}

/// A run, and the instant of its creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FiredRun {
    scheduled_for: Timestamp,
    at: Timestamp,
}

/// One trigger, its scheduler and their clock.
struct Machine {
    trigger: TriggerId,
    schedule: Schedule,
    policies: Policies,
    clock: Timestamp,
    next: Option<ScheduledFire>,
    fired: Vec<FiredRun>,
    missed: u64,
}

impl Machine {
    fn new(spec: &Spec, policies: Policies, clock: Timestamp) -> Self {
        let schedule = Schedule::parse(spec).unwrap();
        let trigger = TriggerId::from_uuid(Uuid::from_u128(7));
        Self {
            next: occurrence::next_due(trigger, &schedule, &policies, clock),
            trigger,
            schedule,
            policies,
            clock,
            fired: Vec::new(),
            missed: 0,
        }
    }

    fn apply(&mut self, event: Event) {
        match event {
            Event::Run(time, gained) => self.run(time, gained),
            Event::Sleep(time) | Event::Forward(time) => self.clock = self.clock + time,
            Event::Back(time) => self.clock = self.clock.saturating_sub(time),
        }
    }

    /// Polls, and sleeps until the next instant or for a slice, as each loop of the server does.
    fn run(&mut self, time: Duration, gained: i64) {
        let mut left = time;
        loop {
            self.poll();
            if left.is_zero() {
                break;
            }
            let due = self
                .next
                .map_or(Duration::MAX, |due| due.fire_at.since(self.clock));
            let slept = due.clamp(TIMESTAMP_RESOLUTION, SLEEP_SLICE).min(left);
            left -= slept;
            let micros = i64::try_from(slept.as_micros()).unwrap();
            let shown = micros + micros * gained / 1_000_000;
            self.clock = self.clock + Duration::from_micros(u64::try_from(shown).unwrap().max(1));
        }
    }

    /// Polls once, and checks that each due instant is handled exactly once and not early.
    fn poll(&mut self) {
        let now = self.clock;
        let Some(first) = self.next else { return };
        if first.fire_at > now {
            let (trigger, policies) = (self.trigger, &self.policies);
            let plan = occurrence::plan(trigger, &self.schedule, policies, first, now);
            assert_eq!(
                (plan.occurrences, plan.missed),
                (vec![], None),
                "early at {now}"
            );
            assert_eq!(plan.next, Some(first), "moved at {now} without being due");
            return;
        }
        let (mut runs, mut missed, mut plans) = (Vec::new(), 0, 0);
        let mut expected = Some(first.scheduled_for);
        while let Some(cursor) = self.next.filter(|due| due.fire_at <= now) {
            let (trigger, policies) = (self.trigger, &self.policies);
            let plan = occurrence::plan(trigger, &self.schedule, policies, cursor, now);
            if let Some(range) = plan.missed {
                assert_eq!(Some(range.first), expected, "missed out of order");
                let before = range.first.saturating_sub(TIMESTAMP_RESOLUTION);
                assert_eq!(range.count, self.schedule.count(before, range.last));
                expected = self.schedule.next_after(range.last);
                missed += range.count;
            }
            assert!(plan.occurrences.len() <= OCCURRENCES_PER_FIRE);
            for at in plan.occurrences {
                assert_eq!(
                    Some(at),
                    expected,
                    "an instant is repeated, out of order or left out"
                );
                assert!(self.fire_at(at) <= now, "{at} fires early, at {now}");
                expected = self.schedule.next_after(at);
                runs.push(at);
            }
            assert_eq!(
                plan.next.map(|due| due.scheduled_for),
                expected,
                "an instant is left out"
            );
            self.next = plan.next;
            plans += 1;
            assert!(
                plans <= runs.len() / OCCURRENCES_PER_FIRE + 1,
                "too many plans for the runs"
            );
        }
        assert_eq!(
            runs,
            self.expected_runs(first.scheduled_for, now),
            "after {first:?} at {now}"
        );
        let latest = self.latest(first.scheduled_for, now);
        let before = first.scheduled_for.saturating_sub(TIMESTAMP_RESOLUTION);
        let due = self.schedule.count(before, latest);
        assert_eq!(u64::try_from(runs.len()).unwrap() + missed, due);
        self.missed += missed;
        self.fired
            .extend(runs.into_iter().map(|scheduled_for| FiredRun {
                scheduled_for,
                at: now,
            }));
    }

    fn fire_at(&self, at: Timestamp) -> Timestamp {
        let before = at.saturating_sub(TIMESTAMP_RESOLUTION);
        let due = occurrence::next_due(self.trigger, &self.schedule, &self.policies, before);
        due.unwrap().fire_at
    }

    /// Returns the last instant, from `first` on, that has fired by `now`.
    fn latest(&self, first: Timestamp, now: Timestamp) -> Timestamp {
        // Jitter stays within an hour here, and a weekend within four days.
        let latest = |hours: u32| {
            let near = now.saturating_sub(hours * HOUR);
            let from = near.max(first.saturating_sub(TIMESTAMP_RESOLUTION));
            let instants = self.schedule.fires_after(from).take_while(|at| *at <= now);
            instants.filter(|at| self.fire_at(*at) <= now).last()
        };
        latest(2).or_else(|| latest(4 * 24)).unwrap_or(first)
    }

    /// Returns the instants from `first` on that must run according to SPEC section 4.
    fn expected_runs(&self, first: Timestamp, now: Timestamp) -> Vec<Timestamp> {
        let latest = self.latest(first, now);
        let late = now.since(self.fire_at(latest));
        let window = Duration::from_secs(self.policies.catch_up_window_seconds);
        let catch_up_limit = match self.policies.catch_up {
            CatchUp::None => Duration::ZERO,
            CatchUp::Latest | CatchUp::All => window,
        };
        if late > catch_up_limit.max(FIRE_GRACE) {
            return Vec::new();
        }
        if self.policies.catch_up != CatchUp::All || late > window {
            return vec![latest];
        }
        let oldest = now.saturating_sub(window).clamp(first, latest);
        let from = oldest.saturating_sub(TIMESTAMP_RESOLUTION);
        let due = self.schedule.fires_after(from);
        due.take_while(|at| *at <= latest).collect()
    }

    fn scheduled(&self) -> Vec<String> {
        let fired = self.fired.iter();
        fired.map(|fired| fired.scheduled_for.to_string()).collect()
    }
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn cron(expression: &str, zone: &str) -> Spec {
    Spec::Cron {
        expression: expression.into(),
        zone: zone.into(),
    }
}

fn with(catch_up: CatchUp) -> Policies {
    Policies {
        catch_up,
        ..Policies::default()
    }
}

/// Returns a machine at a quarter past nine. Its automation fires each hour, and has fired at nine.
fn machine_at_quarter_past_nine(catch_up: CatchUp) -> Machine {
    let start = at("2026-11-21T08:59:00Z");
    let mut machine = Machine::new(&cron("0 * * * *", "UTC"), with(catch_up), start);
    machine.apply(Event::Run(Duration::from_mins(16), 0));
    assert_eq!(machine.scheduled(), ["2026-11-21T09:00:00Z"]);
    machine.fired.clear();
    machine
}

#[test]
fn first_poll_after_sleep_catches_up_by_policy() {
    for (catch_up, runs, missed) in [
        (CatchUp::None, 0, 8),
        (CatchUp::Latest, 1, 7),
        (CatchUp::All, 8, 0),
    ] {
        let mut machine = machine_at_quarter_past_nine(catch_up);
        machine.apply(Event::Sleep(8 * HOUR));
        let woken = machine.clock;
        machine.apply(Event::Run(SLEEP_SLICE, 0));
        assert_eq!(
            (machine.fired.len(), machine.missed),
            (runs, missed),
            "{catch_up}"
        );
        let at_once = |fired: &FiredRun| fired.at.since(woken) <= Duration::from_secs(1);
        assert!(machine.fired.iter().all(at_once), "{catch_up}");
        if let Some(last) = machine.scheduled().last() {
            assert_eq!(last, "2026-11-21T17:00:00Z");
        }
        // The schedule continues as usual.
        machine.apply(Event::Run(HOUR, 0));
        assert_eq!(machine.scheduled().last().unwrap(), "2026-11-21T18:00:00Z");
    }
}

#[test]
fn clock_set_forward_catches_up_like_sleep() {
    for (step, catch_up, runs, missed) in [
        (HOUR, CatchUp::None, 0, 1),
        (HOUR, CatchUp::Latest, 1, 0),
        (HOUR, CatchUp::All, 1, 0),
        (FIFTY_YEARS, CatchUp::None, 0, 438_288),
        (FIFTY_YEARS, CatchUp::Latest, 1, 438_287),
        (FIFTY_YEARS, CatchUp::All, 24, 438_264),
    ] {
        let mut machine = machine_at_quarter_past_nine(catch_up);
        machine.apply(Event::Forward(step));
        machine.apply(Event::Run(SLEEP_SLICE, 0));
        assert_eq!(
            (machine.fired.len(), machine.missed),
            (runs, missed),
            "{step:?} {catch_up}"
        );
    }
}

#[test]
fn clock_set_back_fires_nothing_again() {
    for catch_up in CatchUp::ALL {
        let mut machine = machine_at_quarter_past_nine(*catch_up);
        machine.apply(Event::Back(HOUR));
        // From 8:15 to 9:59 for the second time: the instant at nine has fired already.
        machine.apply(Event::Run(Duration::from_mins(104), 0));
        assert_eq!(
            (machine.scheduled(), machine.missed),
            (vec![], 0),
            "{catch_up}"
        );
        machine.apply(Event::Run(Duration::from_mins(2), 0));
        assert_eq!(machine.scheduled(), ["2026-11-21T10:00:00Z"], "{catch_up}");
    }
    let mut machine = machine_at_quarter_past_nine(CatchUp::All);
    machine.apply(Event::Back(FIFTY_YEARS));
    machine.apply(Event::Run(3 * HOUR, 0));
    assert_eq!((machine.scheduled(), machine.missed), (vec![], 0));
    // The clock is corrected three hours later.
    machine.apply(Event::Forward(FIFTY_YEARS));
    machine.apply(Event::Run(SLEEP_SLICE, 0));
    let hours = ["10", "11", "12"].map(|hour| format!("2026-11-21T{hour}:00:00Z"));
    assert_eq!(machine.scheduled(), hours);
}

#[test]
fn drifting_clock_fires_on_time() {
    for gained in [-500, -50, 50, 500] {
        let start = at("2026-11-20T23:30:00Z");
        let mut machine = Machine::new(&cron("0 * * * *", "UTC"), with(CatchUp::None), start);
        machine.apply(Event::Run(7 * 24 * HOUR, gained));
        // A drift of five minutes in a week neither adds nor removes an hour.
        assert_eq!(
            (machine.fired.len(), machine.missed),
            (7 * 24, 0),
            "{gained}"
        );
        for fired in &machine.fired {
            assert!(
                fired.at.since(fired.scheduled_for) <= SLEEP_SLICE,
                "{fired:?}"
            );
        }
    }
}

#[test]
fn clock_change_during_sleep_fires_each_day_once() {
    let start = at("2027-03-12T12:00:00Z");
    let daily = cron("30 2 * * *", "America/New_York");
    let mut machine = Machine::new(&daily, with(CatchUp::All), start);
    machine.policies.catch_up_window_seconds = 7 * 86_400;
    machine.apply(Event::Sleep(4 * 24 * HOUR));
    machine.apply(Event::Run(SLEEP_SLICE, 0));
    let fires = ["13T07:30", "14T07:00", "15T06:30", "16T06:30"];
    assert_eq!(
        machine.scheduled(),
        fires.map(|fire| format!("2027-03-{fire}:00Z"))
    );
}

#[test]
fn backlog_of_seconds_is_caught_up_in_pieces() {
    let start = at("2026-11-21T00:00:00Z");
    let mut machine = Machine::new(&cron("* * * * * *", "UTC"), with(CatchUp::All), start);
    machine.policies.catch_up_window_seconds = 3600;
    machine.apply(Event::Sleep(24 * HOUR));
    machine.apply(Event::Run(Duration::ZERO, 0));
    assert_eq!((machine.fired.len(), machine.missed), (3601, 86_400 - 3601));
}

fn event() -> impl Strategy<Value = Event> {
    let seconds = |max: u64| (0..max * 1000).prop_map(Duration::from_millis);
    prop_oneof![
        4 => (seconds(7200), -500..500_i64).prop_map(|(time, gained)| Event::Run(time, gained)),
        2 => seconds(90_000).prop_map(Event::Sleep),
        1 => Just(Event::Sleep(8 * HOUR)),
        1 => seconds(4000).prop_map(Event::Forward),
        1 => select(vec![HOUR, FIFTY_YEARS]).prop_map(Event::Forward),
        1 => seconds(4000).prop_map(Event::Back),
        1 => select(vec![HOUR, FIFTY_YEARS]).prop_map(Event::Back),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn clock_jumps_handle_each_instant_once_and_never_early(
        events in vec(event(), 1..10),
        spec in select(vec![
            cron("* * * * *", "UTC"),
            cron("*/7 * * * *", "America/New_York"),
            cron("0,30 1,2 * * *", "America/New_York"),
            cron("0 9 * * 1-5", "Europe/Prague"),
            Spec::Every {
                period: "90s".parse().unwrap(),
                anchor: at("2026-10-31T00:00:30.5Z"),
                zone: "UTC".into(),
            },
            Spec::At { at: at("2026-11-01T07:00:00Z"), zone: "UTC".into() },
        ]),
        catch_up in select(CatchUp::ALL),
        window in select(vec![0, 30, 600, 7200, 30_000]),
        jitter in select(vec![0, 0, 45, 3600]),
        // Near the end of summer time in New York.
        start in 0..172_800_u64,
    ) {
        let policies = Policies {
            catch_up_window_seconds: window,
            jitter_seconds: jitter,
            ..with(catch_up)
        };
        let start = at("2026-10-31T00:00:00Z") + Duration::from_secs(start);
        let mut machine = Machine::new(&spec, policies, start);
        for event in events {
            machine.apply(event);
        }
        machine.poll();
        prop_assert!(machine.fired.is_sorted_by(|one, next| one.scheduled_for < next.scheduled_for));
        prop_assert!(machine.fired.iter().all(|fired| fired.scheduled_for > start));
    }
}
