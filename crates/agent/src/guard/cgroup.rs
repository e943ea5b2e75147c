//! Control groups (version 2), in which the kernel itself counts the resources of an agent's processes, enforces the
//! limits, and kills all processes at once.
//!
//! This process can create groups only below a group that was delegated to it: one that is marked as delegated
//! (systemd's `Delegate=yes`), the root of a container, or one that a user who is not root may write. The kernel
//! allows processes in leaf groups only, so the worker first moves itself and its own children into a leaf.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::OnceLock,
    thread,
    time::Duration,
};

use model::agent::ResourceLimits;

use super::process::ProcessTable;
use crate::exit::{ExceededLimit, ResourceUsage};

/// The leaf group into which a worker moves itself.
const WORKER_LEAF: &str = "matins-worker";
/// The prefix of the names of agents' groups.
const AGENT_LEAF_PREFIX: &str = "matins-agent-";
/// The controllers that enforce limits.
const CONTROLLERS: [&str; 2] = ["memory", "pids"];
/// The extended attributes by which systemd marks a delegated group.
const DELEGATE_ATTRIBUTES: [&str; 2] = ["user.delegate", "trusted.delegate"];
/// The number of attempts to remove a group that is being emptied; [`REMOVE_PAUSE`] lies between two of them.
const MAX_REMOVE_ATTEMPTS: u32 = 200;
const REMOVE_PAUSE: Duration = Duration::from_millis(10);

/// Returns the group below which agents' groups are created, or the reason why there is none. The result is
/// determined once; the first call may move this process into a leaf.
pub(crate) fn delegated_cgroup() -> Result<&'static Path, &'static str> {
    static FOUND: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let base = prepare_parent_cgroup(&current_cgroup()?)?;
        remove_leftovers(&base);
        Ok(base)
    });
    found.as_deref().map_err(String::as_str)
}

/// Returns the group of this process.
fn current_cgroup() -> Result<PathBuf, String> {
    let read = |path: &str| {
        fs::read_to_string(path).map_err(|error| format!("cannot read `{path}`: {error}"))
    };
    parse_cgroup(&read("/proc/self/cgroup")?, &read("/proc/self/mountinfo")?)
}

/// Parses the group of a process from its `cgroup` and `mountinfo` files (cgroups(7), `proc_pid_mountinfo(5)`).
fn parse_cgroup(groups: &str, mounts: &str) -> Result<PathBuf, String> {
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"));
    let path = path.ok_or("the kernel has no control groups of version 2")?;
    let mount = mounts.lines().find_map(|line| {
        let (fields, kind) = line.split_once(" - ")?;
        let mut fields = fields.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        kind.starts_with("cgroup2 ").then_some((root, point))
    });
    let (root, point) = mount.ok_or("control groups of version 2 are not mounted")?;
    let below = Path::new(path)
        .strip_prefix(root)
        .map_err(|_| "this process's control group lies outside the mounted hierarchy")?;
    Ok(Path::new(point).join(below))
}

/// Ensures that groups with limits can be created, and returns the group below which they go.
fn prepare_parent_cgroup(own: &Path) -> Result<PathBuf, String> {
    // A worker that has moved before, or a child of such a worker, is in the leaf already.
    if own.ends_with(WORKER_LEAF)
        && let Some(parent) = own.parent()
    {
        return enable_controllers(parent).map(|()| parent.to_owned());
    }
    // systemd's `DelegateSubgroup=` puts the processes into a leaf from the start.
    if let Some(parent) = own.parent().filter(|parent| is_delegated(parent)) {
        return enable_controllers(parent).map(|()| parent.to_owned());
    }
    // The root group of the machine has no such file, and the kernel does not allow limits on its processes.
    if !own.join("cgroup.type").exists() {
        return Err("this process runs in the machine's root group".to_owned());
    }
    let is_container_root = own
        .parent()
        .is_none_or(|parent| !parent.join("cgroup.procs").exists());
    if !(is_delegated(own) || is_container_root || !rustix::process::geteuid().is_root()) {
        return Err(
            "this process's control group is not delegated (systemd: `Delegate=yes`)".to_owned(),
        );
    }
    // Check before the move, so that a process without the controllers stays in its group.
    let offered = read_words(&own.join("cgroup.controllers"))?;
    check_controllers(&offered)?;
    move_into_leaf(own)?;
    enable_controllers(own).map(|()| own.to_owned())
}

