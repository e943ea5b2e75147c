//! The invariants, each as a pure function of what happened. Nothing here is the product's code.
//!
//! A check counts what it has looked at, and one that has looked at nothing has failed: it would find nothing.

mod bounds;
mod ends;
mod life;
mod occurrences;
mod secrets;
mod strangers;
mod survivors;
mod traces;
mod turns;
mod words;

pub(crate) use life::is_suspicious;
pub(crate) use secrets::search;

use super::history::History;

/// How many violations of one check are told in full.
const TOLD: usize = 12;

/// What a check has found.
#[derive(Debug, Clone, Default)]
pub(crate) struct Check {
    pub(crate) name: &'static str,
    pub(crate) says: &'static str,
    /// What was looked at, with its count.
    pub(crate) looked: Vec<(&'static str, usize)>,
    pub(crate) violations: Vec<String>,
}

impl Check {
    fn new(name: &'static str, says: &'static str) -> Self {
        Self {
            name,
            says,
            ..Self::default()
        }
    }

    /// Notes how much of something was looked at.
    fn looked(&mut self, what: &'static str, count: usize) {
        self.looked.push((what, count));
    }

    fn violated(&mut self, how: String) {
        self.violations.push(how);
    }

    /// Whether it has found nothing, and would have.
    pub(crate) fn holds(&self) -> bool {
        self.violations.is_empty() && self.blind().is_none()
    }

    /// What it has looked at none of.
    fn blind(&self) -> Option<&'static str> {
        let nothing = self.looked.iter().find(|(_, count)| *count == 0);
        nothing.map(|(what, _)| *what)
    }

    /// Prints it.
    pub(crate) fn print(&self) {
        let looked: Vec<_> = self
            .looked
            .iter()
            .map(|(what, count)| format!("{count} {what}"))
            .collect();
        let verdict = if self.holds() { "holds " } else { "BROKEN" };
        println!(
            "  {verdict} {:5} {} ({})",
            self.name,
            self.says,
            looked.join(", ")
        );
        if let Some(nothing) = self.blind() {
            println!("           nothing was looked at: {nothing}");
        }
        for violation in self.violations.iter().take(TOLD) {
            println!("           {violation}");
        }
        if self.violations.len() > TOLD {
            println!("           and {} more", self.violations.len() - TOLD);
        }
    }
}

/// All checks.
pub(crate) fn all(history: &History) -> Vec<Check> {
    vec![
        occurrences::check(history),
        turns::disjoint(history),
        ends::closed(history),
        ends::fenced(history),
        traces::check(history),
        turns::succeeded(history),
        survivors::check(history),
        secrets::check(history),
        strangers::check(history),
        bounds::check(history),
        words::check(history),
        life::check(history),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_looked_at_nothing_does_not_hold() {
        for check in all(&History::default()) {
            assert!(!check.holds(), "{} holds of nothing", check.name);
        }
    }
}
