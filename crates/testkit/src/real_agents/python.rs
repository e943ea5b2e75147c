//! The agents of Python, which only `scripts/test-long` drives, because they need a newer Python than Debian 12 has.

use std::{fs, path::Path};

use super::{install, pairs, path_text};
use crate::{acp_lines::AgentCommand, model_server::ModelServer};

/// Returns the command of vibe, which restores with `session/load` and uses the chat completions API.
pub fn vibe(server: &ModelServer, home: &Path) -> anyhow::Result<AgentCommand> {
    let vibe_home = home.join(".vibe");
    fs::create_dir_all(&vibe_home)?;
    let config = format!(
        r#"active_model = "local"
enable_telemetry = false
enable_update_checks = false
enable_auto_update = false

[[providers]]
name = "local"
api_base = "{}/v1"
api_key_env_var = "LOCAL_API_KEY"
backend = "generic"

[[models]]
name = "test-model"
provider = "local"
alias = "local"
"#,
        server.url()
    );
    fs::write(vibe_home.join("config.toml"), config)?;
    Ok(AgentCommand {
        command: install("vibe")?.join("bin/vibe-acp"),
        args: Vec::new(),
        env: pairs([
            ("HOME", path_text(home)?),
            ("VIBE_HOME", path_text(&vibe_home)?),
            ("LOCAL_API_KEY", "x".to_owned()),
        ]),
    })
}

/// Returns the command of fast-agent, which restores with `session/resume` and uses the chat completions API.
pub fn fast_agent(server: &ModelServer, home: &Path) -> anyhow::Result<AgentCommand> {
    let config = format!(
        r#"default_model: "generic.test-model"
generic:
  api_key: "x"
  base_url: "{}/v1"
logger:
  type: "none"
"#,
        server.url()
    );
    let file = home.join("fast-agent.yaml");
    fs::write(&file, config)?;
    Ok(AgentCommand {
        command: install("fast-agent")?.join("bin/fast-agent-acp"),
        args: vec!["--config-path".to_owned(), path_text(&file)?],
        env: pairs([("HOME", path_text(home)?)]),
    })
}
