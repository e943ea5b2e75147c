//! The declarations. A new setting is one entry here, and whoever uses it reads its field of [`Config`].

use std::{
    net::{Ipv4Addr, SocketAddr, SocketAddrV4},
    path::PathBuf,
    time::Duration,
};

use model::{allowance::Allowance, limits};

use crate::{
    Address,
    collector::Collector,
    databases::{Database, Server},
    kind::{Allowed, Choice, Count, Days, Directives, Folder, Kind, LogFormat, Plain, Seconds},
    problem::{Origin, Problem},
    reach::{Hosts, Listen, Remote, Switch},
    setting::Setting,
    sources::{Effective, Sources},
};

/// The effective value of one setting, without its type, for people.
#[derive(Clone)]
pub struct Shown {
    /// The setting.
    pub setting: Setting,
    /// The value; `None` where the program decides. Secrets are masked.
    pub value: Option<Plain>,
    /// Where it comes from.
    pub origin: Origin,
}

/// Declares the settings: the struct of their effective values, and the list of what is known of them.
macro_rules! settings {
    ($( #[doc = $about:literal] $field:ident: $type:ty
        = [$name:literal, $environment:literal, $flag:literal] $kind:ident $made:tt; )+) => {
        /// The effective value of every setting.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct Config {
            $( #[doc = $about] pub $field: Effective<$type>, )+
        }

        /// Every setting, in the order in which they are shown.
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
            pub(crate) fn from_sources(sources: &Sources, problems: &mut Vec<Problem>) -> Self {
                let mut settings = SETTINGS.iter();
                // Both lists are made of the same entries, in the same order.
                Self { $( $field: sources.one(&$kind $made, settings.next(), problems), )+ }
            }

            /// Every setting with its value and where that comes from.
            pub fn shown(&self) -> Vec<Shown> {
                let values = [ $( ($kind $made.shown(&self.$field.value), self.$field.origin.clone()), )+ ];
                let settings = SETTINGS.iter().zip(values);
                settings
                    .map(|(setting, (value, origin))| Shown { setting: *setting, value, origin })
                    .collect()
            }
        }
    };
}

