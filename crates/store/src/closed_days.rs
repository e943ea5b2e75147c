//! The usage of tenants on the earlier days of this month, which overviews show again and again.
//!
//! The sums change no more, except that a turn may end after midnight. So they are read again after a few minutes. Budgets
//! are never checked by them.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use model::{
    TenantId, Timestamp,
    budget::{BudgetPeriods, UsageTotals},
};

use crate::reported_turns::ReportedTurns;

/// The time after which the sums are read again.
const LIFETIME: Duration = Duration::from_mins(10);
/// The number of tenants whose sums are kept.
const MAX_TENANTS: usize = 1000;

/// The sums that this process has read.
#[derive(Debug, Default)]
pub(crate) struct ClosedDays(Mutex<HashMap<TenantId, Sums>>);

#[derive(Debug)]
struct Sums {
    /// The first day that is not in the sums.
    until: Timestamp,
    read_at: Timestamp,
    usage: ClosedUsage,
}

/// The usage of a tenant on the earlier days of a month.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ClosedUsage {
    pub(crate) totals: UsageTotals,
    pub(crate) reported: ReportedTurns,
}

impl ClosedDays {
    /// Returns the usage of a tenant in the month of `days` before its day. Returns `None` if the caller must read it.
    pub(crate) fn get(
        &self,
        tenant: TenantId,
        days: BudgetPeriods,
        now: Timestamp,
    ) -> Option<ClosedUsage> {
        let sums = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = sums.get(&tenant)?;
        // A clock that was set back makes an age of zero.
        let is_fresh = found.read_at <= now && now.since(found.read_at) < LIFETIME;
        (found.until == days.day && is_fresh).then(|| found.usage.clone())
    }

    /// Keeps the usage that the caller has read.
    pub(crate) fn put(
        &self,
        tenant: TenantId,
        days: BudgetPeriods,
        now: Timestamp,
        usage: ClosedUsage,
    ) {
        let mut sums = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if sums.len() >= MAX_TENANTS && !sums.contains_key(&tenant) {
            sums.clear();
        }
        let read = Sums {
            until: days.day,
            read_at: now,
            usage,
        };
        sums.insert(tenant, read);
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn sums_of_closed_days_are_kept_for_a_while_and_a_day() {
        let (closed, tenant) = (ClosedDays::default(), TenantId::from_uuid(Uuid::nil()));
        let now: Timestamp = "2026-11-26T23:55:00Z".parse().unwrap();
        let days = BudgetPeriods::of(now);
        assert_eq!(closed.get(tenant, days, now), None);
        let usage = ClosedUsage {
            reported: ReportedTurns {
                turns: 7,
                ..ReportedTurns::default()
            },
            ..ClosedUsage::default()
        };
        closed.put(tenant, days, now, usage.clone());
        let later = now + Duration::from_mins(4);
        assert_eq!(closed.get(tenant, days, later), Some(usage));
        let tomorrow = now + Duration::from_mins(6);
        assert_eq!(
            closed.get(tenant, BudgetPeriods::of(tomorrow), tomorrow),
            None
        );
        assert_eq!(closed.get(tenant, days, now + LIFETIME), None);
        let set_back = now.saturating_sub(Duration::from_mins(1));
        assert_eq!(closed.get(tenant, days, set_back), None);
    }
}
