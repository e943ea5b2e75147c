//! The time zone of a schedule for which the command line names none.
//!
//! The command chooses the zone and sends it, because nine o'clock means the clock of the person who types the command.
//! The server may run elsewhere, and takes UTC for a request without a zone.

use std::{
    ffi::OsString,
    fs, io,
    io::Read as _,
    path::{Component, Path, PathBuf},
};

use config::{Config, Origin};
use model::schedule::Zone;

use crate::{
    environment,
    error::{CliError, Exit},
    output::{Output, OutputError},
};

/// The value of `--zone` for the zone of the variable `TZ`, else of the machine.
const LOCAL_ZONE: &str = "local";
/// The folder of the files that name the zone of the machine.
const SYSTEM_CONFIG_FOLDER: &str = "/etc";
/// The file in that folder whose link names the zone.
const LOCALTIME_FILE_NAME: &str = "localtime";
/// The maximum number of links that are followed from `/etc/localtime`.
const MAX_LINKS: usize = 8;
/// The maximum number of bytes that are read of `/etc/timezone`.
const MAX_NAME_FILE_BYTES: u64 = 1024;

/// The zone of a new schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChosenZone {
    /// The name as `--zone` gives it, or the IANA name of the default.
    pub(crate) name: String,
    source: ZoneSource,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ZoneSource {
    /// The option `--zone`.
    Option,
    /// The setting `default_zone`.
    Setting(Origin),
    /// The variable `TZ`.
    Variable,
    /// The files of the machine.
    Machine,
    /// Neither `TZ` nor the machine names a zone.
    Unknown,
}

/// The sources of the default, without the command line.
struct ZoneSources {
    /// The zone of the setting `default_zone`, and the origin of its value.
    setting: Option<(Zone, Origin)>,
    /// The value of `TZ`. An empty value means UTC.
    variable: Option<OsString>,
    /// The folder of the files that name the zone of the machine.
    system_config: PathBuf,
}

/// Returns the zone of a new schedule: that of `--zone`, else of the setting `default_zone`, else of the variable `TZ`,
/// else of the machine, else UTC. The value `local` of `--zone` skips the setting.
///
/// # Errors
///
/// Fails if `TZ` decides and holds neither an IANA name nor the path of a zone's file.
pub(crate) fn choose(given: Option<&str>, config: &Config) -> Result<ChosenZone, CliError> {
    let setting = &config.default_zone;
    let sources = ZoneSources {
        setting: setting
            .value
            .clone()
            .map(|zone| (zone, setting.origin.clone())),
        variable: environment::time_zone(),
        system_config: SYSTEM_CONFIG_FOLDER.into(),
    };
    choose_from(given, &sources)
}

fn choose_from(given: Option<&str>, sources: &ZoneSources) -> Result<ChosenZone, CliError> {
    let is_local = given.is_some_and(|name| name.eq_ignore_ascii_case(LOCAL_ZONE));
    let (zone, source) = match (given, &sources.setting) {
        (Some(name), _) if !is_local => {
            return Ok(ChosenZone {
                name: name.to_owned(),
                source: ZoneSource::Option,
            });
        }
        (None, Some((zone, origin))) => (zone.clone(), ZoneSource::Setting(origin.clone())),
        _ => match zone_of_variable(sources)? {
            Some(found) => found,
            None => zone_of_machine(&sources.system_config),
        },
    };
    Ok(ChosenZone {
        name: zone.name().to_owned(),
        source,
    })
}

/// Returns the zone that `TZ` names. Returns `None` if it is unset.
fn zone_of_variable(sources: &ZoneSources) -> Result<Option<(Zone, ZoneSource)>, CliError> {
    let Some(value) = &sources.variable else {
        return Ok(None);
    };
    let text = value.to_string_lossy();
    // POSIX lets an implementation define the values that begin with a colon. For the C library, they name a file of
    // the zone database, as a value without a colon may.
    let name = text.strip_prefix(':').unwrap_or(&text);
    if name.is_empty() {
        return Ok(Some((Zone::utc(), ZoneSource::Variable)));
    }
    let path = Path::new(name);
    if path == Path::new(SYSTEM_CONFIG_FOLDER).join(LOCALTIME_FILE_NAME) {
        return Ok(Some(zone_of_machine(&sources.system_config)));
    }
    let named = if path.is_absolute() {
        zone_of_path(path)
    } else {
        None
    };
    match named.map_or_else(|| Zone::parse(name), Ok) {
        Ok(zone) => Ok(Some((zone, ZoneSource::Variable))),
        Err(error) => {
            let message = format!("{error} (in the variable `TZ`)");
            Err(CliError::message(Exit::Usage, message).with_hint(
                "name the zone with `--zone`, such as `--zone Europe/Prague`, or in the setting `default_zone`",
            ))
        }
    }
}

