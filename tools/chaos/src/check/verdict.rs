//! The result of a check: the number of inspected items and the violations.

/// The maximum number of violations that the report prints for each check.
const MAX_PRINTED_VIOLATIONS: usize = 12;

/// The result of a check.
#[derive(Debug, Clone, Default)]
pub(crate) struct Check {
    pub(crate) name: &'static str,
    /// The invariant as a sentence.
    pub(crate) invariant: &'static str,
    /// The number of inspected items of each kind.
    pub(crate) inspected: Vec<(&'static str, usize)>,
    /// The descriptions of the violations.
    pub(crate) violations: Vec<String>,
}

impl Check {
    /// Creates a result without counts and violations.
    pub(super) fn new(name: &'static str, invariant: &'static str) -> Self {
        Self {
            name,
            invariant,
            ..Self::default()
        }
    }

    /// Records the number of inspected items of a kind.
    pub(super) fn record_inspected(&mut self, kind: &'static str, count: usize) {
        self.inspected.push((kind, count));
    }

    /// Records a violation.
    pub(super) fn add_violation(&mut self, violation: String) {
        self.violations.push(violation);
    }

    /// `true` if there is no violation and the check inspected at least one item of each kind.
    pub(crate) fn holds(&self) -> bool {
        self.violations.is_empty() && self.uninspected_kind().is_none()
    }

    /// Returns a kind of which the check inspected no item. Returns `None` if there is no such kind.
    fn uninspected_kind(&self) -> Option<&'static str> {
        let missing = self.inspected.iter().find(|(_, count)| *count == 0);
        missing.map(|(kind, _)| *kind)
    }

    /// Prints the result with its counts and its first violations.
    pub(crate) fn print(&self) {
        let counts: Vec<_> = self
            .inspected
            .iter()
            .map(|(kind, count)| format!("{count} {kind}"))
            .collect();
        let verdict = if self.holds() { "holds " } else { "BROKEN" };
        println!(
            "  {verdict} {:8} {} ({})",
            self.name,
            self.invariant,
            counts.join(", ")
        );
        if let Some(kind) = self.uninspected_kind() {
            println!("           the check inspected no {kind}");
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
