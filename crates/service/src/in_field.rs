//! Where in a request something stands that cannot be taken.

use std::fmt;

use crate::Error;

/// An error that reads as it is, with the field that only those know who see the whole request.
#[derive(Debug)]
pub struct InField {
    /// The field, as its path in a request.
    pub(crate) field: String,
    /// What is wrong with what stands there.
    pub(crate) error: Error,
}

impl fmt::Display for InField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for InField {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}
