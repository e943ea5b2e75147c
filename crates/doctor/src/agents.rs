//! Checks the agents of enabled automations: whether their programs exist and, if requested, whether they start.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    path::{Path, PathBuf},
    sync::Arc,
};

use api_types::CheckDepth;
use model::agent::Agent;
use rustix::fs::{Access, access};
use server::{AgentProbe, DataFolder, OsEntropy, guard_program};
use service::{Probe, excerpt, install_hint};

use crate::{finding::Finding, formatting::with_sources};

/// The maximum number of characters of an error or a name in a finding.
const MAX_EXCERPT_CHARS: usize = 300;

/// Checks each agent in use. Also starts it in the data folder `start_in` if that is given.
pub(crate) async fn check_agents(
    in_use: &[&Agent],
    start_in: Option<&DataFolder>,
    environment: &BTreeMap<String, String>,
    search_path: &OsStr,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for agent in in_use {
        let found = check_program(agent, search_path);
        let is_installed = found.is_ok();
        match start_in {
            Some(folder) if is_installed => {
                findings.push(check_start(agent, folder, environment.clone()).await);
            }
            _ => findings.push(found.unwrap_or_else(|finding| finding)),
        }
    }
    if findings.is_empty() {
        findings.push(Finding::ok("agents", "no enabled automation needs one"));
    }
    findings
}

fn check_name(agent: &Agent) -> String {
    format!("agent {}", excerpt(&agent.name, MAX_EXCERPT_CHARS))
}

/// Returns a finding with the path of the agent's program. The error is the finding that there is no such program.
fn check_program(agent: &Agent, search_path: &OsStr) -> Result<Finding, Finding> {
    let name = agent.config.command.first().map_or("", String::as_str);
    // The configuration of the agent may set another `PATH`.
    let path = agent.config.env.get("PATH").map(OsStr::new);
    if let Some(found) = find_program(name, path.unwrap_or(search_path)) {
        return Ok(Finding::ok(check_name(agent), found.display().to_string()));
    }
    let remedy = install_hint(&agent.config).map_or_else(
        || "install it, or add its folder to PATH".to_owned(),
        |install| format!("install it: {install}"),
    );
    let found = format!("there is no program `{}` on PATH", name.escape_debug());
    Err(Finding::problem(check_name(agent), found, remedy))
}

/// Returns the file that the system would execute for a program name: the name itself if it contains a slash,
/// otherwise the first executable file of that name in `path`.
fn find_program(name: &str, path: &OsStr) -> Option<PathBuf> {
    let is_program = |file: &Path| file.is_file() && access(file, Access::EXEC_OK).is_ok();
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|file| is_program(file));
    }
    std::env::split_paths(path)
        .map(|folder| folder.join(name))
        .find(|file| !name.is_empty() && is_program(file))
}

/// Starts the agent, reads the capabilities that it announces, and stops it.
async fn check_start(
    agent: &Agent,
    folder: &DataFolder,
    environment: BTreeMap<String, String>,
) -> Finding {
    let probe = AgentProbe {
        guard: guard_program(),
        environment,
        cwd: folder.path().to_owned(),
        entropy: Arc::new(OsEntropy),
    };
    match probe.probe(&agent.config, CheckDepth::Offers).await {
        Ok(probed) => {
            let name = probed
                .offers
                .name
                .as_deref()
                .unwrap_or("an agent without a name");
            let version = probed.offers.version.as_deref().unwrap_or("");
            let found = excerpt(&format!("{name} {version}"), MAX_EXCERPT_CHARS);
            Finding::ok(check_name(agent), format!("{found} starts"))
        }
        Err(error) => {
            let found = with_sources(&error);
            let remedy = format!("run `matins agent check {}`", agent.name);
            Finding::problem(
                check_name(agent),
                excerpt(&found, MAX_EXCERPT_CHARS),
                remedy,
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_is_found_on_path_or_by_absolute_path() {
        let path = OsStr::new("/nowhere:/usr/bin:/bin");
        assert!(find_program("sh", path).is_some_and(|file| file.ends_with("bin/sh")));
        assert!(find_program("/bin/sh", path).is_some());
        for missing in [
            "no-such-program",
            "/no/such/program",
            "/etc/passwd",
            "/bin",
            "",
        ] {
            assert_eq!(find_program(missing, path), None, "{missing}");
        }
    }
}
