//! Lists the rules that allow commands by a pattern, because such a rule allows a command only if it holds for all of it.

use model::{
    agent::Agent,
    entity::Automation,
    permission::{PermissionRule, PermissionRules},
};
use service::excerpt;

use crate::finding::Finding;

/// The maximum number of characters of a name or a pattern in the finding.
const MAX_EXCERPT_CHARS: usize = 80;
/// The maximum number of rules in the finding.
const MAX_LISTED_RULES: usize = 20;

/// Returns a finding with all rules that allow commands by a pattern. Returns `None` if there is none.
pub(crate) fn allow_patterns_finding(
    automations: &[Automation],
    agents: &[Agent],
) -> Option<Finding> {
    let of_automations = automations
        .iter()
        .flat_map(|it| describe_rules("automation", &it.name, &it.permissions));
    let of_agents = agents
        .iter()
        .flat_map(|it| describe_rules("agent", &it.name, &it.config.permissions));
    let rules: Vec<_> = of_automations.chain(of_agents).collect();
    if rules.is_empty() {
        return None;
    }
    let listed = rules[..rules.len().min(MAX_LISTED_RULES)].join(", ");
    let more = match rules.len().saturating_sub(MAX_LISTED_RULES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let found = format!(
        "a pattern allows a call with a command, whatever its kind is, only if it holds for the whole command that the \
         agent states: {listed}{more}"
    );
    let remedy = "begin each that is meant for commands with the words of the command; to allow more, leave out the \
                  pattern or use --on-unmatched ask";
    Some(Finding {
        remedy: Some(remedy.into()),
        ..Finding::ok("permission rules", found)
    })
}

fn describe_rules(owner: &str, name: &str, rules: &PermissionRules) -> Vec<String> {
    let name = excerpt(name, MAX_EXCERPT_CHARS);
    let patterns = rules
        .0
        .iter()
        .filter(|rule| rule.allows_commands_by_pattern());
    patterns
        .map(|PermissionRule { tool, title, .. }| {
            let pattern = format!("{tool}:{}", title.as_deref().unwrap_or_default());
            format!("{owner} {name} `{}`", excerpt(&pattern, MAX_EXCERPT_CHARS))
        })
        .collect()
}
