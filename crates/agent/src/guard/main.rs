//! The process of the guard: single-threaded, with one loop that polls the control socket, the lease timer and the
//! signal of an ended child.
//!
//! On every doubt the guard kills the tree: at an error while it polls, at end of file, and at an order that it
//! cannot parse. A tree that outlives its worker could change files without a lease.

use std::{
    ffi::OsString,
    io::{self, Read, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::{net::UnixStream, process::CommandExt},
    },
    process::{Command, ExitCode},
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    process::{Pid, Signal, WaitOptions, WaitStatus, getpid, set_child_subreaper, setsid, wait},
    time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    },
};

use super::{
    cgroup::Cgroup,
    kill::stop_and_kill,
    limit_enforcer::LimitEnforcer,
    limits_argument,
    pipes::AgentStreams,
    process::ProcessTable,
    wire::{GuardCommand, GuardReport},
};
use crate::exit::ExitStatus;

/// The time between SIGTERM and SIGKILL for descendants when the agent's own process has ended.
const ORPHAN_GRACE: Duration = Duration::from_secs(2);
/// The first pause between two attempts to kill a tree; the pause doubles up to [`MAX_KILL_PAUSE`].
const MIN_KILL_PAUSE: Duration = Duration::from_millis(10);
const MAX_KILL_PAUSE: Duration = Duration::from_secs(1);
/// The exit code if the guard itself fails, as with `timeout` and `env`.
const GUARD_FAILED_EXIT_CODE: u8 = 125;
/// The exit code if the agent's program cannot be started.
const NOT_STARTED_EXIT_CODE: u8 = 127;
/// The number that is added to a signal's number to form an exit code, as in shells.
const SIGNAL_EXIT_CODE_BASE: i32 = 128;

/// Runs a guard until no process of its tree is left.
///
/// `args` are the lease in milliseconds, the limits as JSON, the agent's control group or an empty argument, the
/// agent's program and its arguments. Standard input is the control socket; environment and working directory are the
/// agent's. The exit code is the agent's own; 128 and the number of the signal if a signal killed the agent; 127 if
/// the program could not be started; 125 if the guard failed. (The worker reads the exact status from the socket; the
/// exit code is for people.)
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let Ok(control) = io::stdin().as_fd().try_clone_to_owned() else {
        return ExitCode::from(GUARD_FAILED_EXIT_CODE);
    };
    let control = UnixStream::from(control);
    let code = match Guard::start(&control, args) {
        Ok(guard) => match guard.watch() {
            ExitStatus::Code(code) => u8::try_from(code).unwrap_or(u8::MAX),
            ExitStatus::Signal(signal) => {
                u8::try_from(SIGNAL_EXIT_CODE_BASE + signal).unwrap_or(u8::MAX)
            }
            ExitStatus::Unknown => GUARD_FAILED_EXIT_CODE,
        },
        Err(GuardStartError { code, reason }) => {
            send_report(&control, &GuardReport::StartFailed(reason));
            send_report(&control, &GuardReport::AllEnded);
            code
        }
    };
    ExitCode::from(code)
}

/// The reason why the guard could not start the agent.
struct GuardStartError {
    code: u8,
    reason: String,
}

impl<E: Into<io::Error>> From<E> for GuardStartError {
    fn from(error: E) -> Self {
        let reason = format!("the guard failed: {}", error.into());
        Self {
            code: GUARD_FAILED_EXIT_CODE,
            reason,
        }
    }
}

struct Guard<'a> {
    control: &'a UnixStream,
    /// The bytes from `control` that do not form a whole line yet.
    received: Vec<u8>,
    lease_timer: OwnedFd,
    /// Readable when a child may have ended.
    child_ended: UnixStream,
    agent: Pid,
    status: Option<ExitStatus>,
    limit_enforcer: LimitEnforcer,
}

/// The decision whether the tree may live on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TreeAction {
    Keep,
    Kill,
}