fn is_delegated(group: &Path) -> bool {
    DELEGATE_ATTRIBUTES.iter().any(|mark| {
        let mut value = [0; 8];
        matches!(rustix::fs::getxattr(group, *mark, &mut value), Ok(1..) if value[0] == b'1')
    })
}

fn read_words(file: &Path) -> Result<Vec<String>, String> {
    let text = fs::read_to_string(file).map_err(|error| format_io_error("read", file, &error))?;
    Ok(text.split_ascii_whitespace().map(str::to_owned).collect())
}

fn check_controllers(offered: &[String]) -> Result<(), String> {
    for controller in CONTROLLERS {
        if !offered.iter().any(|name| name == controller) {
            return Err(format!(
                "this process's control group has no controller `{controller}`"
            ));
        }
    }
    Ok(())
}

fn format_io_error(operation: &str, file: &Path, error: &io::Error) -> String {
    format!("cannot {operation} `{}`: {error}", file.display())
}

/// Enables the controllers for the groups below `group`.
fn enable_controllers(group: &Path) -> Result<(), String> {
    let file = group.join("cgroup.subtree_control");
    if check_controllers(&read_words(&file)?).is_ok() {
        return Ok(());
    }
    let wanted = CONTROLLERS.map(|name| format!("+{name}")).join(" ");
    fs::write(&file, wanted).map_err(|error| format_io_error("write", &file, &error))
}

/// Moves the processes in `group` into a leaf below it. Fails if `group` contains a process other than this one and
/// its descendants, because other processes are not this worker's to move.
fn move_into_leaf(group: &Path) -> Result<(), String> {
    // 1. Refuse a group with foreign processes.
    let this_process = rustix::process::getpid();
    let table = ProcessTable::read().map_err(|error| format!("cannot read `/proc`: {error}"))?;
    let mut own_processes: Vec<String> = table
        .descendants([this_process])
        .into_iter()
        .map(|process| process.pid.to_string())
        .collect();
    own_processes.push(this_process.to_string());
    let members = read_words(&group.join("cgroup.procs"))?;
    if let Some(other) = members
        .iter()
        .find(|member| !own_processes.contains(member))
    {
        return Err(format!(
            "this process's control group also contains the foreign process {other}"
        ));
    }
    // 2. Create the leaf. It exists already if another worker of this group was here before.
    let leaf = group.join(WORKER_LEAF);
    match fs::create_dir(&leaf) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(format_io_error("create", &leaf, &error));
        }
        _ => {}
    }
    // 3. Move the processes one by one, because the kernel takes one ID per write.
    let file = leaf.join("cgroup.procs");
    for member in members {
        // A process that has ended meanwhile need not be moved.
        fs::write(&file, &member)
            .or_else(|error| has_process_ended(&error).then_some(()).ok_or(error))
            .map_err(|error| format_io_error("write", &file, &error))?;
    }
    Ok(())
}

fn has_process_ended(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
}

/// The control group of one agent.
pub(super) struct Cgroup {
    folder: PathBuf,
    limits: ResourceLimits,
}

impl Cgroup {
    /// Returns the path of the group for an agent with this marker, below the delegated group `base`.
    pub(super) fn path(base: &Path, marker: &str) -> PathBuf {
        let plain = |letter: char| {
            if letter.is_ascii_alphanumeric() {
                letter
            } else {
                '_'
            }
        };
        let name: String = marker.chars().map(plain).collect();
        // Markers differ at their ends, so the end is kept. A file name has at most 255 bytes.
        let end = name.len().saturating_sub(200);
        base.join(format!("{AGENT_LEAF_PREFIX}{}", &name[end..]))
    }

    /// Creates the group and sets its limits.
    pub(super) fn create(folder: PathBuf, limits: ResourceLimits) -> io::Result<Self> {
        fs::create_dir(&folder)?;
        let cgroup = Self { folder, limits };
        let result = cgroup.set_limits();
        // A group with only some of the limits would look as if the kernel enforced all of them.
        if result.is_err() {
            fs::remove_dir(&cgroup.folder).ok();
        }
        result.map(|()| cgroup)
    }

    fn set_limits(&self) -> io::Result<()> {
        if let Some(bytes) = self.limits.memory_bytes {
            self.write("memory.max", &bytes.to_string())?;
            // Without this line, the kernel would swap the agent out instead of enforcing the limit. A kernel without
            // swap does not have the file.
            self.write("memory.swap.max", "0")
                .or_else(|error| is_not_found(&error).then_some(()).ok_or(error))?;
            // Kill the whole group when memory runs out, because an agent that loses only one of its processes may
            // hang.
            self.write("memory.oom.group", "1")?;
        }
        if let Some(processes) = self.limits.processes {
            self.write("pids.max", &processes.to_string())?;
        }
        Ok(())
    }

