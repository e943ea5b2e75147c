//! The agents that only `scripts/test-long` drives, because their packages take a gigabyte.
//!
//! The agents run in isolated home folders. Each function writes the configuration that makes its agent use the model
//! server, and that switches off the agent's own requests to other hosts.

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::{install, pairs, path_text, search_path};
use crate::{acp_lines::AgentCommand, model_server::ModelServer};

/// Returns the command of claude, which restores with `session/resume` and uses the messages API.
pub fn claude(server: &ModelServer, home: &Path) -> anyhow::Result<AgentCommand> {
    let modules = install("more-agents")?;
    Ok(AgentCommand {
        command: modules.join(".bin/claude-agent-acp"),
        args: Vec::new(),
        env: pairs([
            ("PATH", search_path(&modules)),
            ("HOME", path_text(home)?),
            ("ANTHROPIC_BASE_URL", server.url()),
            ("ANTHROPIC_API_KEY", "x".to_owned()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
        ]),
    })
}

/// Returns the command of gemini, which restores with `session/load`. The caller must not restore a session in the
/// minute in which gemini created it, because that erases the session, and can restore it only once.
pub fn gemini(server: &ModelServer, home: &Path) -> anyhow::Result<AgentCommand> {
    let modules = install("more-agents")?;
    let settings = json!({
        // gemini starts no MCP server in a folder that no person has called trusted.
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}},
        "privacy": {"usageStatisticsEnabled": false},
    });
    write_json(&home.join(".gemini/settings.json"), &settings)?;
    Ok(AgentCommand {
        command: modules.join(".bin/gemini"),
        // With the default model, gemini first asks another model which one to use.
        args: ["--acp", "--model", "gemini-2.5-flash"]
            .map(str::to_owned)
            .into(),
        env: pairs([
            ("PATH", search_path(&modules)),
            ("HOME", path_text(home)?),
            ("GOOGLE_GEMINI_BASE_URL", server.url()),
            ("GEMINI_API_KEY", "x".to_owned()),
        ]),
    })
}

/// Returns the command of kimi, which restores with `session/resume` and uses the chat completions API.
pub fn kimi(server: &ModelServer, home: &Path) -> anyhow::Result<AgentCommand> {
    let modules = install("more-agents")?;
    Ok(AgentCommand {
        command: modules.join(".bin/kimi"),
        args: vec!["acp".to_owned()],
        env: pairs([
            ("PATH", search_path(&modules)),
            ("HOME", path_text(home)?),
            ("KIMI_MODEL_PROVIDER_TYPE", "openai".to_owned()),
            ("KIMI_MODEL_BASE_URL", format!("{}/v1", server.url())),
            ("KIMI_MODEL_NAME", "test-model".to_owned()),
            ("KIMI_MODEL_API_KEY", "x".to_owned()),
        ]),
    })
}

/// Returns the command of opencode, which restores with `session/resume` and uses the chat completions API.
pub fn opencode(server: &ModelServer, home: &Path) -> anyhow::Result<AgentCommand> {
    let modules = install("more-agents")?;
    let config = json!({
        "autoupdate": false,
        "share": "disabled",
        "model": "local/test-model",
        "small_model": "local/test-model",
        "provider": {"local": {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": format!("{}/v1", server.url()), "apiKey": "x"},
            "models": {"test-model": {}},
        }},
    });
    write_json(&home.join(".config/opencode/opencode.json"), &config)?;
    Ok(AgentCommand {
        command: modules.join("opencode-linux-x64/bin/opencode"),
        args: vec!["acp".to_owned()],
        env: pairs([
            ("PATH", search_path(&modules)),
            ("HOME", path_text(home)?),
            ("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned()),
        ]),
    })
}

/// Returns the command of qwen, which restores with `session/resume` and uses the chat completions API.
pub fn qwen(server: &ModelServer, home: &Path) -> anyhow::Result<AgentCommand> {
    let modules = install("more-agents")?;
    let settings = json!({
        "security": {"auth": {"selectedType": "openai"}},
        "privacy": {"usageStatisticsEnabled": false},
    });
    write_json(&home.join(".qwen/settings.json"), &settings)?;
    Ok(AgentCommand {
        command: modules.join(".bin/qwen"),
        args: vec!["--acp".to_owned()],
        env: pairs([
            ("PATH", search_path(&modules)),
            ("HOME", path_text(home)?),
            ("OPENAI_BASE_URL", format!("{}/v1", server.url())),
            ("OPENAI_API_KEY", "x".to_owned()),
            ("OPENAI_MODEL", "test-model".to_owned()),
        ]),
    })
}

/// Writes a configuration file, and creates its folder.
fn write_json(path: &Path, content: &Value) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, content.to_string())?;
    Ok(())
}
