//! The layers of the workspace: a crate imports only crates of lower layers.
//!
//! Cargo itself forbids only cycles, so this test has a table of the layers.

use std::{collections::BTreeMap, path::Path, process::Command};

use anyhow::{Context, ensure};
use serde_json::Value;

/// The layers, the lowest first. Crates of one layer never import each other.
const LAYERS: [&[&str]; 9] = [
    // The demonstration agent is in the lowest layer, because it imports no other crate of the workspace.
    &["model", "failpoint", "demo-agent", "tls"],
    // `delivery` is below the folders that hold its files.
    &["db", "delivery"],
    &[
        "store",
        "agent",
        "artifacts",
        "config",
        "telemetry",
        "trigger-folder",
        "webhook",
        "api-types",
        "runtime-api",
    ],
    // `store-tests` has only tests: those of the store.
    &["turn", "service", "client", "store-tests"],
    &["daemon", "api", "runtime", "tools"],
    &["server"],
    &["doctor"],
    &["cli", "bench", "chaos"],
    &["xtask"],
];

/// The helpers of tests. The crate is never shipped, so it may import any layer below the binary.
const TESTKIT: &str = "testkit";

/// The tools. They are never shipped, so they may use the helpers of tests: chaos reads the scripted agents' prompt
/// logs.
const NEVER_SHIPPED: [&str; 3] = ["bench", "chaos", "xtask"];

/// The points at which tests abort the process. The crate is never shipped.
const FAILPOINT: &str = "failpoint";

/// External dependencies, each with the only crates that may have it.
const RESTRICTED_DEPENDENCIES: [(&str, &[&str]); 11] = [
    // `bench` compares the store with bare statements, and inspects the databases that it has filled. `chaos` reads the
    // SQLite file of a server without the store. `testkit` creates and drops databases.
    ("sqlx", &["db", "bench", "chaos", TESTKIT]),
    ("clap", &["cli", "bench", "chaos", "xtask"]),
    ("anstream", &["cli"]),
    ("anstyle", &["cli"]),
    ("comfy-table", &["cli"]),
    ("jiff-sqlx", &["db"]),
    // One crate decides which certificates are trusted. `chaos` trusts none.
    ("rustls", &["tls", "chaos"]),
    ("rustls-native-certs", &["tls"]),
    ("webpki-roots", &["tls"]),
    // `agent` is the client's side of the protocol, `demo-agent` the agent's side.
    ("agent-client-protocol", &["agent", "demo-agent", TESTKIT]),
    // The server's side of the protocol of tools.
    ("rmcp", &["tools"]),
];

/// Restricted dependencies, each with the crates whose tests may have it nevertheless.
const RESTRICTED_DEPENDENCIES_IN_TESTS: [(&str, &[&str]); 2] = [
    // The suite corrupts databases and reads them without the store.
    ("sqlx", &["store", "store-tests"]),
    // The official client calls the tools.
    ("rmcp", &["cli"]),
];

/// Crates of one layer, each with the crates of the same layer that its tests may import nevertheless.
const SAME_LAYER_IN_TESTS: [(&str, &[&str]); 2] = [
    // The demonstration agent reads the prompts that the model renders.
    ("demo-agent", &["model"]),
    // One suite of turns runs over the store and over the API, with the same results.
    ("daemon", &["api", "runtime"]),
];

/// The crates that may import `db`. Only the store begins and commits transactions; other crates do so in tests only.
const IMPORTERS_OF_DB: [&str; 1] = ["store"];

/// The dependencies of each crate of the workspace.
type Graph = BTreeMap<String, Vec<Dependency>>;

#[derive(Debug, Clone)]
struct Dependency {
    name: String,
    is_workspace_crate: bool,
    is_dev_only: bool,
    is_optional: bool,
}

/// Returns the name of a package in the table. Packages have a prefix, and the binary has the name of the product.
fn short_name(package: &str) -> &str {
    match package {
        "matins" => "cli",
        _ => package.strip_prefix("matins-").unwrap_or(package),
    }
}

fn workspace() -> anyhow::Result<Graph> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .output()?;
    ensure!(
        output.status.success(),
        "`cargo metadata` failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"]
        .as_array()
        .context("`cargo metadata` returned no packages")?;
    packages.iter().map(package).collect()
}

fn package(package: &Value) -> anyhow::Result<(String, Vec<Dependency>)> {
    let name = |value: &Value| value["name"].as_str().map(short_name).map(str::to_owned);
    let dependencies = package["dependencies"].as_array();
    let dependencies: Option<Vec<Dependency>> = dependencies
        .context("a package has no list of dependencies")?
        .iter()
        .map(|dependency| {
            Some(Dependency {
                name: name(dependency)?,
                is_workspace_crate: dependency["path"].is_string(),
                is_dev_only: dependency["kind"] == "dev",
                is_optional: dependency["optional"] == true,
            })
        })
        .collect();
    Ok((
        name(package).context("a package without a name")?,
        dependencies.context("a dependency without a name")?,
    ))
}

fn layer(name: &str) -> Option<usize> {
    if name == TESTKIT {
        return Some(LAYERS.len() - 1);
    }
    LAYERS.iter().position(|layer| layer.contains(&name))
}