impl<'a> Guard<'a> {
    /// Turns the process into a guard and starts the agent.
    fn start(
        control: &'a UnixStream,
        args: impl IntoIterator<Item = OsString>,
    ) -> Result<Self, GuardStartError> {
        // 1. Parse the arguments.
        let invalid = |text| io::Error::new(io::ErrorKind::InvalidInput, text);
        let mut args = args.into_iter();
        let millis = args.next().and_then(|arg| arg.to_str()?.parse().ok());
        let millis = millis
            .ok_or_else(|| invalid("the first argument must be the lease in milliseconds"))?;
        let limits = args.next().unwrap_or_default();
        let limits = limits_argument::from_argument(&limits.to_string_lossy())
            .map_err(|_| invalid("the second argument must be the limits as JSON"))?;
        let cgroup_path = args.next().filter(|cgroup_path| !cgroup_path.is_empty());
        let program = args
            .next()
            .ok_or_else(|| invalid("the program is missing"))?;

        // 2. Prepare the process. Signals and the subreaper come before the start of the agent, so that no child ends
        // unnoticed and no orphan escapes.
        let child_ended = install_signal_handlers()?;
        // `setsid` fails only if the process already leads a session.
        setsid().ok();
        set_child_subreaper(Some(getpid()))?;
        // The lease counts from here, so that a slow start of the agent does not lengthen it.
        let lease_timer = timerfd_create(
            TimerfdClockId::Boottime,
            TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK,
        )?;
        set_timer(&lease_timer, Duration::from_millis(millis))?;
        let streams = AgentStreams::receive(control)?;
        control.set_nonblocking(true)?;

        // 3. Start the agent.
        let mut command = Command::new(&program);
        // The agent gets a process group of its own, because a tool that signals its own group must not reach the
        // guard.
        command.args(args).process_group(0);
        command
            .stdin(streams.stdin)
            .stdout(streams.stdout)
            .stderr(streams.stderr);
        // If the control group cannot be created after all, the guard enforces the limits itself.
        let cgroup =
            cgroup_path.and_then(|cgroup_path| Cgroup::create(cgroup_path.into(), limits).ok());
        let limit_enforcer = LimitEnforcer::new(limits, cgroup);
        let child = limit_enforcer.start(|| command.spawn());
        let child = child.map_err(|error| GuardStartError {
            code: NOT_STARTED_EXIT_CODE,
            reason: error.to_string(),
        })?;
        Ok(Self {
            control,
            received: Vec::new(),
            lease_timer,
            child_ended,
            agent: Pid::from_child(&child),
            status: None,
            limit_enforcer,
        })
    }

    /// Watches the tree until no child is left.
    fn watch(mut self) -> ExitStatus {
        // The end of the grace for descendants. Set once the agent's own process has ended and the descendants got
        // SIGTERM.
        let mut orphans_until: Option<Instant> = None;
        while !self.reap() {
            if self.status.is_some() && orphans_until.is_none() {
                signal_tree(Signal::TERM);
                orphans_until = Some(Instant::now() + ORPHAN_GRACE);
            }
            // A guard that can no longer poll kills the tree, because otherwise no lease would end it.
            if self
                .wait_for_event(orphans_until)
                .unwrap_or(TreeAction::Kill)
                == TreeAction::Kill
            {
                self.kill_tree();
            }
        }
        let Self {
            control,
            status,
            limit_enforcer,
            ..
        } = self;
        // The group is empty now. Remove it before the report, because the worker may then start the agent of the run,
        // whose group has the same name as the group of the run's precheck.
        drop(limit_enforcer);
        send_report(control, &GuardReport::AllEnded);
        status.unwrap_or(ExitStatus::Unknown)
    }

    /// Waits for the next event and returns whether the tree may live on.
    fn wait_for_event(&mut self, until: Option<Instant>) -> io::Result<TreeAction> {
        let first = [until, self.limit_enforcer.next_poll()]
            .into_iter()
            .flatten()
            .min();
        let left = first.map(|until| until.saturating_duration_since(Instant::now()));
        let [control, lease, child] = wait_readable(
            [
                self.control.as_fd(),
                self.lease_timer.as_fd(),
                self.child_ended.as_fd(),
            ],
            left,
        )?;
        if child {
            drain(&self.child_ended);
        }
        if lease {
            send_report(self.control, &GuardReport::LeaseExpired);
            return Ok(TreeAction::Kill);
        }
        if control && self.read_commands()? == TreeAction::Kill {
            return Ok(TreeAction::Kill);
        }
        if let Some(limit) = self.limit_enforcer.poll_if_due() {
            send_report(self.control, &GuardReport::LimitExceeded(limit));
            return Ok(TreeAction::Kill);
        }
        let grace_over = until.is_some_and(|until| until <= Instant::now());
        Ok(if grace_over {
            TreeAction::Kill
        } else {
            TreeAction::Keep
        })
    }

