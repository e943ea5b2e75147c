//! What a policy cannot be.

/// Policies that contradict each other or the session mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} cannot be {value}: {accepted}")]
pub struct InvalidPolicy {
    field: &'static str,
    value: String,
    accepted: &'static str,
}

impl InvalidPolicy {
    pub(crate) const fn new(field: &'static str, value: String, accepted: &'static str) -> Self {
        Self {
            field,
            value,
            accepted,
        }
    }

    /// The policy, as its path in all of them: `budget.day.tokens`.
    pub const fn field(&self) -> &'static str {
        self.field
    }
}
