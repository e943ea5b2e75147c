//! When triggers fire next.
