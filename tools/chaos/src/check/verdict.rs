//! The result of a check: the number of inspected items and the violations.

/// The maximum number of violations that the report prints for each check.
const MAX_PRINTED_VIOLATIONS: usize = 12;

/// The result of a check.
#[derive(Debug, Clone, Default)]
pub(crate) struct Check {
    pub(crate) name: &'static str,
    /// The invariant in words.
    pub(crate) invariant: &'static str,
    /// The number of inspected items of each kind.
    pub(crate) inspected: Vec<(&'static str, usize)>,
    /// The descriptions of the violations.
    pub(crate) violations: Vec<String>,
}

impl Check {
    /// Creates a result without counts and violations.
    pub(super) fn new(name: &'static str, says: &'static str) -> Self {
        Self {
            name,
            invariant: says,
            ..Self::default()
        }
    }

    /// Records the number of inspected items of a kind.
    pub(super) fn record_inspected(&mut self, what: &'static str, count: usize) {
        self.inspected.push((what, count));
    }

    /// Records a violation.
    pub(super) fn add_violation(&mut self, how: String) {
        self.violations.push(how);
    }

    /// `true` if there is no violation and the check inspected at least one item of each kind.
    pub(crate) fn holds(&self) -> bool {
        self.violations.is_empty() && self.uninspected_kind().is_none()
    }

    /// Returns a kind of which the check inspected no item. Returns `None` if there is no such kind.
    fn uninspected_kind(&self) -> Option<&'static str> {
        let nothing = self.inspected.iter().find(|(_, count)| *count == 0);
        nothing.map(|(what, _)| *what)
    }

    /// Prints the result with its counts and its first violations.
    pub(crate) fn print(&self) {
        let looked: Vec<_> = self
            .inspected
            .iter()
            .map(|(what, count)| format!("{count} {what}"))
            .collect();
        let verdict = if self.holds() { "holds " } else { "BROKEN" };
        println!(
            "  {verdict} {:5} {} ({})",
            self.name,
            self.invariant,
            looked.join(", ")
        );
        if let Some(nothing) = self.uninspected_kind() {
            println!("           nothing was looked at: {nothing}");
        }
        for violation in self.violations.iter().take(MAX_PRINTED_VIOLATIONS) {
            println!("           {violation}");
        }
        if self.violations.len() > MAX_PRINTED_VIOLATIONS {
            println!(
                "           and {} more",
                self.violations.len() - MAX_PRINTED_VIOLATIONS
            );
        }
    }
}
