//! A clock that follows the clock of the server.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use model::{
    Clock, Timestamp, Uptime,
    fleet_time::{ClockReading, FleetTime},
};

/// A clock that shows the time of the server. Before the first response it shows the machine's own clock, and its
/// uncertainty is unbounded. Between two responses, time passes as the machine's uptime does.
pub struct ServerClock {
    machine_clock: Arc<dyn Clock>,
    uptime: Arc<dyn Uptime>,
    time: Mutex<FleetTime>,
}

impl ServerClock {
    /// Returns a clock without a reading, from the machine's own clock and its uptime.
    pub fn new(machine_clock: Arc<dyn Clock>, uptime: Arc<dyn Uptime>) -> Self {
        Self {
            machine_clock,
            uptime,
            time: Mutex::default(),
        }
    }

    /// Returns the uptime of the machine, for the beginning of a request.
    pub fn uptime(&self) -> Duration {
        self.uptime.uptime()
    }

    /// Takes the server's time in a response into account. The server has read its clock after the uptime `sent`: after
    /// the request was sent, and after a wait at the server.
    pub fn follow(&self, sent: Duration, server_time: Timestamp) {
        let received_uptime = self.uptime.uptime();
        self.time().add_reading(ClockReading {
            sent_uptime: sent,
            received_uptime,
            database_time: server_time,
        });
    }

    fn time(&self) -> MutexGuard<'_, FleetTime> {
        self.time.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for ServerClock {
    fn now(&self) -> Timestamp {
        // The uptime must be read under the lock. Otherwise a thread could read it, wait for the lock, and then show
        // an earlier time than another thread has already shown.
        let mut time = self.time();
        let server_time = time.now(self.uptime.uptime());
        drop(time);
        server_time.unwrap_or_else(|| self.machine_clock.now())
    }

    fn uncertainty(&self) -> Duration {
        let time = self.time();
        time.uncertainty(self.uptime.uptime())
    }

    fn machine_clock_lead_micros(&self) -> Option<i64> {
        let now = self.time().now(self.uptime.uptime())?;
        let machine_time = self.machine_clock.now();
        Some(
            machine_time
                .as_microsecond()
                .saturating_sub(now.as_microsecond()),
        )
    }
}

#[cfg(test)]
mod tests {
    use testkit::clock::{FakeClock, FakeUptime};

    use super::*;

    #[test]
    fn clock_follows_server_whatever_the_machine_shows() {
        let machine = Arc::new(FakeClock::at("2020-01-01T00:00:00Z"));
        let uptime = Arc::new(FakeUptime::new(Duration::from_hours(1)));
        let clock = ServerClock::new(machine.clone(), uptime.clone());
        assert_eq!(clock.now(), machine.now());
        assert_eq!(clock.uncertainty(), Duration::MAX);

        let (sent, noon) = (clock.uptime(), "2026-11-26T12:00:00Z".parse().unwrap());
        uptime.advance(Duration::from_millis(200));
        clock.follow(sent, noon);
        let half_trip = Duration::from_millis(100);
        assert_eq!(clock.now(), noon + half_trip);
        let uncertainty = clock.uncertainty();
        assert!(
            (half_trip..2 * half_trip).contains(&uncertainty),
            "{uncertainty:?}"
        );
        machine.advance(Duration::from_hours(24));
        uptime.advance(Duration::from_mins(1));
        assert_eq!(clock.now(), noon + half_trip + Duration::from_mins(1));
    }
}
