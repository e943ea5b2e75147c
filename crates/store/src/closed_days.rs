//! The usage of tenants on the earlier days of this month, which overviews show again and again.
//!
//! The usage of a day that is over changes only if a turn of the day ends later, an input of the day gets another
//! attempt, a session is deleted, or a transaction of the day commits late. So each process keeps the usage of each day.
//! After some minutes it searches for such changes, and reads the days that they concern again. Budgets are never checked
//! by the kept usage.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    iter,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use model::{
    TenantId, Timestamp,
    budget::{BudgetPeriods, UsageTotals},
};

use crate::reported_turns::{ReportedTurns, SEARCHED_BEFORE};

/// The time after which a process searches for changes again.
const SEARCH_INTERVAL: Duration = Duration::from_mins(10);
/// The number of tenants whose days are kept.
const MAX_TENANTS: usize = 500;
/// The number of currencies of a day that is kept. Agents report few, but may report any text of three letters.
const MAX_CURRENCIES: usize = 16;

/// The length of a day in UTC.
pub(crate) const DAY: Duration = Duration::from_hours(24);

/// The days that this process has read.
#[derive(Debug, Default)]
pub(crate) struct ClosedDays(Mutex<HashMap<TenantId, KeptDays>>);

/// The usage of a tenant on earlier days of a month.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ClosedUsage {
    pub(crate) totals: UsageTotals,
    pub(crate) reported: ReportedTurns,
}

impl ClosedUsage {
    fn add(&mut self, other: &Self) {
        self.totals.tokens += other.totals.tokens;
        self.totals.turns += other.totals.turns;
        self.totals.time += other.totals.time;
        for (currency, cost) in &other.totals.cost {
            *self.totals.cost.entry(currency.clone()).or_default() += cost;
        }
        self.reported = self.reported + other.reported;
    }
}

/// The earlier days of a month, as one tenant's overviews show them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeptDays {
    /// The instant of the last search for changes.
    pub(crate) searched_at: Timestamp,
    /// The number of runs that were created on each of these days, and on some days before them.
    pub(crate) created: BTreeMap<Timestamp, u64>,
    /// The usage of each of these days.
    pub(crate) usage: BTreeMap<Timestamp, ClosedUsage>,
}

impl KeptDays {
    /// Returns the usage of all days together.
    pub(crate) fn sum(&self) -> ClosedUsage {
        let mut sum = ClosedUsage::default();
        for usage in self.usage.values() {
            sum.add(usage);
        }
        sum
    }

    /// Returns `true` if the usage of a day is kept and has not changed. `created` has the present numbers of runs, and
    /// `changed` the days on which turns began that have ended or got another attempt since the last search.
    pub(crate) fn is_current(
        &self,
        day: Timestamp,
        created: &BTreeMap<Timestamp, u64>,
        changed: &BTreeSet<Timestamp>,
    ) -> bool {
        // A deleted run may have begun on any day since its creation.
        let recounted = created
            .range(..=day)
            .any(|(created_on, runs)| self.created.get(created_on) != Some(runs));
        // Transactions of the day may have committed after the search. Turns of the day that end later still are found
        // as late ones.
        let was_settled = self.searched_at >= day + DAY + SEARCHED_BEFORE;
        was_settled && !recounted && !changed.contains(&day) && self.usage.contains_key(&day)
    }
}

/// Returns the beginnings of the days from one day until another one, which is not included.
pub(crate) fn days_between(from: Timestamp, to: Timestamp) -> impl Iterator<Item = Timestamp> {
    iter::successors(Some(from), |day| Some(*day + DAY)).take_while(move |day| *day < to)
}

