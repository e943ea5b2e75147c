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
mod file_parser;
mod network_types;
mod problem;
mod resolve;
mod setting;
mod setting_type;
mod settings;
mod settings_reference;
mod sources;
mod variables;

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
