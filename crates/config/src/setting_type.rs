//! The types of settings: how a value is read, which values are accepted, and how a value is shown.

use std::{
    ffi::OsStr,
    fmt,
    path::{Path, PathBuf},
    time::Duration,
};

use model::allowlist::Allowlist;

/// A value of a setting as a source has it, before it is read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RawValue<'a> {
    /// Text of the environment or of the command line, which have no other type.
    Untyped(&'a OsStr),
    /// A text in the file.
    Text(&'a str),
    /// A whole number in the file.
    Number(i64),
    /// True or false in the file.
    Bool(bool),
    /// A list of texts in the file.
    List(&'a [String]),
    /// A value of another type in the file, with the name of that type.
    Other(&'static str),
}

impl RawValue<'_> {
    /// Returns the value as an error message repeats it. Returns `None` if the value has no short textual form.
    pub(crate) fn display_text(&self) -> Option<String> {
        match self {
            Self::Untyped(text) => Some(text.to_string_lossy().into_owned()),
            Self::Text(text) => Some(format!("{text:?}")),
            Self::Number(number) => Some(number.to_string()),
            Self::Bool(switch) => Some(switch.to_string()),
            Self::List(texts) => Some(format!("{texts:?}")),
            Self::Other(_) => None,
        }
    }

    /// Returns the text of a setting that takes a text. An empty text is an error.
    pub(crate) fn text(&self) -> Result<&str, String> {
        let text = match self {
            Self::Untyped(text) => text.to_str().ok_or("it is not UTF-8")?,
            Self::Text(text) => text,
            Self::Number(_) => return Err("it is a number, expected a text in quotes".into()),
            Self::Bool(_) => return Err("it is true or false, expected a text in quotes".into()),
            Self::List(_) => return Err("it is a list, expected a text in quotes".into()),
            Self::Other(kind) => return Err(format!("it is {kind}, expected a text in quotes")),
        };
        if text.trim().is_empty() {
            return Err("it is empty".into());
        }
        Ok(text)
    }

    /// Returns the number of a setting that takes a number between two bounds, inclusive.
    fn number(&self, least: u64, most: u64, accepted: &str) -> Result<u64, String> {
        let number = match self {
            Self::Untyped(text) => text.to_str().and_then(|text| text.trim().parse().ok()),
            Self::Number(number) => u64::try_from(*number).ok(),
            Self::Text(_) => return Err(format!("expected {accepted}, without quotes")),
            Self::Bool(_) => return Err(format!("it is true or false, expected {accepted}")),
            Self::List(_) => return Err(format!("it is a list, expected {accepted}")),
            Self::Other(kind) => return Err(format!("it is {kind}, expected {accepted}")),
        };
        number
            .filter(|number| (least..=most).contains(number))
            .ok_or_else(|| format!("expected {accepted}"))
    }
}

/// The base of relative paths in the file.
#[derive(Debug, Clone, Copy)]
pub struct PathBase<'a> {
    /// The folder that contains the file.
    pub folder: &'a Path,
    /// The folder that replaces `~`. `None` if `HOME` is not set.
    pub home: Option<&'a Path>,
}

impl PathBase<'_> {
    /// Returns the absolute path for a path in the file.
    pub(crate) fn resolve(self, path: &str) -> Result<PathBuf, String> {
        match (path.strip_prefix("~/"), self.home) {
            (Some(rest), Some(home)) => Ok(home.join(rest)),
            (Some(_), None) => Err("it begins with ~ and HOME is not set".into()),
            (None, _) => Ok(self.folder.join(path)),
        }
    }
}

/// A value in a form for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DisplayValue {
    /// A number.
    Number(u64),
    /// True or false.
    Bool(bool),
    /// A text.
    Text(String),
}

impl fmt::Display for DisplayValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Bool(switch) => write!(f, "{switch}"),
            Self::Text(text) => write!(f, "{text}"),
        }
    }
}

/// The kind of paths that a shell completes for a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathHint {
    /// Nothing.
    None,
    /// Folders.
    Folder,
    /// Files.
    File,
}

/// The type of a setting: how its values are read and shown.
pub trait SettingType: AnySettingType {
    /// The type of a value in the program.
    type Value: Clone;
    /// Reads a value. `base` is present if the value comes from the file.
    ///
    /// # Errors
    ///
    /// Returns the accepted values, or the mistake in the value, as text that follows the name of the setting.
    fn read(&self, given: RawValue<'_>, base: Option<PathBase<'_>>) -> Result<Self::Value, String>;
    /// Returns the value if no source has one.
    fn default(&self) -> Self::Value;
    /// Returns the value for people. Returns `None` if the program chooses the value at run time.
    fn display(&self, value: &Self::Value) -> Option<DisplayValue>;
}

