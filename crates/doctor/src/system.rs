//! Checks the machine: its clock, its time zones and the features of its kernel.

use std::{fs, path::Path};

use jiff::tz::TimeZone;
use model::{Clock, Timestamp, schedule::zone_rules_edition};
use rustix::{
    fs::{Access, access},
    process::{PidfdFlags, child_subreaper, getpid, pidfd_open},
};

use crate::finding::Finding;

/// The earliest plausible present, 2026-01-01 in seconds since 1970: before this program was written.
const EARLIEST_PLAUSIBLE_SECONDS: i64 = 1_767_225_600;

pub(crate) fn check_system(clock: &dyn Clock) -> Vec<Finding> {
    vec![
        check_clock(clock.now()),
        check_time_zones(),
        check_kernel(),
        check_cgroup(),
    ]
}

/// Returns a problem if the clock was never set.
fn check_clock(now: Timestamp) -> Finding {
    if now.jiff().as_second() < EARLIEST_PLAUSIBLE_SECONDS {
        let found = format!("it shows {now}, which is in the past");
        let remedy = "set it, for example by NTP: until then no run starts on time";
        return Finding::problem("clock", found, remedy);
    }
    Finding::ok("clock", now.to_string())
}

/// Names the edition of the zone rules, which are part of the program, and checks the zone of this machine.
fn check_time_zones() -> Finding {
    const CHECK: &str = "time zones";
    match TimeZone::try_system() {
        Ok(zone) => {
            let name = zone.iana_name().unwrap_or("a zone without a name");
            Finding::ok(
                CHECK,
                format!(
                    "this program has edition {} of the IANA rules; the zone of this machine is {name}",
                    zone_rules_edition()
                ),
            )
        }
        Err(_) => Finding::warning(
            CHECK,
            "the zone of this machine is unknown, so times are shown in UTC",
            "set TZ or /etc/localtime; automations have zones of their own",
        ),
    }
}

/// Checks the kernel features by which guards prevent agents from outliving their turns.
fn check_kernel() -> Finding {
    let missing: Vec<_> = [
        ("child subreapers", child_subreaper().is_ok()),
        ("pidfds", pidfd_open(getpid(), PidfdFlags::empty()).is_ok()),
        ("/proc", fs::read("/proc/self/environ").is_ok()),
    ]
    .into_iter()
    .filter_map(|(name, available)| (!available).then_some(name))
    .collect();
    if missing.is_empty() {
        return Finding::ok("kernel", "child subreapers, pidfds and /proc are available");
    }
    Finding::problem(
        "kernel",
        format!("missing: {}", missing.join(", ")),
        "use Linux 5.3 or later with /proc mounted, and permit them in a container: without them agents \
         can outlive their turn",
    )
}

/// Reports whether this process may create control groups. Matins does not depend on them.
fn check_cgroup() -> Finding {
    let group = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let group = group.lines().find_map(|line| line.strip_prefix("0::/"));
    let found = match group {
        None => "no cgroup v2; guards do not need it".to_owned(),
        Some(group) => {
            let folder = Path::new("/sys/fs/cgroup").join(group);
            let writable = access(folder.join("cgroup.procs"), Access::WRITE_OK).is_ok();
            let delegated = if writable {
                "delegated to this user"
            } else {
                "not delegated"
            };
            format!("/{group} of cgroup v2, {delegated}; guards do not need it")
        }
    };
    Finding::ok("control group", found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Level;

    #[test]
    fn clock_never_set_is_a_problem() {
        assert_eq!(check_clock(Timestamp::UNIX_EPOCH).level, Level::Problem);
    }
}
