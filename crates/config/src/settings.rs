//! The declarations of all settings. To add a setting, add one entry to `settings!` and read the new field of
//! [`Config`].

use std::{
    net::{Ipv4Addr, SocketAddr, SocketAddrV4},
    path::PathBuf,
    time::Duration,
};

use model::{allowlist::Allowlist, limits, schedule::Zone};

use crate::{
    Address,
    collector::Collector,
    databases::{DatabaseAddress, PostgresAddress},
    directory_list::DirectoryList,
    network_types::{Bool, HostNames, ListenAddress, RemoteServer},
    problem::{ConfigProblem, Origin},
    setting::Setting,
    setting_type::{
        AllowedTargets, Choice, Count, Days, Directives, DisplayValue, Folder, LogFormat, Seconds,
        SettingType,
    },
    sources::{Effective, Sources},
    zone_setting::TimeZone,
};

/// The effective value of one setting, without its type, for people.
#[derive(Clone)]
pub struct EffectiveSetting {
    /// The declaration of the setting.
    pub setting: Setting,
    /// The value, with secrets masked. `None` if the program chooses the value at run time.
    pub value: Option<DisplayValue>,
    /// The source of the value.
    pub origin: Origin,
}

/// Declares the settings: [`Config`] with their effective values, and [`SETTINGS`] with their declarations.
macro_rules! settings {
    ($( #[doc = $about:literal] $field:ident: $type:ty
        = [$name:literal, $environment:literal, $flag:literal] $kind:ident $made:tt; )+) => {
        /// The effective value of every setting.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct Config {
            $( #[doc = $about] pub $field: Effective<$type>, )+
        }

        /// Every setting, in the order of `matins config show` and of the reference page.
        pub const SETTINGS: &[Setting] = &[
            $( Setting {
                name: $name,
                environment: $environment,
                flag: $flag,
                about: $about.trim_ascii(),
                kind: &$kind $made,
            }, )+
        ];

        impl Config {
            pub(crate) fn from_sources(sources: &Sources, problems: &mut Vec<ConfigProblem>) -> Self {
                let mut settings = SETTINGS.iter();
                // `SETTINGS` and the fields come from the same entries in the same order, so the iterator yields the
                // declaration of each field in turn.
                Self { $( $field: sources.effective_value(&$kind $made, settings.next(), problems), )+ }
            }

            /// Returns every setting with its value and the source of the value.
            pub fn effective_settings(&self) -> Vec<EffectiveSetting> {
                let values = [ $( ($kind $made.display(&self.$field.value), self.$field.origin.clone()), )+ ];
                let settings = SETTINGS.iter().zip(values);
                settings
                    .map(|(setting, (value, origin))| EffectiveSetting { setting: *setting, value, origin })
                    .collect()
            }
        }
    };
}

