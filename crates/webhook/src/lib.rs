//! Signed webhooks: signatures, and the way to an address that may be called.
//!
//! **Invariants:** knows no database. A signature is checked before anything of a body is read. What is
//! sent goes to an address that was looked at as the connection is made, and nowhere else: no redirect
//! is followed, and no name is resolved a second time.

mod address;
mod headers;
mod refusal;
mod resolver;
mod sender;
mod signature;
mod target;

pub use headers::verify;
pub use http::{HeaderMap, HeaderName};
pub use model::secret::{InvalidSecret, Secret, Secrets};
pub use refusal::Refusal;
pub use resolver::{Lookup, SystemLookup};
pub use sender::{Answer, NotSent, Sender, SenderError};
pub use signature::{ID, Parts, SIGNATURE, TIMESTAMP, Verified, sign, sign_with_all};
pub use target::{InvalidUrl, Target};
