//! Modes and settings of a session.

use std::collections::BTreeMap;

use agent::SettingsError;
use model::agent::RestoreBy;
use testkit::scripted::{Event, Script, Setting};

use crate::support::{World, events};

fn script(world: &World) -> Script {
    let mut script = world.script();
    script.modes = vec!["ask".into(), "code".into()];
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    script.settings = vec![
        Setting {
            id: "effort".into(),
            values: words(&["low", "high"]),
            resets: None,
        },
        Setting {
            id: "model".into(),
            values: words(&["small", "large"]),
            resets: Some("effort".into()),
        },
    ];
    script
}

fn settings_map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(id, value)| ((*id).to_owned(), (*value).to_owned()))
        .collect()
}

fn applied_settings(script: &Script) -> Vec<String> {
    let applied = events(script).into_iter().filter_map(|event| match event {
        Event::ModeSet(mode) => Some(mode),
        Event::SettingSet(id, value) => Some(format!("{id}={value}")),
        Event::Resume(..) => Some("resume".into()),
        _ => None,
    });
    applied.collect()
}

#[tokio::test]
async fn mode_and_settings_are_applied_again_after_restore() {
    let world = World::new();
    let script = script(&world);
    let settings = settings_map(&[("model", "large")]);
    let (agent, opened) = world.open(&script).await;
    assert_eq!(opened.modes.as_ref().unwrap().current, "ask");
    assert_eq!(opened.settings[1].values, ["small", "large"]);
    agent.apply_settings(Some("code"), &settings).await.unwrap();
    world.end(agent).await;
    let agent = world.start(&script).await;
    agent
        .restore(&opened.id, world.cwd(), &[], RestoreBy::Auto)
        .await
        .unwrap();
    agent.apply_settings(Some("code"), &settings).await.unwrap();
    world.end(agent).await;
    let expected = ["code", "model=large", "resume", "code", "model=large"];
    assert_eq!(applied_settings(&script), expected);
}

#[tokio::test]
async fn setting_reset_by_another_is_set_again() {
    let world = World::new();
    let script = script(&world);
    let (agent, _) = world.open(&script).await;
    let settings = settings_map(&[("effort", "high"), ("model", "large")]);
    agent.apply_settings(None, &settings).await.unwrap();
    assert_eq!(
        applied_settings(&script),
        ["effort=high", "model=large", "effort=high"]
    );
    world.end(agent).await;
}

#[tokio::test]
async fn unknown_mode_setting_or_value_lists_offered_ones() {
    let world = World::new();
    let (agent, _) = world.open(&script(&world)).await;
    let error = agent
        .apply_settings(Some("yolo"), &settings_map(&[]))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "unknown mode `yolo`; the agent offers ask, code"
    );
    let error = agent
        .apply_settings(None, &settings_map(&[("speed", "1")]))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "unknown setting `speed`; the agent offers effort, model"
    );
    let error = agent
        .apply_settings(None, &settings_map(&[("model", "huge")]))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid value `huge` of setting `model`; the agent accepts small, large"
    );
    world.end(agent).await;
}

#[tokio::test]
async fn mode_of_agent_without_modes_is_refused() {
    let world = World::new();
    let (agent, _) = world.open(&world.script()).await;
    let error = agent
        .apply_settings(Some("code"), &settings_map(&[]))
        .await
        .unwrap_err();
    assert!(
        error.to_string().ends_with("the agent offers none"),
        "{error}"
    );
    world.end(agent).await;
}

#[tokio::test]
async fn settings_without_session_are_refused() {
    let world = World::new();
    let agent = world.start(&world.script()).await;
    let error = agent
        .apply_settings(None, &settings_map(&[]))
        .await
        .unwrap_err();
    assert_eq!(error, SettingsError::NoSession);
    world.end(agent).await;
}
