//! Runs a loop: ticks, sleeps, wakes, backs off after errors and stops.
//!
//! **Invariants:** a loop never sleeps longer than its `longest` interval, so that a lost wake-up or a clock that was
//! set costs at most one interval. An error never ends a loop; only the stop does.

use std::{sync::Arc, time::Duration};

use model::{Timestamp, limits};
use tokio::{sync::Notify, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::{Error, Host};

/// The shortest and the longest pause after a failed tick. The pause doubles with each failure in a row.
const RETRY_PAUSE_RANGE: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(30)];

/// The time limit of one tick, so that a database call that hangs cannot block a loop forever.
const TICK_TIMEOUT: Duration = Duration::from_mins(5);

/// A loop body, called again and again by [`run`].
pub(crate) trait LoopBody: Send + Sync {
    /// The name of the loop in logs and metrics.
    const NAME: &'static str;

    /// Runs one tick. Returns when the next tick is due, or `None` if the longest interval will do.
    fn tick(
        &mut self,
        now: Timestamp,
    ) -> impl Future<Output = Result<Option<Timestamp>, Error>> + Send;
}

/// Ticks until `stop` is cancelled: at the instant that the last tick returned, on each `wake`, and at the latest
/// after `longest`. After an error, ticks again after a pause that doubles with each error.
pub(crate) async fn run<L: LoopBody>(
    mut body: L,
    host: Host,
    longest: Duration,
    wake: Arc<Notify>,
    stop: CancellationToken,
) {
    let mut pause = RETRY_PAUSE_RANGE[0];
    while !stop.is_cancelled() {
        let now = host.now();
        let result = timeout(TICK_TIMEOUT, body.tick(now)).await;
        // The next tick is counted from the beginning of this one. A failed tick that took longer than the pause is
        // therefore repeated at once.
        let until = match result.unwrap_or(Err(Error::Timeout(TICK_TIMEOUT))) {
            Ok(next) => {
                pause = RETRY_PAUSE_RANGE[0];
                let latest = now + longest;
                next.map_or(latest, |next| next.min(latest))
            }
            Err(error) => {
                let until = now + pause;
                host.metrics.record_loop_error(L::NAME);
                log_failed_tick(L::NAME, &error, pause);
                pause = (pause * 2).min(RETRY_PAUSE_RANGE[1]);
                until
            }
        };
        tokio::select! {
            () = sleep_until(&host, until, longest) => {}
            () = wake.notified() => {}
            () = stop.cancelled() => {}
        }
    }
}

fn log_failed_tick(name: &str, error: &(dyn std::error::Error + 'static), pause: Duration) {
    tracing::error!(error, "cannot run the {name} loop, will retry in {pause:?}");
}

/// Sleeps until the clock shows `until`, but never longer than `longest`.
///
/// Sleeps in slices and reads the clock after each one, because timers stand still while a machine is suspended, and
/// clocks can be set. The bound by `longest` uses the monotonic clock, so a clock that was set back cannot make the
/// loop sleep forever.
async fn sleep_until(host: &Host, until: Timestamp, longest: Duration) {
    let started = tokio::time::Instant::now();
    loop {
        let left = until
            .since(host.now())
            .min(longest.saturating_sub(started.elapsed()));
        if left.is_zero() {
            return;
        }
        tokio::time::sleep(left.min(limits::SLEEP_SLICE)).await;
    }
}
