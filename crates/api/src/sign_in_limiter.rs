//! The rate limit of attempts to sign in.

use std::{net::IpAddr, num::NonZeroU32, time::Duration};

use api_types::ProblemKind;
use governor::{DefaultKeyedRateLimiter, Quota};
use http::{HeaderValue, StatusCode, header};

use crate::problem::ApiError;

/// The number of sign-in attempts that an IP address may make at once.
const MAX_ATTEMPTS: NonZeroU32 = NonZeroU32::new(10).expect("it is not zero");
/// The time after which an address may make another attempt.
const ATTEMPT_INTERVAL: Duration = Duration::from_secs(6);
/// The number of addresses above which the limiter drops those that have all their attempts again.
const MAX_TRACKED_ADDRESSES: usize = 10_000;

/// Limits the rate of sign-in attempts of each IP address, so that a program cannot guess codes.
pub(crate) struct SignInLimiter(DefaultKeyedRateLimiter<IpAddr>);

impl Default for SignInLimiter {
    fn default() -> Self {
        let quota = Quota::with_period(ATTEMPT_INTERVAL).unwrap_or(Quota::per_minute(MAX_ATTEMPTS));
        Self(DefaultKeyedRateLimiter::keyed(
            quota.allow_burst(MAX_ATTEMPTS),
        ))
    }
}

impl SignInLimiter {
    /// Counts an attempt of an address.
    ///
    /// # Errors
    ///
    /// Returns 429 if the address has no attempt left.
    pub(crate) fn check_attempt(&self, from: IpAddr) -> Result<(), ApiError> {
        if self.0.len() > MAX_TRACKED_ADDRESSES {
            self.0.retain_recent();
        }
        self.0.check_key(&from).map_err(|_| {
            ApiError::new(
                ProblemKind::TooMany,
                StatusCode::TOO_MANY_REQUESTS,
                "too many sign-in attempts from this address",
            )
            .header(
                header::RETRY_AFTER,
                HeaderValue::from(ATTEMPT_INTERVAL.as_secs()),
            )
        })
    }
}
