//! The type of the setting that lists directories.

use std::path::{Component, Path, PathBuf};

use crate::{
    problem::excerpt,
    setting_type::{AnySettingType, DisplayValue, PathBase, RawValue, SettingType},
};

/// Absolute paths of directories.
pub(crate) struct DirectoryList {}

impl AnySettingType for DirectoryList {
    fn accepted(&self) -> String {
        "absolute paths without .., except /, such as /srv/projects: a list in the file, elsewhere separated by commas"
            .into()
    }
    fn default_text(&self) -> String {
        "none".into()
    }
    fn example(&self) -> String {
        "[\"/srv/projects\"]".into()
    }
    fn placeholder(&self) -> &'static str {
        "DIRS"
    }
}

impl SettingType for DirectoryList {
    type Value = Vec<PathBuf>;
    fn read(&self, given: RawValue<'_>, _: Option<PathBase<'_>>) -> Result<Self::Value, String> {
        let texts: Vec<&str> = match given {
            RawValue::List(texts) => texts.iter().map(String::as_str).collect(),
            _ => given.text()?.split(',').map(str::trim).collect(),
        };
        let directory = |text: &str| {
            let path = Path::new(text);
            let has =
                |wanted: fn(&Component<'_>) -> bool| path.components().any(|part| wanted(&part));
            let problem = if !path.is_absolute() {
                "is not an absolute path"
            } else if has(|part| *part == Component::ParentDir) {
                "has `..`"
            } else if has(|part| matches!(part, Component::Normal(_))) {
                return Ok(path.components().collect());
            } else {
                "is the root of all paths"
            };
            Err(format!(
                "`{}` {problem}; expected {}",
                excerpt(text),
                self.accepted()
            ))
        };
        texts.into_iter().map(directory).collect()
    }
    fn default(&self) -> Self::Value {
        Vec::new()
    }
    fn display(&self, value: &Self::Value) -> Option<DisplayValue> {
        let paths: Vec<_> = value.iter().map(|path| path.to_string_lossy()).collect();
        (!paths.is_empty()).then(|| DisplayValue::Text(paths.join(",")))
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn shared_directories_are_absolute_and_below_the_root() {
        let kind = DirectoryList {};
        let parse = |text: &str| kind.read(RawValue::Untyped(OsStr::new(text)), None);
        let two = ["/srv/projects".to_owned(), "/mnt/a, b".to_owned()];
        assert_eq!(
            parse("/srv/projects, /mnt//team/"),
            Ok(vec!["/srv/projects".into(), "/mnt/team".into()])
        );
        assert_eq!(
            kind.read(RawValue::List(&two), None),
            Ok(two.iter().map(PathBuf::from).collect())
        );
        assert_eq!(kind.read(RawValue::List(&[]), None), Ok(Vec::new()));
        for (wrong, problem) in [
            (
                "projects",
                "`projects` is not an absolute path; expected absolute paths",
            ),
            ("~/projects", "`~/projects` is not an absolute path"),
            ("/srv,,/mnt", "`` is not an absolute path"),
            ("/srv/../etc", "`/srv/../etc` has `..`"),
            ("/", "`/` is the root of all paths"),
            ("/srv,//.", "`//.` is the root of all paths"),
        ] {
            let refused = parse(wrong).unwrap_err();
            assert!(refused.starts_with(problem), "{refused}");
        }
    }
}
