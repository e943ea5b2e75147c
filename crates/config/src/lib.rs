//! The configuration: one declaration for each setting, and the code that reads, merges and documents all of them.
//!
//! [`SETTINGS`] declares the name, the environment variable, the flag, the type, the bounds, the default and the
//! documentation of each setting. The parser, the merge, `matins config show` and the reference page all use these
//! declarations.
//!
//! **Invariants:** this crate reads nothing but its arguments: no file, no environment, no clock. If several sources
//! have a value, the order of precedence is flag, environment, file, default. No function shows a secret, except
//! [`Address::reveal`].

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
pub use kind::{AnySettingType, Base, Given, Hint, Kind, LogFormat, Plain};
pub use problem::{Origin, Problem};
pub use reading::MAX_FILE_BYTES;
pub use reference::reference;
pub use resolve::resolve;
pub use setting::Setting;
pub use settings::{Config, SETTINGS, Shown};
pub use sources::{Effective, Sources};
pub use variables::{CONFIG_FILE_VARIABLE, TOKEN, UnknownVariable, unknown_variables};