    /// Reads the worker's orders. Kills the tree at an order that it cannot parse, because such a worker is broken.
    fn read_commands(&mut self) -> io::Result<TreeAction> {
        let mut chunk = [0; 512];
        let mut control = self.control;
        loop {
            match control.read(&mut chunk) {
                Ok(0) => return Ok(TreeAction::Kill),
                Ok(count) => self.received.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Ok(TreeAction::Kill),
            }
        }
        while let Some(end) = self.received.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.received.drain(..=end).collect();
            match String::from_utf8_lossy(&line).trim_end().parse() {
                Ok(GuardCommand::Lease(time)) => set_timer(&self.lease_timer, time)?,
                Ok(GuardCommand::Terminate) => signal_tree(Signal::TERM),
                Ok(GuardCommand::ReportUsage) => send_report(
                    self.control,
                    &GuardReport::Usage(self.limit_enforcer.resource_usage()),
                ),
                Err(_) => return Ok(TreeAction::Kill),
            }
        }
        Ok(TreeAction::Keep)
    }

    /// Kills the tree again and again until no child is left, however long that takes.
    fn kill_tree(&mut self) {
        let mut pause = MIN_KILL_PAUSE;
        loop {
            self.limit_enforcer.kill();
            // A failure (no descriptor left, a process of another user) is retried in the next round.
            stop_and_kill(|| Ok(ProcessTable::read()?.descendants([getpid()]))).ok();
            if self.reap() {
                return;
            }
            if let Ok([true]) = wait_readable([self.child_ended.as_fd()], Some(pause)) {
                drain(&self.child_ended);
            }
            pause = (pause * 2).min(MAX_KILL_PAUSE);
        }
    }

    /// Reaps every child that has ended. Returns `true` if no child is left.
    fn reap(&mut self) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.agent && self.status.is_none() => {
                    let status = read_status(status);
                    self.status = Some(status);
                    // The kernel may have killed the process for its memory before the guard polled the group. Report
                    // the excess before the exit, so that the worker knows the cause when it sees the status.
                    if let Some(limit) = self.limit_enforcer.limit_exceeded_in_cgroup() {
                        send_report(self.control, &GuardReport::LimitExceeded(limit));
                    }
                    send_report(self.control, &GuardReport::Exited(status));
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return false,
                // `ECHILD`: a subreaper without children has no descendants either.
                Err(_) => return true,
            }
        }
    }
}

/// Sends a report to the worker. Ignores errors, because the worker may be dead and the guard must go on all the
/// same.
fn send_report(mut control: &UnixStream, report: &GuardReport) {
    control.write_all(report.to_string().as_bytes()).ok();
}

/// Installs handlers for the signals that would end the guard, and returns a stream that becomes readable when a
/// child ends. The guard installs handlers and does not ignore the signals, because the agent would inherit ignored
/// signals but not handlers.
fn install_signal_handlers() -> io::Result<UnixStream> {
    let noted = Arc::new(AtomicBool::new(false));
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        signal_hook::flag::register(signal.as_raw(), Arc::clone(&noted))?;
    }
    let (child_ended, written) = UnixStream::pair()?;
    child_ended.set_nonblocking(true)?;
    signal_hook::low_level::pipe::register(Signal::CHILD.as_raw(), written)?;
    Ok(child_ended)
}

fn drain(mut stream: &UnixStream) {
    let mut chunk = [0; 64];
    while matches!(stream.read(&mut chunk), Ok(count) if count > 0) {}
}

fn signal_tree(signal: Signal) {
    let tree = ProcessTable::read().map(|table| table.descendants([getpid()]));
    for process in tree.unwrap_or_default() {
        process.signal(signal).ok();
    }
}

/// Sets the timer. Raises a lease of zero to one nanosecond, because zero disarms the timer and the tree would live
/// forever.
fn set_timer(timer: &OwnedFd, time: Duration) -> io::Result<()> {
    let time = time.max(Duration::from_nanos(1));
    let never = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let value = Itimerspec {
        it_interval: never,
        it_value: timespec(time),
    };
    timerfd_settime(timer, TimerfdTimerFlags::empty(), &value)?;
    Ok(())
}

fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    }
}

/// Waits until one of the descriptors is readable or at end of file. Returns for each of them whether it is.
fn wait_readable<const N: usize>(
    fds: [std::os::fd::BorrowedFd<'_>; N],
    limit: Option<Duration>,
) -> io::Result<[bool; N]> {
    let mut polled = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
    match poll(&mut polled, limit.map(timespec).as_ref()) {
        Ok(_) => Ok(polled.map(|fd| !fd.revents().is_empty())),
        Err(Errno::INTR) => Ok([false; N]),
        Err(error) => Err(error.into()),
    }
}

fn read_status(status: WaitStatus) -> ExitStatus {
    if let Some(code) = status.exit_status() {
        ExitStatus::Code(code)
    } else if let Some(signal) = status.terminating_signal() {
        ExitStatus::Signal(signal)
    } else {
        ExitStatus::Unknown
    }
}
