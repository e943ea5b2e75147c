//! What a check has looked at, and what it has found.

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
    pub(super) fn new(name: &'static str, says: &'static str) -> Self {
        Self {
            name,
            says,
            ..Self::default()
        }
    }

    /// Notes how much of something was looked at.
    pub(super) fn looked(&mut self, what: &'static str, count: usize) {
        self.looked.push((what, count));
    }

    pub(super) fn violated(&mut self, how: String) {
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