settings! {
    /// The folder that holds all data of this instance
    data: Option<PathBuf> = ["data", "MATINS_DATA", "data"] Folder {
        default: "matins in $XDG_DATA_HOME or ~/.local/share",
    };
    /// The database: the path of a SQLite file, or the address of a PostgreSQL database
    database: Option<Address> = ["database", "MATINS_DATABASE", "database"] DatabaseAddress {
        default: "matins.db in the data folder",
    };
    /// The address of the same PostgreSQL database without a pooler, for notifications and migrations
    database_direct: Option<Address> = ["database_direct", "MATINS_DATABASE_DIRECT", "database-direct"] PostgresAddress {
        default: "none",
    };
    /// The server that commands call, if it is not the one of the data folder
    server: Option<String> = ["client.server", "MATINS_SERVER", "server"] RemoteServer {
        default: "the one that matins login has stored, else that of the data folder",
    };
    /// The time zone of new schedules for which a command or an agent names none; for agents, local means UTC
    default_zone: Option<Zone> = ["default_zone", "MATINS_DEFAULT_ZONE", "default-zone"] TimeZone {};
    /// The address on which the server listens for the API
    listen: Option<SocketAddr> = ["server.listen", "MATINS_LISTEN", "listen"] ListenAddress {
        default: SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, limits::LISTEN_PORT)),
    };
    /// Whether the server may listen on an address that other machines can reach
    beyond_loopback: bool = ["server.beyond_loopback", "MATINS_BEYOND_LOOPBACK", "beyond-loopback"] Bool {
        default: false,
    };
    /// The host names by which clients reach the server, in addition to those of loopback
    hosts: Vec<String> = ["server.hosts", "MATINS_HOSTS", "hosts"] HostNames {};
    /// Whether clients reach the server through a TLS proxy, so that cookies are restricted to TLS
    by_tls: bool = ["server.by_tls", "MATINS_BY_TLS", "by-tls"] Bool {
        default: false,
    };
    /// The maximum number of turns that run at once
    workers: u32 = ["workers", "MATINS_WORKERS", "workers"] Count {
        min: 1,
        max: 1000,
        default: limits::DEFAULT_WORKERS,
    };
    /// The maximum number of turns that lend their slots to other turns while they wait for an approval
    waiting_turns: u32 = ["waiting_turns", "MATINS_WAITING_TURNS", "waiting-turns"] Count {
        min: 0,
        max: 1000,
        default: limits::DEFAULT_WAITING_TURNS,
    };
    /// The directories that all servers of the database have at the same path, so that the agents of a goal share them
    shared_directories: Vec<PathBuf> = ["shared_directories", "MATINS_SHARED_DIRECTORIES", "shared-directories"] DirectoryList {};
    /// The maximum time between two polls of the scheduler, in case a notification is lost
    tick: Duration = ["scheduler.tick_seconds", "MATINS_TICK_SECONDS", "tick-seconds"] Seconds {
        min: Duration::from_secs(1),
        max: Duration::from_hours(1),
        default: limits::SCHEDULER_POLL_INTERVAL,
    };
    /// The interval between two heartbeats of a running turn
    heartbeat: Duration = ["heartbeat.seconds", "MATINS_HEARTBEAT_SECONDS", "heartbeat-seconds"] Seconds {
        min: Duration::from_secs(1),
        max: Duration::from_hours(1),
        default: limits::HEARTBEAT_INTERVAL,
    };
    /// The time without a heartbeat after which a run counts as lost; at least three heartbeats
    heartbeat_stale: Duration = ["heartbeat.stale_seconds", "MATINS_HEARTBEAT_STALE", "heartbeat-stale"] Seconds {
        min: Duration::from_secs(3),
        max: Duration::from_hours(24),
        default: limits::HEARTBEAT_STALE_AFTER,
    };
    /// The interval at which the watchdog polls for lost runs
    watchdog: Duration = ["watchdog.seconds", "MATINS_WATCHDOG_SECONDS", "watchdog-seconds"] Seconds {
        min: Duration::from_secs(1),
        max: Duration::from_hours(1),
        default: limits::WATCHDOG_INTERVAL,
    };
    /// The maximum time for running turns to end when the server stops
    stop_deadline: Duration = ["serve.stop_seconds", "MATINS_STOP_SECONDS", "stop-seconds"] Seconds {
        min: Duration::ZERO,
        max: Duration::from_hours(24),
        default: limits::STOP_DEADLINE,
    };
    /// The retention of a run's internal record (the prompt that was sent, complete errors); 0 means forever
    retain_records: Option<Duration> = ["retention.records_days", "MATINS_RETAIN_RECORDS_DAYS", "retain-records-days"] Days {
        max: Duration::from_hours(36_500 * 24),
        default: limits::RETAIN_RECORDS,
    };
    /// The retention of the events in a session's log, but not of transcripts; 0 means forever
    retain_events: Option<Duration> = ["retention.events_days", "MATINS_RETAIN_EVENTS_DAYS", "retain-events-days"] Days {
        max: Duration::from_hours(36_500 * 24),
        default: limits::RETAIN_EVENTS,
    };
    /// The networks and hosts that notifications may reach in addition to public addresses with https
    webhook_allow: Allowlist = ["webhook.allow", "MATINS_WEBHOOK_ALLOW", "webhook-allow"] AllowedTargets {};
    /// Whether automations of web chats are bound to one shared session, which every web chat shows
    unified_session: bool = ["unified_session", "MATINS_UNIFIED_SESSION", "unified-session"] Bool {
        default: false,
    };
    /// The log filter: a level, or targets with levels such as daemon=debug,warn
    log: Option<String> = ["log.directives", "MATINS_LOG", "log"] Directives {
        default: "info for serve, else warn",
    };
    /// The format of the logs on standard error
    log_format: LogFormat = ["log.format", "MATINS_LOG_FORMAT", "log-format"] Choice {
        options: &[("text", LogFormat::Text), ("json", LogFormat::Json)],
        default: LogFormat::Text,
    };
    /// The collector that receives the spans of turns and requests (OpenTelemetry, OTLP over HTTP)
    otlp_endpoint: Option<String> = ["telemetry.otlp_endpoint", "MATINS_OTLP_ENDPOINT", "otlp-endpoint"] Collector {};
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn setting_names_are_unique_and_well_formed() {
        let all = |name: fn(&Setting) -> &'static str| {
            let names: BTreeSet<_> = SETTINGS.iter().map(name).collect();
            assert_eq!(names.len(), SETTINGS.len(), "{names:?}");
            names
        };
        let small = |letter: char| letter.is_ascii_lowercase();
        for name in all(|setting| setting.name) {
            assert!(
                name.chars()
                    .all(|letter| small(letter) || "._".contains(letter)),
                "{name}"
            );
            assert!(name.matches('.').count() <= 1, "{name}");
        }
        for name in all(|setting| setting.environment) {
            let large = |letter: char| letter.is_ascii_uppercase() || letter == '_';
            assert!(
                name.starts_with("MATINS_") && name.chars().all(large),
                "{name}"
            );
        }
        for flag in all(|setting| setting.flag) {
            assert!(
                flag.chars().all(|letter| small(letter) || letter == '-'),
                "{flag}"
            );
        }
        for about in all(|setting| setting.about) {
            assert!(!about.is_empty() && !about.ends_with('.'), "{about}");
        }
    }
}
