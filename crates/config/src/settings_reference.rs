//! The reference page of the configuration, generated from the declarations.

use std::fmt::Write as _;

use crate::{setting::Setting, settings::SETTINGS};

/// The text before the list of settings.
const INTRODUCTION: &str = "\
# Configuration

Made from the code: `MATINS_UPDATE=1 cargo test -p matins-config reference` writes this page anew, and
`matins config reference` prints it.

Everything has a default; without a file, Matins works. What is said of a setting counts in this order:

1. the flag on the command line,
2. the variable of the environment (an empty one counts as unset),
3. the file,
4. the default.

The file is the one that `--config FILE` or `MATINS_CONFIG` names, which must then be there; else
`$XDG_CONFIG_HOME/matins/config.toml`; else `~/.config/matins/config.toml`. It is
[TOML](https://toml.io). Paths in it count from its folder, and `~/` is the home directory. An unknown
key, a value of the wrong type and one out of bounds are refused with the line, before anything is
done, even where a flag or a variable outweighs them.

| to see | command |
| --- | --- |
| every setting's value, and where it comes from | `matins config show --origin` |
| which file is read | `matins config path` |
| whether a file can be taken | `matins config check FILE` |

`MATINS_TOKEN` is no setting: it holds the token for the server that commands ask, where that is not the
one of the data folder and `matins login` has stored none for it.

A password in the database's address is never shown. A file that has one belongs to you alone
(`chmod 600`). Servers that share a database should have the same heartbeat settings, and so should commands
beside them that take turns themselves.

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
        "\nAt least three heartbeats must fit before one is stale.\n\n## An example\n\n\
         Where a setting has a default of its own, that is the value here.\n\n```toml\n",
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
    let (without, within): (Vec<&Setting>, Vec<_>) = SETTINGS
        .iter()
        .partition(|setting| setting.path().0.is_none());
    for setting in without.into_iter().chain(within) {
        let (own, key) = setting.path();
        if own != table {
            table = own;
            let _ = write!(text, "\n[{}]\n", own.unwrap_or_default());
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
        for (said, default) in config
            .effective_settings()
            .iter()
            .zip(default.effective_settings())
        {
            assert!(said.value.is_some(), "{}", said.setting.name);
            assert!(
                default.value.is_none() || default.value == said.value,
                "{}",
                said.setting.name
            );
        }
    }
}
