//! Signed webhooks: signatures, and the way to an address that may be called.