settings! {
    /// The folder of everything that this instance keeps
    data: Option<PathBuf> = ["data", "MATINS_DATA", "data"] Folder {
        default: "matins in $XDG_DATA_HOME or ~/.local/share",
    };
    /// The database: the path of a SQLite file, or the address of a PostgreSQL server
    database: Option<Address> = ["database", "MATINS_DATABASE", "database"] Database {
        default: "matins.db in the data folder",
    };
    /// The address of the same PostgreSQL database without a pooler between, for listening and migrations
    database_direct: Option<Address> = ["database_direct", "MATINS_DATABASE_DIRECT", "database-direct"] Server {
        default: "none",
    };
    /// The server that commands ask, where it is not the one of the data folder
    server: Option<String> = ["client.server", "MATINS_SERVER", "server"] Remote {
        default: "the one that matins login has stored, else that of the data folder",
    };
    /// The address at which the API is served
    listen: Option<SocketAddr> = ["server.listen", "MATINS_LISTEN", "listen"] Listen {
        default: SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, limits::LISTEN_PORT)),
    };
    /// Whether that may be an address that others than this machine reach
    beyond_loopback: bool = ["server.beyond_loopback", "MATINS_BEYOND_LOOPBACK", "beyond-loopback"] Switch {
        default: false,
    };
    /// Names beside those of loopback by which the server is reached
    hosts: Vec<String> = ["server.hosts", "MATINS_HOSTS", "hosts"] Hosts {};
    /// Whether the server is reached through a proxy that does TLS: cookies are then for TLS alone
    by_tls: bool = ["server.by_tls", "MATINS_BY_TLS", "by-tls"] Switch {
        default: false,
    };
    /// How many turns run at once
    workers: u32 = ["workers", "MATINS_WORKERS", "workers"] Count {
        least: 1,
        most: 1000,
        default: limits::WORKERS,
    };
    /// How many turns that wait for people lend their slots to others meanwhile
    waiting_turns: u32 = ["waiting_turns", "MATINS_WAITING_TURNS", "waiting-turns"] Count {
        least: 0,
        most: 1000,
        default: limits::WAITING_TURNS,
    };
    /// The longest sleep of the scheduler, a net below the wake-ups
    tick: Duration = ["scheduler.tick_seconds", "MATINS_TICK_SECONDS", "tick-seconds"] Seconds {
        least: Duration::from_secs(1),
        most: Duration::from_hours(1),
        default: limits::TICK,
    };
    /// How often a running turn says that it lives
    heartbeat: Duration = ["heartbeat.seconds", "MATINS_HEARTBEAT_SECONDS", "heartbeat-seconds"] Seconds {
        least: Duration::from_secs(1),
        most: Duration::from_hours(1),
        default: limits::HEARTBEAT,
    };
    /// After how long without a heartbeat a run is given up; at least three heartbeats
    heartbeat_stale: Duration = ["heartbeat.stale_seconds", "MATINS_HEARTBEAT_STALE", "heartbeat-stale"] Seconds {
        least: Duration::from_secs(3),
        most: Duration::from_hours(24),
        default: limits::HEARTBEAT_STALE,
    };
    /// How often lost runs are looked for
    watchdog: Duration = ["watchdog.seconds", "MATINS_WATCHDOG_SECONDS", "watchdog-seconds"] Seconds {
        least: Duration::from_secs(1),
        most: Duration::from_hours(1),
        default: limits::WATCHDOG,
    };
    /// How long running turns may take to end when the server stops
    stop_deadline: Duration = ["serve.stop_seconds", "MATINS_STOP_SECONDS", "stop-seconds"] Seconds {
        least: Duration::ZERO,
        most: Duration::from_hours(24),
        default: limits::STOP_DEADLINE,
    };
    /// How long the record of a run (what was really sent, errors in full) is kept; 0 is for ever
    retain_records: Option<Duration> = ["retention.records_days", "MATINS_RETAIN_RECORDS_DAYS", "retain-records-days"] Days {
        most: Duration::from_hours(36_500 * 24),
        default: limits::RETAIN_RECORDS,
    };
    /// How long the events of a session's log are kept; 0 is for ever; transcripts always are
    retain_events: Option<Duration> = ["retention.events_days", "MATINS_RETAIN_EVENTS_DAYS", "retain-events-days"] Days {
        most: Duration::from_hours(36_500 * 24),
        default: limits::RETAIN_EVENTS,
    };
    /// Where notifications may go beside public addresses with https: networks and hosts, with commas
    webhook_allow: Allowance = ["webhook.allow", "MATINS_WEBHOOK_ALLOW", "webhook-allow"] Allowed {};
    /// Whether automations made from the web are bound to one conversation, which every web chat shows
    unified_session: bool = ["unified_session", "MATINS_UNIFIED_SESSION", "unified-session"] Switch {
        default: false,
    };
    /// What is logged: a level, or targets with levels such as daemon=debug,warn
    log: Option<String> = ["log.directives", "MATINS_LOG", "log"] Directives {
        default: "info for serve, else warn",
    };
    /// How logs are written on standard error
    log_format: LogFormat = ["log.format", "MATINS_LOG_FORMAT", "log-format"] Choice {
        options: &[("text", LogFormat::Text), ("json", LogFormat::Json)],
        default: LogFormat::Text,
    };
    /// Where the spans of turns and requests are sent (OpenTelemetry, OTLP over HTTP)
    otlp_endpoint: Option<String> = ["telemetry.otlp_endpoint", "MATINS_OTLP_ENDPOINT", "otlp-endpoint"] Collector {};
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_name_is_given_once_and_is_written_as_its_kind_is() {
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