    /// Returns an existing group, without limits.
    pub(super) fn open_existing(folder: PathBuf) -> Self {
        let limits = ResourceLimits::default();
        Self { folder, limits }
    }

    /// Moves the calling process into the group, calls `start`, and moves the process back. A process that `start`
    /// creates is in the group from its first instant.
    pub(super) fn start_inside<T>(&self, start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let before = current_cgroup()
            .map_err(io::Error::other)?
            .join("cgroup.procs");
        // The kernel reads `0` as the writing process.
        self.write("cgroup.procs", "0")?;
        let started = start();
        // Move back even if `start` failed: otherwise the guard would be killed together with its own agent's group.
        fs::write(before, "0")?;
        started
    }

    /// Kills all processes in the group at once. A process cannot escape by forking.
    pub(super) fn kill(&self) -> io::Result<()> {
        self.write("cgroup.kill", "1")
    }

    /// Returns the limit that the group exceeded, if any.
    pub(super) fn exceeded_limit(&self) -> Option<ExceededLimit> {
        if self.read_counter("memory.events", "oom_kill") > 0 {
            return Some(ExceededLimit::Memory);
        }
        if self.read_counter("pids.events", "max") > 0 {
            return Some(ExceededLimit::Processes);
        }
        let seconds = self.limits.cpu_seconds?;
        (self.cpu_time() > Duration::from_secs(seconds)).then_some(ExceededLimit::Cpu)
    }

    pub(super) fn resource_usage(&self) -> ResourceUsage {
        ResourceUsage {
            memory_bytes: self.read_number("memory.current"),
            processes: self.read_number("pids.current"),
            cpu_time: self.cpu_time(),
        }
    }

    /// Removes the group, and kills the processes that are still in it.
    ///
    /// # Errors
    ///
    /// Returns [`io::ErrorKind::TimedOut`] if processes are still in the group after two seconds.
    pub(super) fn remove(&self) -> io::Result<()> {
        for _ in 0..MAX_REMOVE_ATTEMPTS {
            match fs::remove_dir(&self.folder) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                    // The killed processes have not ended yet.
                    self.kill().ok();
                    thread::sleep(REMOVE_PAUSE);
                }
                Err(error) if is_not_found(&error) => return Ok(()),
                removed => return removed,
            }
        }
        Err(io::ErrorKind::TimedOut.into())
    }

    fn cpu_time(&self) -> Duration {
        Duration::from_micros(self.read_counter("cpu.stat", "usage_usec"))
    }

    /// Returns the number after a name in a file of names and numbers. Returns 0 if the file or the name is missing.
    fn read_counter(&self, file: &str, name: &str) -> u64 {
        let text = fs::read_to_string(self.folder.join(file)).unwrap_or_default();
        let mut lines = text.lines().filter_map(|line| line.split_once(' '));
        let value = lines.find(|(line_name, _)| *line_name == name);
        value.and_then(|(_, value)| value.parse().ok()).unwrap_or(0)
    }

    fn read_number(&self, file: &str) -> u64 {
        let text = fs::read_to_string(self.folder.join(file)).unwrap_or_default();
        text.trim().parse().unwrap_or(0)
    }

    fn write(&self, file: &str, value: &str) -> io::Result<()> {
        // `create` is not set, because a missing file means that the controller is missing.
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).open(self.folder.join(file))?;
        io::Write::write_all(&mut file, value.as_bytes())
    }
}

