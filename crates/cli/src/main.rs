//! The `matins` command.

fn main() {}