/// The parts of [`SettingType`] that do not depend on the type of the value.
pub trait AnySettingType: Sync {
    /// Returns the accepted values, as text that follows "expected".
    fn accepted(&self) -> String;
    /// Returns the default as it would be written, or a description of it.
    fn default_text(&self) -> String;
    /// Returns a TOML value for the example file: the default if it can be written, or else a sample.
    fn example(&self) -> String;
    /// Returns the placeholder of a value in usage lines.
    fn placeholder(&self) -> &'static str;
    /// Returns the kind of paths that a shell completes.
    fn hint(&self) -> PathHint {
        PathHint::None
    }
    /// Returns all accepted values, if they can be enumerated. Returns an empty list for all other types.
    fn choices(&self) -> Vec<&'static str> {
        Vec::new()
    }
    /// `true` if a value may contain a password, so that errors do not repeat it.
    fn is_secret(&self) -> bool {
        false
    }
}

/// A whole number between two bounds.
pub(crate) struct Count {
    pub(crate) min: u32,
    pub(crate) max: u32,
    pub(crate) default: u32,
}

impl AnySettingType for Count {
    fn accepted(&self) -> String {
        format!("a whole number from {} to {}", self.min, self.max)
    }
    fn default_text(&self) -> String {
        self.default.to_string()
    }
    fn example(&self) -> String {
        self.default.to_string()
    }
    fn placeholder(&self) -> &'static str {
        "N"
    }
}

impl SettingType for Count {
    type Value = u32;
    fn read(&self, given: RawValue<'_>, _: Option<PathBase<'_>>) -> Result<u32, String> {
        let number = given.number(self.min.into(), self.max.into(), &self.accepted())?;
        u32::try_from(number).map_err(|_| self.accepted())
    }
    fn default(&self) -> u32 {
        self.default
    }
    fn display(&self, value: &u32) -> Option<DisplayValue> {
        Some(DisplayValue::Number((*value).into()))
    }
}

/// A duration in whole seconds.
pub(crate) struct Seconds {
    pub(crate) min: Duration,
    pub(crate) max: Duration,
    pub(crate) default: Duration,
}

impl AnySettingType for Seconds {
    fn accepted(&self) -> String {
        let (least, most) = (self.min.as_secs(), self.max.as_secs());
        format!("whole seconds from {least} to {most}")
    }
    fn default_text(&self) -> String {
        self.default.as_secs().to_string()
    }
    fn example(&self) -> String {
        self.default_text()
    }
    fn placeholder(&self) -> &'static str {
        "SECONDS"
    }
}

impl SettingType for Seconds {
    type Value = Duration;
    fn read(&self, given: RawValue<'_>, _: Option<PathBase<'_>>) -> Result<Duration, String> {
        let (least, most) = (self.min.as_secs(), self.max.as_secs());
        given
            .number(least, most, &self.accepted())
            .map(Duration::from_secs)
    }
    fn default(&self) -> Duration {
        self.default
    }
    fn display(&self, value: &Duration) -> Option<DisplayValue> {
        Some(DisplayValue::Number(value.as_secs()))
    }
}

/// A duration in whole days. 0 means forever.
pub(crate) struct Days {
    pub(crate) max: Duration,
    pub(crate) default: Duration,
}

impl Days {
    const DAY: u64 = 24 * 60 * 60;

    fn whole_days(length: Duration) -> u64 {
        length.as_secs() / Self::DAY
    }
}

impl AnySettingType for Days {
    fn accepted(&self) -> String {
        let most = Self::whole_days(self.max);
        format!("whole days from 1 to {most}, or 0, which means forever")
    }
    fn default_text(&self) -> String {
        Self::whole_days(self.default).to_string()
    }
    fn example(&self) -> String {
        self.default_text()
    }
    fn placeholder(&self) -> &'static str {
        "DAYS"
    }
}

impl SettingType for Days {
    type Value = Option<Duration>;
    fn read(&self, given: RawValue<'_>, _: Option<PathBase<'_>>) -> Result<Self::Value, String> {
        let days = given.number(0, Self::whole_days(self.max), &self.accepted())?;
        Ok((days > 0).then(|| Duration::from_secs(days * Self::DAY)))
    }
    fn default(&self) -> Self::Value {
        Some(self.default)
    }
    fn display(&self, value: &Self::Value) -> Option<DisplayValue> {
        Some(DisplayValue::Number(value.map_or(0, Self::whole_days)))
    }
}

/// A folder. If no source names one, the program chooses it.
pub(crate) struct Folder {
    pub(crate) default: &'static str,
}

