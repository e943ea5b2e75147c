//! Tasks of the repository: `cargo xtask bench`.

mod bench;

fn main() {}