fn is_not_found(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

/// Removes the groups of ended agents, which a killed guard left behind. The groups of running agents remain, because
/// a group with processes cannot be removed.
fn remove_leftovers(base: &Path) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        if entry
            .file_name()
            .to_string_lossy()
            .starts_with(AGENT_LEAF_PREFIX)
        {
            fs::remove_dir(entry.path()).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 0:20 / /proc rw - proc proc rw
31 22 0:27 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate
";

    #[test]
    fn cgroup_path_is_resolved_below_its_mount() {
        let found = parse_cgroup("0::/system.slice/matins.service\n", MOUNTS);
        let expected = "/sys/fs/cgroup/system.slice/matins.service";
        assert_eq!(found.unwrap(), Path::new(expected));
    }

    #[test]
    fn cgroup_v2_path_is_found_beside_version_1() {
        let groups = "4:memory:/a\n1:cpu:/\n0::/b\n";
        let mounts = "\
30 22 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
31 22 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup rw
";
        let found = parse_cgroup(groups, mounts).unwrap();
        assert_eq!(found, Path::new("/sys/fs/cgroup/unified/b"));
    }

    #[test]
    fn cgroup_path_without_version_2_is_an_error() {
        assert!(parse_cgroup("4:memory:/a\n", MOUNTS).is_err());
        assert!(parse_cgroup("0::/a\n", "22 1 0:20 / /proc rw - proc proc rw\n").is_err());
    }

    /// A folder with the files that the kernel would put into a group.
    fn cgroup_folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            fs::write(folder.path().join(name), content).unwrap();
        }
        folder
    }

    #[test]
    fn cgroup_without_controllers_is_refused() {
        let own = cgroup_folder(&[
            ("cgroup.type", "domain\n"),
            ("cgroup.controllers", "cpu io\n"),
            ("cgroup.procs", ""),
        ]);
        let refused = prepare_parent_cgroup(own.path()).unwrap_err();
        assert!(refused.contains("`memory`"), "{refused}");
    }

    #[test]
    fn machine_root_cgroup_is_refused() {
        let own = cgroup_folder(&[("cgroup.controllers", "memory pids\n")]);
        let refused = prepare_parent_cgroup(own.path()).unwrap_err();
        assert!(refused.contains("root group"), "{refused}");
    }

    #[test]
    fn cgroup_with_foreign_processes_is_refused_unchanged() {
        let own = cgroup_folder(&[
            ("cgroup.type", "domain\n"),
            ("cgroup.controllers", "memory pids\n"),
            ("cgroup.procs", "1\n"),
            ("cgroup.subtree_control", ""),
        ]);
        let refused = prepare_parent_cgroup(own.path()).unwrap_err();
        assert!(refused.ends_with("process 1"), "{refused}");
        assert!(!own.path().join(WORKER_LEAF).exists());
    }

    #[test]
    fn cgroup_limits_are_written_and_exceeded_limit_is_reported() {
        let folder = cgroup_folder(&[
            ("memory.max", "max"),
            ("memory.swap.max", "max"),
            ("memory.oom.group", "0"),
            ("pids.max", "max"),
            ("memory.events", "low 0\noom 0\noom_kill 0\n"),
            ("pids.events", "max 0\n"),
            ("cpu.stat", "usage_usec 1500000\nuser_usec 1\n"),
            ("memory.current", "4096\n"),
            ("pids.current", "3\n"),
        ]);
        let read = |name| fs::read_to_string(folder.path().join(name)).unwrap();
        let cgroup = Cgroup {
            folder: folder.path().to_owned(),
            limits: ResourceLimits {
                memory_bytes: Some(1 << 20),
                processes: Some(7),
                cpu_seconds: Some(2),
                ..ResourceLimits::default()
            },
        };
        cgroup.set_limits().unwrap();
        // A write replaces the kernel's files; these files keep the rest of a longer text.
        assert!(read("memory.max").starts_with("1048576"));
        assert!(read("pids.max").starts_with('7'));
        assert!(read("memory.oom.group").starts_with('1'));
        assert_eq!(cgroup.exceeded_limit(), None);
        let used = cgroup.resource_usage();
        assert_eq!((used.memory_bytes, used.processes), (4096, 3));
        let put = |name, text| fs::write(folder.path().join(name), text).unwrap();
        put("cpu.stat", "usage_usec 2500000\n");
        assert_eq!(cgroup.exceeded_limit(), Some(ExceededLimit::Cpu));
        put("pids.events", "max 12\n");
        assert_eq!(cgroup.exceeded_limit(), Some(ExceededLimit::Processes));
        put("memory.events", "oom_kill 1\noom_group_kill 1\n");
        assert_eq!(cgroup.exceeded_limit(), Some(ExceededLimit::Memory));
    }

    #[test]
    fn cgroup_name_is_escaped_and_shortened_marker() {
        let path = Cgroup::path(Path::new("/base"), "/tmp/a b");
        assert_eq!(path, Path::new("/base/matins-agent-_tmp_a_b"));
        let long = Cgroup::path(Path::new("/base"), &"x".repeat(500));
        assert!(long.file_name().unwrap().len() <= 255);
    }
}
