//! A turn that a test holds open, and the files of runs in a data folder.

use std::{
    fs,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
};

use testkit::scripted::Step;

use crate::test_installation::{RunningCommand, TestInstallation};

/// Returns the files of runs in a data folder.
pub(crate) fn run_files(data: &Path) -> Vec<PathBuf> {
    let folders = fs::read_dir(data.join("runs"))
        .into_iter()
        .flatten()
        .flatten();
    let files =
        folders.flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten().flatten());
    files.map(|file| file.path()).collect()
}

/// A turn of a server, whose agent waits until the test ends the turn.
pub(crate) struct HeldTurn {
    server: RunningCommand,
    command: RunningCommand,
    goes_on: PathBuf,
    /// The file of the run.
    pub(crate) file: PathBuf,
}

impl HeldTurn {
    pub(crate) fn begin(world: &TestInstallation) -> Self {
        let (began, goes_on) = (world.path().join("began"), world.path().join("go"));
        world.add_scripted_agent([vec![
            Step::Touch(began.clone()),
            Step::WaitFor(goes_on.clone()),
        ]]);
        let server = world.serve();
        let command = world.start(&["session", "send", "--new", "--agent", "scripted", "hello"]);
        world.wait_for("the turn", |_| began.exists());
        Self {
            server,
            command,
            goes_on,
            file: run_files(&world.data_folder()).remove(0),
        }
    }

    /// Ends the turn, and returns its server, which goes on.
    pub(crate) fn end(self) -> RunningCommand {
        fs::write(&self.goes_on, "").unwrap();
        assert_eq!(self.command.end().code, 0);
        self.server
    }
}

/// Connects to a socket whose path may be longer than the operating system permits in an address.
pub(crate) fn connect_to(socket: &Path) -> UnixStream {
    let address = client::SocketAddress::for_path(socket).unwrap();
    UnixStream::connect(address.path()).unwrap()
}
