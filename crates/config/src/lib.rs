//! Configuration: every setting, declared once, with what is made of it.
//!
//! [`SETTINGS`] declares name, environment name, flag, type, bounds, default and documentation of each
//! setting; reading, merging, showing and the reference page come from that. **Invariants:** nothing is
//! read here but what is given: no file, no environment, no clock. What outweighs what is said in one
//! place: flag, environment, file, default. A secret is shown nowhere.

mod address;
mod collector;
mod databases;
mod file;
mod kind;
mod problem;
mod reach;
mod reading;
mod reference;
mod resolve;
mod setting;
mod settings;
mod sources;
mod variables;

pub use address::Address;
pub use file::File;
pub use kind::{AnyKind, Base, Given, Hint, Kind, LogFormat, Plain};
pub use problem::{Origin, Problem};
pub use reading::MAX_FILE_BYTES;
pub use reference::reference;
pub use resolve::resolve;
pub use setting::Setting;
pub use settings::{Config, SETTINGS, Shown};
pub use sources::{Effective, Sources};
pub use variables::{CONFIG_FILE, TOKEN, UnknownVariable, unknown_variables};