/// Returns a sentence for each dependency in the graph that violates the table.
fn layer_violations(graph: &Graph) -> Vec<String> {
    let mut found = Vec::new();
    for (name, dependencies) in graph {
        let Some(own_layer) = layer(name) else {
            found.push(format!("{name} has no layer: add it to the table"));
            continue;
        };
        for dependency in dependencies {
            let other = dependency.name.as_str();
            if !dependency.is_workspace_crate {
                let in_tests = RESTRICTED_DEPENDENCIES_IN_TESTS
                    .iter()
                    .any(|(outside, allowed)| *outside == other && allowed.contains(&&**name));
                let restriction = RESTRICTED_DEPENDENCIES
                    .iter()
                    .find(|(outside, _)| *outside == other);
                let refused =
                    restriction.is_some_and(|(_, allowed)| !allowed.contains(&name.as_str()));
                if refused && !(dependency.is_dev_only && in_tests) {
                    found.push(format!("{name} may not depend on {other}"));
                }
            } else if other == TESTKIT {
                let is_shipped = !NEVER_SHIPPED.contains(&name.as_str());
                if is_shipped && !dependency.is_dev_only {
                    found.push(format!("{name} ships {TESTKIT}"));
                }
            } else if NEVER_SHIPPED.contains(&other) && !NEVER_SHIPPED.contains(&name.as_str()) {
                found.push(format!("{name} imports {other}, which is a tool"));
            } else if other == FAILPOINT && !dependency.is_dev_only && !dependency.is_optional {
                found.push(format!("{name} ships {FAILPOINT}"));
            } else if other == "db"
                && !dependency.is_dev_only
                && !IMPORTERS_OF_DB.contains(&&**name)
            {
                found.push(format!("{name} imports db, which only store may"));
            } else if layer(other).is_none_or(|below| below >= own_layer) {
                let in_tests = SAME_LAYER_IN_TESTS
                    .iter()
                    .any(|(crate_, allowed)| crate_ == name && allowed.contains(&other));
                if !(dependency.is_dev_only && in_tests) {
                    found.push(format!("{name} imports {other}, which is not below it"));
                }
            }
        }
    }
    found
}

#[test]
fn diagram_of_architecture_shows_every_layer() -> anyhow::Result<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ARCHITECTURE.md");
    let text = std::fs::read_to_string(path)?;
    for (number, layer) in LAYERS.iter().enumerate() {
        let label = format!("[\"L{number}: ");
        let (_, rest) = text.split_once(&label).context("a layer is missing")?;
        let (names, _) = rest.split_once('"').context("a label has no end")?;
        let mut shown: Vec<&str> = names.split(", ").collect();
        let mut expected = layer.to_vec();
        shown.sort_unstable();
        expected.sort_unstable();
        assert_eq!(shown, expected, "L{number}");
    }
    Ok(())
}

#[test]
fn every_crate_imports_only_layers_below_its_own() {
    let graph = workspace().unwrap();
    assert!(graph.len() > LAYERS.len(), "{graph:?}");
    let offences = layer_violations(&graph);
    assert!(offences.is_empty(), "{}", offences.join("\n"));
}

/// Returns the dependencies of a package of some kinds, with their features, as `cargo tree` prints them.
fn dependency_tree(package: &str, kinds: &str) -> anyhow::Result<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--prefix=none", "--offline"])
        .args(["--package", package, "--edges", kinds])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .output()?;
    ensure!(output.status.success(), "{output:?}");
    Ok(String::from_utf8(output.stdout)?)
}

#[test]
fn binary_has_no_failpoints() {
    let ships = dependency_tree("matins", "normal,build").unwrap();
    assert!(ships.contains("matins-turn v"), "{ships}");
    assert!(!ships.contains("failpoint"), "{ships}");
}

#[test]
fn binary_has_no_test_support() {
    let ships = dependency_tree("matins", "normal,build,features").unwrap();
    assert!(ships.contains("matins-db v"), "{ships}");
    assert!(!ships.contains("test-support"), "{ships}");
    let tests = dependency_tree("matins-store-tests", "normal,build,features,dev").unwrap();
    assert!(tests.contains("test-support"), "{tests}");
}

#[test]
fn each_kind_of_layer_violation_is_found() {
    let on = |name: &str, is_workspace_crate, is_dev_only| Dependency {
        name: name.to_owned(),
        is_workspace_crate,
        is_dev_only,
        is_optional: false,
    };
    for (name, dependency, expected) in [
        (
            "turn",
            on("service", true, false),
            "turn imports service, which is not below it",
        ),
        (
            "model",
            on("store", true, true),
            "model imports store, which is not below it",
        ),
        (
            "turn",
            on("new", true, false),
            "turn imports new, which is not below it",
        ),
        (
            "daemon",
            on("api", true, false),
            "daemon imports api, which is not below it",
        ),
        (
            "api",
            on("daemon", true, true),
            "api imports daemon, which is not below it",
        ),
        ("turn", on("testkit", true, false), "turn ships testkit"),
        (
            "bench",
            on("cli", true, false),
            "bench imports cli, which is not below it",
        ),
        ("turn", on("failpoint", true, false), "turn ships failpoint"),
        (
            "testkit",
            on("bench", true, true),
            "testkit imports bench, which is a tool",
        ),
        (
            "service",
            on("clap", false, false),
            "service may not depend on clap",
        ),
        (
            "daemon",
            on("sqlx", false, false),
            "daemon may not depend on sqlx",
        ),
        (
            "store",
            on("sqlx", false, false),
            "store may not depend on sqlx",
        ),
        (
            "daemon",
            on("db", true, false),
            "daemon imports db, which only store may",
        ),
        (
            "new",
            on("serde", false, false),
            "new has no layer: add it to the table",
        ),
    ] {
        let graph = Graph::from([(name.to_owned(), vec![dependency])]);
        assert_eq!(layer_violations(&graph), [expected]);
    }
    let fine = vec![on("store", true, false), on("testkit", true, true)];
    let tests = vec![on("api", true, true)];
    let graph = Graph::from([("turn".to_owned(), fine), ("daemon".to_owned(), tests)]);
    assert_eq!(layer_violations(&graph), Vec::<String>::new());
}
