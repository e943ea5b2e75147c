//! The machine on which a worker runs, by which other workers know whether a free lock proves its death.
//!
//! Kernels do not see each other's locks on some network volumes. A lock that looks free then proves nothing about a worker
//! of another kernel.

use std::fs;

/// The identity of the running kernel.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
/// The identity of the installed system.
const MACHINE_ID: &str = "/etc/machine-id";
const PID_NAMESPACE: &str = "/proc/self/ns/pid";
/// The PID namespace outside of all containers. Its number is fixed in the kernel.
const INITIAL_PID_NAMESPACE: &str = "pid:[4026531836]";

/// The machine on which a worker runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct WorkerHost {
    /// The identity of the running kernel. `None` in the files of earlier versions, and where it cannot be read.
    boot: Option<String>,
    /// The identity of the installed system, which stays over boots. `None` in a container, because the containers of one
    /// image share it, and one of them may run on another machine.
    machine: Option<String>,
}

impl WorkerHost {
    /// Returns the machine of this process.
    pub(crate) fn current() -> Self {
        let read = |path| {
            let text = fs::read_to_string(path).ok()?;
            Some(text.trim().to_owned()).filter(|id| is_id(id))
        };
        let namespace = fs::read_link(PID_NAMESPACE).ok();
        let is_container = namespace.is_none_or(|it| it.as_os_str() != INITIAL_PID_NAMESPACE);
        Self {
            boot: read(BOOT_ID),
            machine: read(MACHINE_ID).filter(|_| !is_container),
        }
    }

    /// Parses the content of a lock file. Ignores lines of later versions.
    pub(crate) fn parse(text: &str) -> Self {
        let mut host = Self::default();
        for line in text.lines() {
            match line.split_once('=') {
                Some(("boot", id)) if is_id(id) => host.boot = Some(id.to_owned()),
                Some(("machine", id)) if is_id(id) => host.machine = Some(id.to_owned()),
                _ => {}
            }
        }
        host
    }

    /// Returns the content of a lock file.
    pub(crate) fn to_text(&self) -> String {
        let line = |name, id: &Option<String>| {
            let id = id.as_ref();
            id.map_or_else(String::new, |id| format!("{name}={id}\n"))
        };
        line("boot", &self.boot) + &line("machine", &self.machine)
    }

    /// Returns `true` if a worker of `other` whose lock looks free here is dead: both machines are one, or the worker ran
    /// before this machine has started again. A file of an earlier version names no machine, and its lock counts.
    pub(crate) fn sees_death_on(&self, other: &Self) -> bool {
        other.boot.is_none()
            || other.boot == self.boot
            || other.machine.is_some() && other.machine == self.machine
    }
}

fn is_id(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(boot: &str, machine: Option<&str>) -> WorkerHost {
        WorkerHost {
            boot: Some(boot.to_owned()),
            machine: machine.map(str::to_owned),
        }
    }

    #[test]
    fn free_lock_proves_death_only_on_own_machine() {
        let own = host("b1", Some("a"));
        for (other, expected, case) in [
            (host("b1", Some("a")), true, "the same kernel"),
            (host("b1", None), true, "a container on this machine"),
            (host("b0", Some("a")), true, "an earlier boot"),
            (
                host("b0", None),
                false,
                "an earlier boot, or another machine",
            ),
            (host("b2", Some("c")), false, "another machine"),
            (WorkerHost::default(), true, "an earlier version"),
        ] {
            assert_eq!(own.sees_death_on(&other), expected, "{case}");
        }
        let container = host("b1", None);
        assert!(container.sees_death_on(&host("b1", Some("a"))));
        assert!(!container.sees_death_on(&host("b0", None)));
        let unknown = WorkerHost::default();
        assert!(!unknown.sees_death_on(&own));
    }

    #[test]
    fn text_of_host_is_read_back_and_unknown_lines_are_ignored() {
        for host in [
            host("b-1", Some("a0")),
            host("b1", None),
            WorkerHost::default(),
        ] {
            assert_eq!(WorkerHost::parse(&host.to_text()), host);
            let later = format!("{}rack=7\nnoise\n", host.to_text());
            assert_eq!(WorkerHost::parse(&later), host);
        }
        assert_eq!(
            WorkerHost::parse("boot=\nmachine=x y"),
            WorkerHost::default()
        );
        assert!(WorkerHost::current().boot.is_some());
    }
}
