//! Scheduler, worker, watchdog and housekeeping.
