//! A process of Matins, put together: the data folder with its lock and its sockets, the database, the loops
//! of the daemon and the API over them.
//!
//! **Invariants:** has no terminal: it prints nothing, reads no argument and no variable of the environment.
//! Its callers give it the configuration, the path of the data folder and the environment that agents inherit.
//! Only the system's clock and randomness are made here.

mod data_folder;
mod error;
mod host;
mod local;
mod open_files;
mod probe;
mod server;
mod settings;
mod socket;
mod standalone;
mod system;
mod taking_over;

pub use data_folder::{DATABASE, DataFolder, SERVE_LOCK, ServeLock};
pub use error::Error;
pub use local::{GUARD, Local, guard_program};
pub use open_files::raise_limit as raise_open_files_limit;
pub use probe::AgentProbe;
pub use server::{Reach, Server};
pub use settings::{location, loop_settings};
pub use socket::{Asked, ask};
pub use standalone::{newest_attempt, take_turn};
pub use system::{OsEntropy, SystemClock, SystemUptime, hostname};
