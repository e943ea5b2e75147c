//! Declares the settings of Matins, and reads, merges and documents their values.
//!
//! ```text
//! SETTINGS ── one Setting for each setting: its names, SettingType, default and description
//!    │
//! ConfigFile, environment, flags ── Sources ── resolve() ── Config of Effective values, and ConfigProblems
//! ```
//!
//! - [`SETTINGS`] is the only declaration of the settings. The parser, [`resolve`], `matins config show` and
//!   [`reference_page`] all use it.
//! - [`ConfigFile::parse`] reads a file, and [`Sources`] adds the flags and the environment to it.
//! - [`team`] reads the files of teams, which are documents of their own and no settings.
//! - [`resolve`] merges the sources into a [`Config`] and returns every [`ConfigProblem`] with its [`Origin`].
//!
//! Read `settings.rs` first.
//!
//! **Invariants:** this crate reads nothing but its arguments: no file, no environment, no clock. If several sources
//! have a value, the order of precedence is flag, environment, file, default. No function shows a secret, except
//! [`Address::reveal`].

mod address;
mod collector;
mod databases;
mod directory_list;
mod file;
mod file_parser;
mod network_types;
mod problem;
mod resolve;
mod setting;
mod setting_type;
mod settings;
mod settings_reference;
mod sources;
pub mod team;
mod variables;
mod zone_setting;

pub use address::Address;
pub use file::ConfigFile;
pub use file_parser::MAX_FILE_BYTES;
pub use problem::{ConfigProblem, Origin};
pub use resolve::resolve;
pub use setting::Setting;
pub use setting_type::{
    AnySettingType, DisplayValue, LogFormat, PathBase, PathHint, RawValue, SettingType,
};
pub use settings::{Config, EffectiveSetting, SETTINGS};
pub use settings_reference::reference_page;
pub use sources::{Effective, Sources};
pub use variables::{CONFIG_FILE_VARIABLE, TOKEN_VARIABLE, UnknownVariable, unknown_variables};