/// Returns the zone of the machine, or UTC if its files name none.
fn zone_of_machine(system_config: &Path) -> (Zone, ZoneSource) {
    let linked = zone_of_link(&system_config.join(LOCALTIME_FILE_NAME));
    let named = linked.or_else(|| zone_of_name_file(&system_config.join("timezone")));
    named.map_or((Zone::utc(), ZoneSource::Unknown), |zone| {
        (zone, ZoneSource::Machine)
    })
}

/// Returns the zone to which a link leads. Returns `None` if the file is a copy, which does not tell its name.
fn zone_of_link(link: &Path) -> Option<Zone> {
    let mut path = link.to_owned();
    for _ in 0..MAX_LINKS {
        let target = fs::read_link(&path).ok()?;
        // Take the first name on the way, because the zone's own file may be a link to another name of the same zone.
        if let Some(zone) = zone_of_path(&target) {
            return Some(zone);
        }
        path = path.parent()?.join(target);
    }
    None
}

/// Returns the zone of a file in a folder of the zone database, such as `/usr/share/zoneinfo/Europe/Prague`.
fn zone_of_path(path: &Path) -> Option<Zone> {
    let mut parts = path.components().skip_while(|part| {
        let is_database = |name: &str| name.starts_with("zoneinfo");
        !matches!(part, Component::Normal(name) if name.to_str().is_some_and(is_database))
    });
    parts.next()?;
    let parts: Option<Vec<_>> = parts.map(|part| part.as_os_str().to_str()).collect();
    let name = parts?.join("/");
    // The folders `posix` and `right` repeat the database without and with leap seconds.
    let name = name
        .strip_prefix("posix/")
        .or_else(|| name.strip_prefix("right/"))
        .unwrap_or(&name);
    Zone::parse(name).ok()
}

/// Returns the zone that the first line of a file names.
fn zone_of_name_file(path: &Path) -> Option<Zone> {
    let read = || -> io::Result<String> {
        let mut text = String::new();
        let file = fs::File::open(path)?;
        file.take(MAX_NAME_FILE_BYTES).read_to_string(&mut text)?;
        Ok(text)
    };
    let text = read().ok()?;
    Zone::parse(text.lines().next()?.trim()).ok()
}

impl ChosenZone {
    /// Prints the zone and its source, unless `--zone` has named the zone.
    pub(crate) fn print(&self, output: Output) -> Result<(), OutputError> {
        match self.message() {
            Some(message) if self.source == ZoneSource::Unknown => {
                output.note(&message);
                Ok(())
            }
            Some(message) if !output.json => output.line(&message),
            _ => Ok(()),
        }
    }