impl ClosedDays {
    /// Returns the usage of a tenant in the month of `days` before its day. Returns `None` if the caller must search
    /// for changes.
    pub(crate) fn recent(
        &self,
        tenant: TenantId,
        days: BudgetPeriods,
        now: Timestamp,
    ) -> Option<ClosedUsage> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.get(&tenant)?;
        let is_recent = found.searched_at >= days.day
            && found.searched_at <= now
            && now.since(found.searched_at) < SEARCH_INTERVAL;
        is_recent.then(|| found.sum())
    }

    /// Returns the days of a tenant that are kept. Returns `None` if they are of a later instant than `now`: the clock
    /// was set back, so that turns may begin on these days again.
    pub(crate) fn get(&self, tenant: TenantId, now: Timestamp) -> Option<KeptDays> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.get(&tenant)?;
        (found.searched_at <= now).then(|| found.clone())
    }

    /// Keeps the days that the caller has read. If too many tenants are kept, the one that was not read for the longest
    /// time makes room.
    pub(crate) fn put(&self, tenant: TenantId, days: KeptDays) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut currencies = days.usage.values().map(|usage| usage.totals.cost.len());
        if currencies.any(|currencies| currencies > MAX_CURRENCIES) {
            kept.remove(&tenant);
            return;
        }
        if kept.len() >= MAX_TENANTS && !kept.contains_key(&tenant) {
            let oldest = kept.iter().min_by_key(|(_, days)| days.searched_at);
            if let Some(oldest) = oldest.map(|(tenant, _)| *tenant) {
                kept.remove(&oldest);
            }
        }
        kept.insert(tenant, days);
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn tenant(number: u128) -> TenantId {
        TenantId::from_uuid(Uuid::from_u128(number))
    }

    /// Returns the days before `searched_at` in November 2026, with a turn on each, and ten runs created on each.
    fn kept(searched_at: &str) -> KeptDays {
        let searched_at = at(searched_at);
        let days = BudgetPeriods::of(searched_at);
        let usage = ClosedUsage {
            totals: UsageTotals {
                cost: BTreeMap::from([("USD".into(), 5)]),
                ..UsageTotals::default()
            },
            reported: ReportedTurns {
                turns: 1,
                ..ReportedTurns::default()
            },
        };
        KeptDays {
            searched_at,
            created: days_between(days.month, days.day)
                .map(|day| (day, 10))
                .collect(),
            usage: days_between(days.month, days.day)
                .map(|day| (day, usage.clone()))
                .collect(),
        }
    }

    #[test]
    fn days_are_recent_for_ten_minutes_of_one_day() {
        let (closed, tenant) = (ClosedDays::default(), tenant(1));
        let now = at("2026-11-26T23:55:00Z");
        let days = BudgetPeriods::of(now);
        assert_eq!(closed.recent(tenant, days, now), None);
        closed.put(tenant, kept("2026-11-26T23:55:00Z"));
        let sum = closed
            .recent(tenant, days, now + Duration::from_mins(4))
            .unwrap();
        assert_eq!(sum.reported.turns, 25);
        assert_eq!(sum.totals.cost["USD"], 125);
        let tomorrow = now + Duration::from_mins(6);
        let next = BudgetPeriods::of(tomorrow);
        assert_eq!(closed.recent(tenant, next, tomorrow), None);
        assert!(closed.get(tenant, tomorrow).is_some());
        assert_eq!(closed.recent(tenant, days, now + SEARCH_INTERVAL), None);
        let set_back = now.saturating_sub(Duration::from_mins(1));
        assert_eq!(closed.recent(tenant, days, set_back), None);
        assert_eq!(closed.get(tenant, set_back), None);
    }

    #[test]
    fn day_is_read_again_only_if_it_may_have_changed() {
        let days = kept("2026-11-26T09:00:00Z");
        let [first, third, fifth, last, today] =
            ["01", "03", "05", "25", "26"].map(|day| at(&format!("2026-11-{day}T00:00:00Z")));
        let none = BTreeSet::new();
        assert!(days.is_current(first, &days.created, &none));
        assert!(days.is_current(last, &days.created, &none));
        assert!(!days.is_current(today, &days.created, &none), "not kept");
        let changed = BTreeSet::from([third]);
        assert!(!days.is_current(third, &days.created, &changed));
        assert!(days.is_current(fifth, &days.created, &changed));
        // A deleted run may have begun days after its creation, and never before it.
        let mut created = days.created.clone();
        created.insert(third, 9);
        assert!(days.is_current(first, &created, &none));
        assert!(!days.is_current(third, &created, &none));
        assert!(!days.is_current(last, &created, &none));
        let early = kept("2026-11-26T01:59:00Z");
        assert!(!early.is_current(last, &early.created, &none));
        assert!(early.is_current(fifth, &early.created, &none));
        let december = BTreeMap::from([(last, 10), (today, 10)]);
        let began = at("2026-12-01T00:00:00Z");
        assert!(!days.is_current(began, &december, &none));
    }

    #[test]
    fn kept_tenants_and_currencies_are_bounded() {
        let closed = ClosedDays::default();
        let (early, late) = ("2026-11-26T09:00:00Z", "2026-11-26T10:00:00Z");
        closed.put(tenant(0), kept(late));
        for number in 1..=MAX_TENANTS as u128 {
            closed.put(tenant(number), kept(if number == 7 { early } else { late }));
        }
        assert_eq!(closed.0.lock().unwrap().len(), MAX_TENANTS);
        assert_eq!(closed.get(tenant(7), at(late)), None, "the oldest one");
        assert!(closed.get(tenant(0), at(late)).is_some());
        let mut many = kept(late);
        let usage = many.usage.values_mut().next().unwrap();
        usage.totals.cost = (0..=MAX_CURRENCIES)
            .map(|number| (number.to_string(), 1))
            .collect();
        closed.put(tenant(0), many);
        assert_eq!(closed.get(tenant(0), at(late)), None);
    }
}
