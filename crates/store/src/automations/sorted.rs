//! Lists of automations in an order that people choose, and their numbers.
//!
//! One statement reads the keys of all automations of a tenant, which are few bytes each, and the order is computed
//! here: so both databases sort alike, and each page reads the documents of its own automations only.

use std::fmt;

use model::{AutomationId, RunId, TenantId, Timestamp, automation::AutomationState};

use super::{
    PAUSED_BY_PERSON,
    list_items::{AutomationItems, items_by_id},
    read::AutomationFilter,
};
use crate::{
    Error, Scope, boxed,
    database::{Row, Tx},
    store::Store,
    text_search::SearchPatterns,
};

/// An order of a list of automations. Within equal ones, the name decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AutomationSort {
    /// By name, without regard to the case of letters.
    Name,
    /// The earliest next run first, then the automations without one.
    Next,
    /// The latest run first, then the automations without one.
    Last,
    /// The latest change first.
    Changed,
    /// The most failures since the last success first.
    Failures,
}

impl AutomationSort {
    /// Returns the letter of the order in a cursor.
    const fn letter(self) -> char {
        match self {
            Self::Name => 'a',
            Self::Next => 'n',
            Self::Last => 'l',
            Self::Changed => 'c',
            Self::Failures => 'f',
        }
    }
}

/// The position of an automation in a sorted list, from which the next page goes on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AutomationRank {
    sort: AutomationSort,
    number: i128,
    name: String,
    id: AutomationId,
}

impl fmt::Display for AutomationRank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            sort,
            number,
            name,
            id,
        } = self;
        write!(f, "{}:{number}:{id}:{name}", sort.letter())
    }
}

/// The error for a text that is not a position in a list of automations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected a letter, a number, the ID of an automation and a name, with colons between them"
)]
pub struct InvalidRank;

impl AutomationRank {
    /// Reads a position in a list of an order.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidRank`] if the text has another form, or is a position in a list of another order.
    pub fn parse(text: &str, sort: AutomationSort) -> Result<Self, InvalidRank> {
        let mut parts = text.splitn(4, ':');
        let mut part = || parts.next().ok_or(InvalidRank);
        if part()? != sort.letter().to_string() {
            return Err(InvalidRank);
        }
        Ok(Self {
            sort,
            number: part()?.parse().map_err(|_| InvalidRank)?,
            id: part()?.parse().map_err(|_| InvalidRank)?,
            name: part()?.to_owned(),
        })
    }
}

/// A page of a sorted list.
#[derive(Debug, Default)]
pub struct SortedAutomations {
    /// The automations of the page.
    pub items: AutomationItems,
    /// The position of the last automation. `None` if no other page follows.
    pub next: Option<AutomationRank>,
    /// The numbers of automations of the filter, whatever their state.
    pub numbers: AutomationNumbers,
}

/// The numbers of automations that are not deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AutomationNumbers {
    /// All of them.
    pub all: usize,
    /// The enabled ones.
    pub enabled: usize,
    /// The paused ones.
    pub paused: usize,
    /// Those that need a person.
    pub attention: usize,
}

impl AutomationNumbers {
    fn of(all: &[Keys]) -> Self {
        let count = |accepts: fn(&Keys) -> bool| all.iter().filter(|keys| accepts(keys)).count();
        Self {
            all: all.len(),
            enabled: count(|keys| keys.state == AutomationState::Enabled),
            paused: count(|keys| keys.state == AutomationState::Paused),
            attention: count(|keys| keys.needs_person),
        }
    }
}

/// The keys of one automation.
struct Keys {
    id: AutomationId,
    name: String,
    state: AutomationState,
    needs_person: bool,
    updated_at: Timestamp,
    failures: i64,
    next: Option<Timestamp>,
    last: Option<RunId>,
}