    /// Returns the line with the zone and its source. Returns `None` if `--zone` has named the zone.
    fn message(&self) -> Option<String> {
        let source = match &self.source {
            ZoneSource::Option => return None,
            ZoneSource::Unknown => {
                let message = "The time zone of this machine is unknown, so the schedule is in UTC. Name another zone \
                               with `--zone` or in the setting `default_zone`.";
                return Some(message.into());
            }
            ZoneSource::Setting(Origin::Flag(flag)) => format!("the flag `--{flag}`"),
            ZoneSource::Setting(Origin::Environment(name)) => format!("the variable `{name}`"),
            ZoneSource::Setting(_) => "the setting `default_zone`".into(),
            ZoneSource::Variable => "the variable `TZ`".into(),
            ZoneSource::Machine => "this machine".into(),
        };
        Some(format!("Time zone {}, from {source}", self.name))
    }
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _, os::unix::fs::symlink};

    use tempfile::TempDir;

    use super::*;

    /// A machine whose files name no zone.
    fn machine() -> TempDir {
        tempfile::tempdir().unwrap()
    }

    fn machine_in(zone: &str) -> TempDir {
        let machine = machine();
        let target = format!("../usr/share/zoneinfo/{zone}");
        symlink(target, machine.path().join(LOCALTIME_FILE_NAME)).unwrap();
        machine
    }

    fn sources(setting: Option<&str>, variable: Option<&str>, machine: &TempDir) -> ZoneSources {
        ZoneSources {
            setting: setting.map(|name| {
                let origin = Origin::Environment("MATINS_DEFAULT_ZONE");
                (Zone::parse(name).unwrap(), origin)
            }),
            variable: variable.map(OsString::from),
            system_config: machine.path().to_owned(),
        }
    }

    fn name_and_source(given: Option<&str>, sources: &ZoneSources) -> (String, ZoneSource) {
        let chosen = choose_from(given, sources).unwrap();
        (chosen.name, chosen.source)
    }

    #[test]
    fn zone_comes_from_option_setting_variable_machine_in_this_order() {
        let machine = machine_in("Asia/Tokyo");
        let all = sources(Some("Africa/Cairo"), Some("Europe/Prague"), &machine);
        let option = ("america/Lima".to_owned(), ZoneSource::Option);
        assert_eq!(name_and_source(Some("america/Lima"), &all), option);
        let setting = ZoneSource::Setting(Origin::Environment("MATINS_DEFAULT_ZONE"));
        let setting = ("Africa/Cairo".to_owned(), setting);
        assert_eq!(name_and_source(None, &all), setting);
        let variable = ("Europe/Prague".to_owned(), ZoneSource::Variable);
        assert_eq!(name_and_source(Some("Local"), &all), variable);
        let unset = sources(None, Some("Europe/Prague"), &machine);
        assert_eq!(name_and_source(None, &unset), variable);
        let unset = sources(None, None, &machine);
        let here = ("Asia/Tokyo".to_owned(), ZoneSource::Machine);
        assert_eq!(name_and_source(None, &unset), here);
    }

    #[test]
    fn message_names_zone_with_source_or_says_that_machine_has_none() {
        let message = |given: Option<&str>, machine: &TempDir| {
            let chosen = choose_from(given, &sources(None, None, machine));
            chosen.unwrap().message()
        };
        let unknown = message(None, &machine()).unwrap();
        let expected = "The time zone of this machine is unknown, so the schedule is in UTC. ";
        assert!(unknown.starts_with(expected), "{unknown}");
        assert!(unknown.contains("`--zone`"), "{unknown}");
        let found = message(None, &machine_in("Asia/Tokyo"));
        assert_eq!(found.unwrap(), "Time zone Asia/Tokyo, from this machine");
        assert_eq!(message(Some("UTC"), &machine()), None);
    }

    #[test]
    fn variable_that_names_no_zone_is_refused() {
        let machine = machine_in("Asia/Tokyo");
        for wrong in [
            "CET-1CEST",
            ":CET-1CEST,M3.5.0,M10.5.0/3",
            "Europe/Prage",
            "/var/zones/prague",
            "<+03>-3",
        ] {
            let error = choose_from(None, &sources(None, Some(wrong), &machine)).unwrap_err();
            let message = error.full_message();
            assert_eq!(error.exit(), Exit::Usage);
            assert!(message.starts_with("invalid time zone `"), "{message}");
            assert!(message.ends_with("(in the variable `TZ`)"), "{message}");
        }
        let mut unreadable = sources(None, None, &machine);
        unreadable.variable = Some(OsStr::from_bytes(b"Europe/\xff").to_owned());
        assert!(choose_from(None, &unreadable).is_err());
        // The variable does not matter if the zone is known without it.
        let known = sources(Some("Africa/Cairo"), Some("CET-1CEST"), &machine);
        assert_eq!(name_and_source(None, &known).0, "Africa/Cairo");
    }

    #[test]
    fn variable_names_zone_with_colon_or_path_and_empty_is_utc() {
        let machine = machine_in("Asia/Tokyo");
        for (value, zone) in [
            ("europe/prague", "Europe/Prague"),
            (":Europe/Prague", "Europe/Prague"),
            (":/usr/share/zoneinfo/Europe/Prague", "Europe/Prague"),
            ("/usr/share/zoneinfo/right/Europe/Prague", "Europe/Prague"),
            ("", "UTC"),
            (":", "UTC"),
        ] {
            let found = name_and_source(None, &sources(None, Some(value), &machine));
            assert_eq!(found, (zone.to_owned(), ZoneSource::Variable), "{value}");
        }
        let found = name_and_source(None, &sources(None, Some(":/etc/localtime"), &machine));
        assert_eq!(found, ("Asia/Tokyo".to_owned(), ZoneSource::Machine));
    }

    #[test]
    fn machine_zone_is_first_name_behind_link_or_in_file() {
        let here = machine();
        let at = |name: &str| here.path().join(name);
        let zone = || zone_of_machine(here.path());
        let unknown = (Zone::utc(), ZoneSource::Unknown);
        assert_eq!(zone(), unknown);
        // A copy of a zone's file does not tell its name.
        fs::write(at("localtime"), "TZif2").unwrap();
        assert_eq!(zone(), unknown);
        fs::write(at("timezone"), "no zone\n").unwrap();
        assert_eq!(zone(), unknown);
        fs::write(at("timezone"), "Europe/Prague\n").unwrap();
        assert_eq!(zone().0.name(), "Europe/Prague");
        fs::remove_file(at("localtime")).unwrap();
        symlink("second", at("localtime")).unwrap();
        symlink("/etc/zoneinfo/Europe/Bratislava", at("second")).unwrap();
        assert_eq!(zone().0.name(), "Europe/Bratislava");
        // A circle of links names no zone.
        fs::remove_file(at("second")).unwrap();
        symlink("localtime", at("second")).unwrap();
        assert_eq!(zone().0.name(), "Europe/Prague");
    }
}
