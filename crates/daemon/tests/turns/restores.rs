//! The restore of an agent's session, which is never replaced by another session.

use std::{collections::BTreeMap, fs};

use model::{
    agent::AgentConfig,
    entity::{Run, SeatSettings},
    run::RunStatus,
};
use testkit::scripted::{Crash, Event, OnRestore, Script, Setting, Step};

use crate::world::{World, on_demand, prompt_log, session_openings};

/// The reply of an agent whose session is open in another process.
const BUSY_REPLY: (i32, &str) = (-32003, "session is in use");

fn refuse((code, message): (i32, &str)) -> OnRestore {
    OnRestore::Refuse {
        code,
        message: message.into(),
    }
}

/// Changes the behaviour of the agent's next process.
fn change_script(script: &mut Script, change: impl FnOnce(&mut Script)) {
    change(script);
    script.command().unwrap();
}

pub(crate) async fn busy_session_is_retried_with_growing_backoff(world: &World) {
    let mut script = world.script();
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    world.send_and_take_turn(session, "One").await;

    change_script(&mut script, |script| script.on_restore = refuse(BUSY_REPLY));
    let first = world.send_and_take_turn(session, "Two").await;
    assert_eq!(first.status(), RunStatus::Failed, "{first:#?}");
    assert_eq!(first.state.reason(), Some("restore_busy"));
    let next = async || world.attempts(first.id).await.pop().unwrap();
    let second = next().await;
    let again = world.take_after_backoff(&second).await;
    assert_eq!(again.state.reason(), Some("restore_busy"));

    change_script(&mut script, |script| script.on_restore = OnRestore::Normal);
    let third = next().await;
    // The backoff grows.
    let wait = |run: &Run| run.state.not_before().unwrap().since(run.created_at);
    assert!(wait(&third) > wait(&second), "{second:#?} {third:#?}");
    let last = world.take_after_backoff(&third).await;
    assert_eq!(last.status(), RunStatus::Succeeded, "{last:#?}");

    // Each message reached the agent once and unchanged.
    assert_eq!(prompt_log(&script).prompts(), ["One", "Two"]);
    assert_eq!(session_openings(&script), ["new", "resume"]);
    let words = world.messages(session).await;
    let said: Vec<_> = words.iter().filter(|(role, _)| role == "user").collect();
    assert_eq!(said.len(), 2, "{words:#?}");
    let told = &words
        .iter()
        .find(|(_, text)| text.contains("in use elsewhere"))
        .unwrap()
        .1;
    assert!(told.contains("The run will be retried at "), "{told}");
}

pub(crate) async fn lost_agent_session_fails_until_automation_is_reset(world: &World) {
    let script = world.script();
    let agent = world.agent(&script).await;
    let id = world.create_automation(&on_demand(agent)).await;
    let fired = world.fire(id).await;
    let first = world.take_turn(fired).await;
    fs::remove_file(script.home.join("sessions/scripted-1.json")).unwrap();

    for _ in 0..2 {
        let fired = world.fire(id).await;
        let lost = world.take_turn(fired).await;
        assert_eq!(lost.status(), RunStatus::Failed, "{lost:#?}");
        assert_eq!(lost.state.reason(), Some("restore_gone"));
        assert_eq!(world.attempts(lost.id).await.len(), 1);
        let notice = world.last_notice(first.session_id.unwrap()).await;
        assert!(
            notice.contains("the agent does not know the session"),
            "{notice}"
        );
    }
    assert_eq!(session_openings(&script), ["new"]);

    // A person resets the session. The old conversation remains.
    let now = model::Clock::now(&*world.clock);
    world
        .store()
        .reset_automation(world.scope(), id, now)
        .await
        .unwrap();
    let fired = world.fire(id).await;
    let anew = world.take_turn(fired).await;
    assert_eq!(anew.status(), RunStatus::Succeeded, "{anew:#?}");
    assert_ne!(anew.session_id, first.session_id);
    assert_eq!(session_openings(&script), ["new", "new"]);
    assert!(!world.transcript(first.session_id.unwrap()).await.is_empty());
}

pub(crate) async fn refused_restore_fails_and_keeps_session(world: &World) {
    let mut script = world.script();
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    world.send_and_take_turn(session, "One").await;
    change_script(&mut script, |script| {
        script.on_restore = refuse((-32603, "the model is not configured"));
    });
    let refused = world.send_and_take_turn(session, "Two").await;
    assert_eq!(refused.state.reason(), Some("restore"), "{refused:#?}");
    assert_eq!(world.attempts(refused.id).await.len(), 1);

    change_script(&mut script, |script| script.on_restore = OnRestore::Normal);
    let run = world.send_and_take_turn(session, "Three").await;
    assert_eq!(run.status(), RunStatus::Succeeded, "{run:#?}");
    assert_eq!(session_openings(&script), ["new", "resume"]);
}

pub(crate) async fn agent_without_restore_fails_second_turn(world: &World) {
    let mut script = world.script();
    (script.capabilities.resume, script.capabilities.load) = (false, false);
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    let run = world.send_and_take_turn(session, "One").await;
    assert_eq!(run.status(), RunStatus::Succeeded, "{run:#?}");
    let run = world.send_and_take_turn(session, "Two").await;
    assert_eq!(run.state.reason(), Some("restore"), "{run:#?}");
    let notice = world.last_notice(session).await;
    assert!(
        notice.contains("neither session/resume nor session/load"),
        "{notice}"
    );
    assert_eq!(session_openings(&script), ["new"]);
}

