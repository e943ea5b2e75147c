//! An error with the field of the request that caused it.

use std::fmt;

/// An error that displays like its cause and adds only the field. The code that validates a value does not know its
/// path in the request; the caller does.
#[derive(Debug)]
pub struct FieldError<E> {
    /// The path of the field in the request.
    pub(crate) field: String,
    /// The error of its value.
    pub(crate) error: E,
}

impl<E: fmt::Display> fmt::Display for FieldError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<E: std::error::Error> std::error::Error for FieldError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}
