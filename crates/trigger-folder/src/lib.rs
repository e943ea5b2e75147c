//! The input and output of trigger folders, through which runs reach a directory on another machine.
//!
//! ```text
//! server:   Delivery::deliver --> .tmp-... --fsync, rename--> <time>-<run>.json
//! runtime:  FolderWatcher::changed --> FolderWatch, FolderLock, TriggerFolder::scan --> read --> remove
//!                                                                                  `--> reject --> failed/
//! ```
//!
//! - [`Delivery`] writes a file so that it is there completely or not at all; [`DirectoryDelivery`] does so in a folder
//!   of this machine, and probes it.
//! - [`TriggerFolder`] lists the files that wait, reads them, removes them, and moves unreadable ones away.
//! - [`IncompleteFiles`] decides how long a file that is not JSON may still be under way.
//! - [`FolderWatcher`] reports that a folder may have changed, by events and by polling.
//! - [`FolderLock`] keeps a second runtime away from the folder.
//!
//! Read `directory_delivery.rs` first, then `trigger_folder.rs`.
//!
//! **Invariants**
//! - The crate knows no database and no HTTP, and does not parse the files.
//! - Every operation opens the folder anew, follows no link to it, and refuses a folder that other users may write to.
//!   Files are opened beneath the open folder, without following links, and checked after they are open.
//! - Memory is bounded by the limits of the caller and never by the number of files.
//! - Blocking calls run on threads for blocking work. Those of a listing block the caller, which makes one task of the
//!   renewal of the watch, the check of the lock and the listing, because an idle runtime should wake up seldom.

mod delivery_port;
mod directory_delivery;
mod error;
mod file_name;
mod folder_handle;
mod incomplete_files;
mod lock;
mod probe;
mod scan;
mod temporary_name;
mod trigger_folder;
mod watcher;

pub use delivery_port::{Delivered, Delivery, DeliveryError};
pub use directory_delivery::DirectoryDelivery;
pub use error::{FolderError, FolderProblem};
pub use file_name::FileName;
pub use incomplete_files::IncompleteFiles;
pub use lock::{FolderLock, LockError};
pub use probe::FolderProbe;
pub use scan::Scan;
pub use trigger_folder::{FileStamp, ReadOutcome, TriggerFolder, WaitingFile};
pub use watcher::{FolderWatch, FolderWatcher};
