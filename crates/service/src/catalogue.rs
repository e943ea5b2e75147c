//! The catalogue of known agents: how to start, install and sign in to each. It is the data file `agents.toml`,
//! compiled into the program.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use api_types::AgentInstallation;
use model::{
    agent::{AgentConfig, RestoreBy},
    permission::{PermissionRule, PermissionRules, Verdict},
};
use serde::Deserialize;

const CATALOG_TOML: &str = include_str!("agents.toml");

/// One agent of the catalogue. `agents.toml` describes the fields.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CatalogEntry {
    command: Vec<String>,
    install: String,
    needs: String,
    sign_in: String,
    #[serde(default)]
    sign_in_env: Vec<String>,
    #[serde(default)]
    sign_in_files: Vec<String>,
    #[serde(default)]
    pass_env: Vec<String>,
    restore: Option<RestoreBy>,
    #[serde(default)]
    restore_after_seconds: u32,
    start_seconds: Option<u32>,
    restore_seconds: Option<u32>,
    mode: Option<String>,
    #[serde(default)]
    own_tools: Vec<String>,
    #[serde(default)]
    allow: Vec<AllowedRequest>,
}

/// A rule of an agent that allows permission requests.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct AllowedRequest {
    kind: String,
    title: String,
}

impl From<AllowedRequest> for PermissionRule {
    fn from(AllowedRequest { kind, title }: AllowedRequest) -> Self {
        Self {
            tool: kind,
            title: Some(title),
            verdict: Verdict::Allow,
        }
    }
}

/// The catalogue by agent name. The file is part of the program, and a test reads it, so that it always parses.
static CATALOG: LazyLock<BTreeMap<String, CatalogEntry>> =
    LazyLock::new(|| toml::from_str(CATALOG_TOML).unwrap_or_default());

/// Returns the catalogue entry of the program that an agent starts. The name of the agent does not matter.
fn entry_for(config: &AgentConfig) -> Option<&'static CatalogEntry> {
    let program = |command: &[String]| {
        let program = Path::new(command.first()?).file_name()?;
        Some(program.to_owned())
    };
    let wanted = program(&config.command)?;
    CATALOG
        .values()
        .find(|entry| program(&entry.command).as_ref() == Some(&wanted))
}

/// Returns the agents of the catalogue with their names.
pub(crate) fn agents() -> Vec<(String, AgentConfig)> {
    let agent = |(name, entry): (&String, &CatalogEntry)| {
        let mut config = AgentConfig::new(entry.command.clone());
        config.pass_env.clone_from(&entry.sign_in_env);
        config.pass_env.extend_from_slice(&entry.pass_env);
        config.pass_env.sort_unstable();
        config.restore = entry.restore.unwrap_or(config.restore);
        config.restore_after_seconds = entry.restore_after_seconds;
        config.start_seconds = entry.start_seconds.unwrap_or(config.start_seconds);
        config.restore_seconds = entry.restore_seconds.unwrap_or(config.restore_seconds);
        config.mode.clone_from(&entry.mode);
        config.own_tools.clone_from(&entry.own_tools);
        let rules = entry.allow.iter().cloned().map(PermissionRule::from);
        config.permissions = PermissionRules(rules.collect());
        (name.clone(), config)
    };
    CATALOG.iter().map(agent).collect()
}

/// Returns the command that installs the program of an agent. Returns `None` if its program is not in the catalogue.
pub fn install_hint(config: &AgentConfig) -> Option<String> {
    entry_for(config).map(|entry| format!("`{}` (it needs {})", entry.install, entry.needs))
}

/// Returns how to sign in to an agent. Returns `None` if its program is not in the catalogue.
pub(crate) fn sign_in_hint(config: &AgentConfig) -> Option<String> {
    let entry = entry_for(config)?;
    let variables = entry.sign_in_env.join(", ");
    Some(format!("{}; or set one of {variables}", entry.sign_in))
}

/// Returns whether an agent is installed and signed in. Searches the environment that its process would get from
/// `server`, the environment of the server, because the process sees no other variables.
pub fn presence(config: &AgentConfig, server: &BTreeMap<String, String>) -> AgentInstallation {
    let environment = config.environment(server);
    let entry = entry_for(config);
    let (variables, files) = entry.map_or((&[][..], &[][..]), |entry| {
        (&entry.sign_in_env, &entry.sign_in_files)
    });
    let variable = variables.iter().find(|name| {
        environment
            .get(*name)
            .is_some_and(|value| !value.is_empty())
    });
    let file = || {
        let home = environment.get("HOME")?;
        let exists = |file: &&String| {
            let below = file.strip_prefix("~/").unwrap_or(file);
            Path::new(home).join(below).exists()
        };
        files.iter().find(exists)
    };
    AgentInstallation {
        program: config
            .command
            .first()
            .and_then(|program| find_program(program, environment.get("PATH"))),
        signed_in_by: variable.or_else(file).cloned(),
        install: install_hint(config),
        sign_in: entry.map(|entry| entry.sign_in.clone()),
    }
}