impl AnySettingType for Folder {
    fn accepted(&self) -> String {
        "a path".into()
    }
    fn default_text(&self) -> String {
        self.default.into()
    }
    fn example(&self) -> String {
        "\"/var/lib/matins\"".into()
    }
    fn placeholder(&self) -> &'static str {
        "DIR"
    }
    fn hint(&self) -> PathHint {
        PathHint::Folder
    }
}

impl SettingType for Folder {
    type Value = Option<PathBuf>;
    fn read(&self, given: RawValue<'_>, base: Option<PathBase<'_>>) -> Result<Self::Value, String> {
        // A path of the operating system need not be UTF-8, so it does not pass through `text`.
        if let RawValue::Untyped(path) = given
            && !path.is_empty()
        {
            return Ok(Some(path.into()));
        }
        let text = given.text()?;
        let path = base.map_or_else(|| Ok(text.into()), |base| base.resolve(text));
        path.map(Some)
    }
    fn default(&self) -> Self::Value {
        None
    }
    fn display(&self, value: &Self::Value) -> Option<DisplayValue> {
        let path = value.as_ref()?;
        Some(DisplayValue::Text(path.display().to_string()))
    }
}

/// The networks and hosts that notifications may reach although they are not public.
pub(crate) struct AllowedTargets {}

impl AnySettingType for AllowedTargets {
    fn accepted(&self) -> String {
        "networks and hosts separated by commas, such as 10.1.0.0/16, hooks.internal".into()
    }
    fn default_text(&self) -> String {
        "none".into()
    }
    fn example(&self) -> String {
        "\"10.1.0.0/16, hooks.internal\"".into()
    }
    fn placeholder(&self) -> &'static str {
        "TARGETS"
    }
}

impl SettingType for AllowedTargets {
    type Value = Allowlist;
    fn read(&self, given: RawValue<'_>, _: Option<PathBase<'_>>) -> Result<Allowlist, String> {
        let allowance = given.text()?.parse::<Allowlist>();
        allowance.map_err(|error| error.to_string())
    }
    fn default(&self) -> Allowlist {
        Allowlist::default()
    }
    fn display(&self, value: &Allowlist) -> Option<DisplayValue> {
        let text = value.to_string();
        (!text.is_empty()).then_some(DisplayValue::Text(text))
    }
}

/// The log directives. Only the logging library parses them, because this crate does not depend on it.
pub(crate) struct Directives {
    pub(crate) default: &'static str,
}

impl AnySettingType for Directives {
    fn accepted(&self) -> String {
        "levels and targets, such as info or daemon=debug,warn".into()
    }
    fn default_text(&self) -> String {
        self.default.into()
    }
    fn example(&self) -> String {
        "\"info\"".into()
    }
    fn placeholder(&self) -> &'static str {
        "DIRECTIVES"
    }
}

impl SettingType for Directives {
    type Value = Option<String>;
    fn read(&self, given: RawValue<'_>, _: Option<PathBase<'_>>) -> Result<Self::Value, String> {
        given.text().map(|text| Some(text.to_owned()))
    }
    fn default(&self) -> Self::Value {
        None
    }
    fn display(&self, value: &Self::Value) -> Option<DisplayValue> {
        value.clone().map(DisplayValue::Text)
    }
}

/// The format of the logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// Text for people.
    Text,
    /// One JSON object on each line.
    Json,
}

/// One word of an enumeration.
pub(crate) struct Choice<T: 'static> {
    pub(crate) options: &'static [(&'static str, T)],
    pub(crate) default: T,
}

impl<T: Copy + PartialEq + Sync> Choice<T> {
    fn option_name(&self, value: &T) -> &'static str {
        let option = self.options.iter().find(|(_, option)| option == value);
        option.map_or("", |(word, _)| word)
    }
}

impl<T: Copy + PartialEq + Sync> AnySettingType for Choice<T> {
    fn accepted(&self) -> String {
        self.choices().join(" or ")
    }
    fn default_text(&self) -> String {
        self.option_name(&self.default).into()
    }
    fn example(&self) -> String {
        format!("{:?}", self.option_name(&self.default))
    }
    fn placeholder(&self) -> &'static str {
        "WORD"
    }
    fn choices(&self) -> Vec<&'static str> {
        self.options.iter().map(|(word, _)| *word).collect()
    }
}

impl<T: Copy + PartialEq + Sync> SettingType for Choice<T> {
    type Value = T;
    fn read(&self, given: RawValue<'_>, _: Option<PathBase<'_>>) -> Result<T, String> {
        let text = given.text()?;
        let option = self.options.iter().find(|(word, _)| *word == text);
        option
            .map(|(_, value)| *value)
            .ok_or_else(|| format!("expected {}", self.accepted()))
    }
    fn default(&self) -> T {
        self.default
    }
    fn display(&self, value: &T) -> Option<DisplayValue> {
        Some(DisplayValue::Text(self.option_name(value).into()))
    }
}