impl Keys {
    fn of(row: &Row) -> Result<Self, Error> {
        Ok(Self {
            id: row.get("id")?,
            name: row.get("name")?,
            state: row.parse("state")?,
            needs_person: row.get::<i64>("needs_person")? == 1,
            updated_at: row.get("updated_at")?,
            failures: row.get("consecutive_failures")?,
            next: row.optional("next_fire_at")?,
            last: row.optional("last_run_id")?,
        })
    }

    fn rank(&self, sort: AutomationSort) -> AutomationRank {
        let number = match sort {
            AutomationSort::Name => 0,
            AutomationSort::Next => self
                .next
                .map_or(i128::MAX, |next| next.as_microsecond().into()),
            // The IDs of runs follow the time of their creation.
            AutomationSort::Last => self
                .last
                .map_or(i128::MAX, |run| -i128::from(run.uuid().as_u64_pair().0)),
            AutomationSort::Changed => -i128::from(self.updated_at.as_microsecond()),
            AutomationSort::Failures => -i128::from(self.failures),
        };
        AutomationRank {
            sort,
            number,
            name: self.name.to_lowercase(),
            id: self.id,
        }
    }
}

impl Store {
    /// Lists one page of a tenant's automations in an order, each with up to `outcomes` of its newest runs. Omits
    /// deleted ones. With `attention`, lists only those that need a person.
    #[boxed]
    pub async fn sorted_automation_items(
        &self,
        tenant: TenantId,
        filter: &AutomationFilter,
        attention: bool,
        (sort, after): (AutomationSort, Option<AutomationRank>),
        limit: u32,
        outcomes: u32,
    ) -> Result<SortedAutomations, Error> {
        let mut tx = self.db.begin_read(Scope::Tenant(tenant)).await?;
        let keys = read_keys(&mut tx, tenant, filter).await?;
        let accepted = keys.iter().filter(|keys| {
            filter.state.is_none_or(|state| keys.state == state)
                && (!attention || keys.needs_person)
        });
        let mut ranks: Vec<_> = accepted.map(|keys| keys.rank(sort)).collect();
        ranks.retain(|rank| after.as_ref().is_none_or(|after| rank > after));
        ranks.sort_unstable();
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let more = ranks.len() > limit;
        ranks.truncate(limit);
        let ids: Vec<_> = ranks.iter().map(|rank| rank.id).collect();
        Ok(SortedAutomations {
            numbers: AutomationNumbers::of(&keys),
            items: items_by_id(&mut tx, tenant, &ids, outcomes).await?,
            next: ranks.pop().filter(|_| more),
        })
    }
}

async fn read_keys(
    tx: &mut Tx,
    tenant: TenantId,
    filter: &AutomationFilter,
) -> Result<Vec<Keys>, Error> {
    let patterns = SearchPatterns::new(filter.text.as_deref(), AutomationId::PREFIX);
    let session = filter.session.as_ref();
    let found = tx
        .fetch_all(
            sql!("automations/sort_keys"),
            params! { "automations/sort_keys";
                tenant: tenant,
                paused_by_person: PAUSED_BY_PERSON,
                lower_pattern: patterns.lower.as_deref(),
                pattern: patterns.as_written.as_deref(),
                session: session.map(|session| session.session),
                key: session.and_then(|session| session.key.as_deref()),
                other_key: session.and_then(|session| session.other_key.as_deref()),
            },
        )
        .await?;
    found.iter().map(Keys::of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rank_is_read_as_it_was_written_and_only_in_its_order() {
        let rank = AutomationRank {
            sort: AutomationSort::Next,
            number: -7,
            name: "a:b".into(),
            id: AutomationId::from_uuid(uuid::Uuid::from_u128(7)),
        };
        let text = rank.to_string();
        assert_eq!(AutomationRank::parse(&text, AutomationSort::Next), Ok(rank));
        for (text, sort) in [
            ("", AutomationSort::Next),
            ("n", AutomationSort::Next),
            ("n:1:2:3", AutomationSort::Next),
            (text.as_str(), AutomationSort::Changed),
        ] {
            assert_eq!(
                AutomationRank::parse(text, sort),
                Err(InvalidRank),
                "{text}"
            );
        }
    }
}
