//! How the scheduler, the watchdog and the housekeeping sleep, wake and stop.

use std::{sync::Arc, time::Duration};

use model::{Timestamp, limits};
use tokio::{sync::Notify, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::{Error, Host};

/// The shortest and the longest pause after a look that failed.
const PAUSES: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(30)];

/// How long one look may take: a database that hangs must not stop everything for good.
const LOOK_LIMIT: Duration = Duration::from_mins(5);

/// Something that is looked at again and again.
pub(crate) trait Look: Send + Sync {
    /// What errors call it.
    const NAME: &'static str;

    /// Looks once, and says when it wants to look again.
    fn look(
        &mut self,
        now: Timestamp,
    ) -> impl Future<Output = Result<Option<Timestamp>, Error>> + Send;
}

/// Looks until it is stopped: when the last look wanted it, when it is woken, and at the latest after
/// `longest`. After an error it waits longer each time.
pub(crate) async fn run<L: Look>(
    mut look: L,
    host: Host,
    longest: Duration,
    wake: Arc<Notify>,
    stop: CancellationToken,
) {
    let mut pause = PAUSES[0];
    while !stop.is_cancelled() {
        let now = host.now();
        let looked = timeout(LOOK_LIMIT, look.look(now)).await;
        let until = match looked.unwrap_or(Err(Error::TooLong(LOOK_LIMIT))) {
            Ok(next) => {
                pause = PAUSES[0];
                let net = now + longest;
                next.map_or(net, |next| next.min(net))
            }
            Err(error) => {
                let until = now + pause;
                host.metrics.failed(L::NAME);
                report(L::NAME, &error, pause);
                pause = (pause * 2).min(PAUSES[1]);
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

fn report(name: &str, error: &(dyn std::error::Error + 'static), pause: Duration) {
    tracing::error!(
        error,
        "failed to run the {name}, will try again in {pause:?}"
    );
}

/// Sleeps until the clock says `until`, and never longer than `longest` in all.
///
/// Timers stand still while a machine sleeps, and clocks are set: so it sleeps in slices and asks the
/// clock again after each. A clock that was set back cannot make it sleep for ever.
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
