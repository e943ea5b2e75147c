//! The error for an invalid policy.

/// The error for a policy that is invalid, or contradicts the session mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` cannot be `{value}`: {accepted}")]
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

    /// Returns the policy as its path within all policies, such as `budget.day.tokens`.
    pub const fn field(&self) -> &'static str {
        self.field
    }
}