pub(crate) async fn mode_and_settings_are_reapplied_after_restore(world: &World) {
    let mut script = world.script();
    script.modes = vec!["ask".into(), "code".into(), "plan".into()];
    let setting = |id: &str, values: &[&str], resets: Option<&str>| Setting {
        id: id.into(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
        resets: resets.map(str::to_owned),
    };
    script.settings = vec![
        setting("effort", &["low", "high"], None),
        setting("model", &["small", "large"], Some("effort")),
    ];
    let mut config = AgentConfig::new(script.command().unwrap());
    config.mode = Some("plan".into());
    config.settings = BTreeMap::from([
        ("model".to_owned(), "small".to_owned()),
        ("effort".to_owned(), "high".to_owned()),
    ]);
    let agent = world.agent_with(&config).await;
    let mut new = on_demand(agent);
    // The settings of the automation take precedence over those of the agent.
    new.settings = SeatSettings {
        mode: Some("code".into()),
        values: BTreeMap::from([("model".to_owned(), "large".to_owned())]),
    };
    let id = world.create_automation(&new).await;
    for _ in 0..3 {
        let fired = world.fire(id).await;
        let run = world.take_turn(fired).await;
        assert_eq!(run.status(), RunStatus::Succeeded, "{run:#?}");
    }

    // The settings of each process at its prompt.
    let ledger = prompt_log(&script);
    let (mut mode, mut values) = (String::new(), BTreeMap::new());
    let mut prompted = 0;
    for event in ledger.events() {
        match event {
            Event::New(..) | Event::Resume(..) => {
                mode = "ask".into();
                values =
                    BTreeMap::from([("effort", "low".to_owned()), ("model", "small".to_owned())]);
            }
            Event::ModeSet(set) => mode.clone_from(set),
            Event::SettingSet(id, value) if id == "model" => {
                values.insert("effort", "low".to_owned());
                values.insert("model", value.clone());
            }
            Event::SettingSet(_, value) => drop(values.insert("effort", value.clone())),
            Event::PromptReceived(_) => {
                prompted += 1;
                assert_eq!((mode.as_str(), values["model"].as_str()), ("code", "large"));
                assert_eq!(values["effort"], "high");
            }
            _ => {}
        }
    }
    assert_eq!(prompted, 3);
}

pub(crate) async fn unsupported_agent_mode_fails_before_prompt(world: &World) {
    let mut script = world.script();
    script.modes = vec!["ask".into()];
    let mut config = AgentConfig::new(script.command().unwrap());
    config.mode = Some("yolo".into());
    let agent = world.agent_with(&config).await;
    let session = world.session(agent).await;
    let run = world.send_and_take_turn(session, "One").await;
    assert_eq!(run.state.reason(), Some("settings"), "{run:#?}");
    assert_eq!(world.attempts(run.id).await.len(), 1);
    assert!(prompt_log(&script).prompts().is_empty());
    let notice = world.last_notice(session).await;
    assert!(
        notice.contains("yolo") && notice.contains("ask"),
        "{notice}"
    );
}

pub(crate) async fn agent_session_of_crashed_first_turn_is_not_kept(world: &World) {
    let mut script = world.script().prompt([Step::Crash(Crash::Abort)]);
    script.forgets_unprompted = true;
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    let run = world.send_and_take_turn(session, "One").await;
    assert_eq!(run.state.reason(), Some("agent_exited"), "{run:#?}");
    let seat = &world.store().seats(world.scope(), session).await.unwrap()[0];
    assert_eq!((&seat.acp_session_id, seat.turns), (&None, 0));
    // The agent has no memory on this instance, so another instance may run it.
    assert_eq!(seat.instance_id, None);

    change_script(&mut script, |script| script.prompts.clear());
    let attempts = world.attempts(run.id).await;
    let again = world.take_after_backoff(&attempts[1]).await;
    assert_eq!(again.status(), RunStatus::Succeeded, "{again:#?}");
    assert_eq!(session_openings(&script), ["new", "new"]);
    let seat = &world.store().seats(world.scope(), session).await.unwrap()[0];
    assert_eq!(
        (seat.turns, seat.instance_id),
        (1, Some(world.host.instance))
    );
}

pub(crate) async fn working_directory_is_fixed_and_not_recreated(world: &World) {
    let mut script = world.script();
    script.capabilities.resume = false;
    let agent = world.agent(&script).await;
    let given = world.path("project");
    fs::create_dir(&given).unwrap();
    let mut new = on_demand(agent);
    new.cwd = given.to_str().map(str::to_owned);
    let id = world.create_automation(&new).await;
    for _ in 0..2 {
        let fired = world.fire(id).await;
        world.take_turn(fired).await;
    }
    // A folder that the user chose is not created again, because its content matters.
    fs::remove_dir_all(&given).unwrap();
    let fired = world.fire(id).await;
    let run = world.take_turn(fired).await;
    assert_eq!(run.state.reason(), Some("start"), "{run:#?}");
    assert!(run.state.message().unwrap().contains("not a folder"));
    assert!(!given.exists());

    let ledger = prompt_log(&script);
    let folders: Vec<_> = ledger
        .events()
        .filter_map(|event| match event {
            Event::New(cwd, servers) | Event::Load(cwd, servers) => Some((cwd, servers.len())),
            _ => None,
        })
        .collect();
    let expected = given.to_str().unwrap().to_owned();
    assert_eq!(folders, [(&expected, 0), (&expected, 0)]);
}
