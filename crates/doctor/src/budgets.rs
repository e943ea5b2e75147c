//! Finds budgets in currencies that do not exist, which earlier versions stored for units such as `3 runs/day`.

use model::{
    budget::Budget,
    entity::{Automation, Tenant},
};
use service::excerpt;

use crate::finding::Finding;

/// The maximum number of characters of a name in a finding.
const MAX_EXCERPT_CHARS: usize = 120;

/// Returns a problem for each budget with an unknown currency. No turn begins under such a budget.
pub(crate) fn unknown_currency_findings(
    automations: &[Automation],
    tenants: &[Tenant],
) -> Vec<Finding> {
    let of_automations = automations.iter().filter_map(|it| {
        let policies = &it.policies;
        unknown_currency_finding("automation", &it.name, &policies.budget)
    });
    let of_tenants = tenants
        .iter()
        .filter_map(|it| unknown_currency_finding("tenant", &it.name, &it.budget));
    of_automations.chain(of_tenants).collect()
}

fn unknown_currency_finding(owner: &str, name: &str, budget: &Budget) -> Option<Finding> {
    let limit = budget
        .limits()
        .find(|limit| limit.unknown_currency().is_some())?;
    let name = excerpt(name, MAX_EXCERPT_CHARS);
    let found = format!(
        "the budget of {owner} {name} has the unknown currency `{}` (`{limit}`), so no turn begins",
        limit.unknown_currency().unwrap_or_default(),
    );
    let remedy = format!(
        "use `matins {owner} edit {name:?} --clear budget --budget LIMIT` with tokens, turns, minutes or a currency of ISO 4217"
    );
    Some(Finding::problem("budgets", found, remedy))
}