/// Returns the path of a program. Searches the folders of `search` for a bare name, as a shell does.
fn find_program(program: &str, search: Option<&String>) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        use std::os::unix::fs::PermissionsExt;
        path.metadata()
            .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(is_program);
    }
    std::env::split_paths(search?)
        .map(|folder| folder.join(program))
        .find(is_program)
}

#[cfg(test)]
mod tests {
    use model::{
        permission::{CallHistory, OwnTools, PermissionRequest, TOOL_NAMES},
        tools::ToolAccess,
    };

    use super::*;

    #[test]
    fn catalog_has_install_and_sign_in_for_each_agent() {
        let names: Vec<_> = agents().into_iter().map(|(name, _)| name).collect();
        assert_eq!(
            names,
            [
                "claude",
                "codex",
                "fast-agent",
                "gemini",
                "goose",
                "kimi",
                "opencode",
                "qwen",
                "vibe"
            ]
        );
        for (name, known) in &*CATALOG {
            assert!(!known.command.is_empty(), "{name}");
            assert!(known.install.contains(" install "), "{name}");
            assert!(
                !known.needs.is_empty() && !known.sign_in.is_empty(),
                "{name}"
            );
            assert!(!known.sign_in_env.is_empty(), "{name}");
        }
        for (name, config) in agents() {
            let mut once = config.pass_env.clone();
            once.dedup();
            assert_eq!(once, config.pass_env, "{name}");
        }
    }

    /// Returns the kind that fast-agent 0.10.46 derives from a tool's name, by whole words.
    fn kind_by_name(tool: &str) -> &'static str {
        let has = |words: &[&str]| tool.split('_').any(|word| words.contains(&word));
        if has(&["get", "list", "read"]) {
            "read"
        } else if has(&["create", "edit", "modify", "patch", "update", "write"]) {
            "edit"
        } else {
            "other"
        }
    }

    #[test]
    fn fast_agent_may_use_tools_that_it_calls_edits_by_their_names() {
        let (_, config) = agents()
            .into_iter()
            .find(|(name, _)| name == "fast-agent")
            .unwrap();
        let own = OwnTools::of(&config.own_tools, ToolAccess::All);
        let is_allowed = |kind: &str, title: &str| {
            let mut history = CallHistory::default();
            history.record(Some(kind), Some(title), None);
            let request = PermissionRequest {
                tool_kind: kind.into(),
                title: title.into(),
                history,
            };
            let verdict = config.permissions.verdict(&request);
            verdict == Some(Verdict::Allow) || own.cover(&request)
        };
        for tool in TOOL_NAMES {
            let kind = kind_by_name(tool);
            assert!(
                is_allowed(kind, &format!("matins/{tool}")),
                "{kind}: {tool}"
            );
        }
        for (kind, title) in [
            ("edit", "matins/create_file"),
            ("edit", "matins/create_task; notes.md"),
            ("edit", "files/update_task"),
            ("edit", "update_task"),
            ("execute", "matins/create_task"),
            ("delete", "matins/update_task"),
        ] {
            assert!(!is_allowed(kind, title), "{kind}: {title}");
        }
    }

    #[test]
    fn sign_in_is_detected_in_environment_of_agent() {
        let home = tempfile::tempdir().unwrap();
        let bin = home.path().join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let mut server = BTreeMap::from([
            ("HOME".to_owned(), text(home.path())),
            ("PATH".to_owned(), text(&bin)),
        ]);
        let (_, codex) = agents().remove(1);
        let seen = presence(&codex, &server);
        assert_eq!((seen.program, seen.signed_in_by), (None, None));
        assert!(seen.sign_in.unwrap().contains("codex login"));

        std::fs::create_dir_all(home.path().join(".codex")).unwrap();
        std::fs::write(home.path().join(".codex/auth.json"), "{}").unwrap();
        let program = bin.join("codex-acp");
        std::fs::write(&program, "#!/bin/sh\n").unwrap();
        assert_eq!(
            presence(&codex, &server).program,
            None,
            "the file is not executable"
        );
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, mode).unwrap();
        let seen = presence(&codex, &server);
        assert_eq!(seen.program, Some(program));
        assert_eq!(seen.signed_in_by.as_deref(), Some("~/.codex/auth.json"));

        server.insert("OPENAI_API_KEY".into(), "k".into());
        let seen = presence(&codex, &server);
        assert_eq!(seen.signed_in_by.as_deref(), Some("OPENAI_API_KEY"));
        // A variable that the configuration does not pass on does not reach the agent's process.
        let mut closed = codex.clone();
        closed.pass_env.clear();
        let seen = presence(&closed, &server);
        assert_eq!(seen.signed_in_by.as_deref(), Some("~/.codex/auth.json"));
    }
}
