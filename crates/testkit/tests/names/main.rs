#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]
mod definitions;
use std::path::Path;
#[test]
fn dump() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap();
    let mut out = String::new();
    for file in definitions::files(root, "*.rs") {
        let text = std::fs::read_to_string(root.join(&file)).unwrap();
        for d in definitions::definitions(&file, &text) {
            out.push_str(&format!(
                "{:?}\t{}\t{}\t{}\t{}\t{}\n",
                d.kind, d.name, d.is_public, d.is_test, d.position, d.column
            ));
        }
    }
    std::fs::write("/work/scratch/inv/all.tsv", out).unwrap();
}
