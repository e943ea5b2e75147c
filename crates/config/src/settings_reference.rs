//! The reference page of the configuration, generated from the declarations.

use std::fmt::Write as _;

use crate::{setting::Setting, settings::SETTINGS};

/// The text before the list of settings.
const INTRODUCTION: &str = "\
# Configuration

You can set everything in a file, in the environment or on the command line. Matins also works without any
setting. If several sources have a value, the first of these wins:

1. the flag on the command line,
2. the environment variable (an empty variable counts as unset),
3. the file,
4. the default.

Matins reads the file that `--config FILE` or `MATINS_CONFIG` names, which must exist. Otherwise it reads
`$XDG_CONFIG_HOME/matins/config.toml` or `~/.config/matins/config.toml`, if the file exists. The format is
[TOML](https://toml.io). Paths in the file are relative to its folder, and `~/` is your home directory. Matins
refuses an unknown key, a value of the wrong type and a value out of bounds, and names the line, before it does
anything else. This applies even if a flag or a variable overrides the value.

| to see | command |
| --- | --- |
| the value of every setting, and its source | `matins config show --origin` |
| the path of the file | `matins config path` |
| whether a file is valid | `matins config check FILE` |

`MATINS_TOKEN` is not a setting. It contains the token for a remote server, if `matins login` has stored none for
that server.

Matins never shows the password in the address of a database. Make a file with a password readable for you alone
(`chmod 600`). Servers that share a database should have the same heartbeat settings and the same
`shared_directories`, and so should commands that run turns themselves beside these servers.

This page is generated: `matins config reference` prints it, and
`MATINS_UPDATE=1 cargo test -p matins-config reference` writes it.

";

/// Returns the content of the page `docs/configuration.md`.
pub fn reference_page() -> String {
    let mut page = INTRODUCTION.to_owned();
    page.push_str("## Settings\n");
    for setting in SETTINGS {
        let kind = setting.kind;
        // Writing to a `String` cannot fail.
        let _ = write!(
            page,
            "\n### `{name}`\n\n{about}.\n\n| | |\n| --- | --- |\n| accepted | {accepted} |\n\
             | default | {default} |\n| flag | `--{flag} {placeholder}` |\n\
             | environment | `{environment}` |\n",
            name = setting.name,
            about = setting.about,
            accepted = kind.accepted(),
            default = kind.default_text(),
            flag = setting.flag,
            placeholder = kind.placeholder(),
            environment = setting.environment,
        );
    }
    page.push_str(
        "\n`heartbeat.stale_seconds` must be at least three times `heartbeat.seconds`.\n\n## Example\n\n\
         The example sets every setting, to its default if it has one.\n\n```toml\n",
    );
    page.push_str(&example_file());
    page.push_str("```\n");
    page
}

/// Returns an example file that sets every setting. Top-level keys come first, because TOML would assign them to the
/// preceding table otherwise.
fn example_file() -> String {
    let mut text = String::new();
    let mut table = None;
    let (top_level, in_tables): (Vec<&Setting>, Vec<_>) = SETTINGS
        .iter()
        .partition(|setting| setting.path().0.is_none());
    for setting in top_level.into_iter().chain(in_tables) {
        let (setting_table, key) = setting.path();
        if setting_table != table {
            table = setting_table;
            let _ = write!(text, "\n[{}]\n", setting_table.unwrap_or_default());
        }
        let _ = write!(
            text,
            "# {}\n{key} = {}\n",
            setting.about,
            setting.kind.example()
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;
    use crate::{ConfigFile, Sources, resolve};

    #[test]
    fn config_reference_page_is_up_to_date() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
        if option_env!("MATINS_UPDATE").is_some() {
            fs::write(&page, reference_page()).unwrap();
        }
        assert_eq!(
            fs::read_to_string(&page).unwrap(),
            reference_page(),
            "docs/configuration.md is stale: MATINS_UPDATE=1 cargo test -p matins-config reference"
        );
    }

    #[test]
    fn example_config_file_is_valid_and_shows_defaults() {
        let file = ConfigFile::parse(Path::new("/x/config.toml"), example_file().as_bytes());
        let sources = Sources {
            file: Some(file),
            ..Sources::default()
        };
        let (config, problems) = resolve(&sources);
        assert_eq!(problems, []);
        let (default, _) = resolve(&Sources::default());
        for (example, default) in config
            .effective_settings()
            .iter()
            .zip(default.effective_settings())
        {
            assert!(example.value.is_some(), "{}", example.setting.name);
            assert!(
                default.value.is_none() || default.value == example.value,
                "{}",
                example.setting.name
            );
        }
    }
}
