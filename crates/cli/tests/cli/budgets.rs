//! Budgets: how they are set, shown and exhausted.

use crate::test_installation::TestInstallation;

#[test]
fn budget_is_set_shown_changed_and_cleared() {
    let world = TestInstallation::new();
    let add = [
        "automation",
        "add",
        "--on-demand",
        "--agent",
        "demo",
        "--name",
        "news",
        "x",
    ];
    let add: Vec<_> = add
        .into_iter()
        .chain(["--budget", "24 turns/day"])
        .collect();
    world.run(&add).expect_success();
    let edit = ["automation", "edit", "news"];
    let edit = |more: &[&str]| world.run(&[&edit[..], more].concat());
    edit(&["--budget", "20 USD/month", "--budget", "12 turns/day"]).expect_success();
    let shown = world.run(&["automation", "show", "news"]).expect_success();
    assert!(shown.contains("12 turns/day, 20 USD/month"), "{shown}");
    assert!(!shown.contains("used"), "{shown}");
    edit(&["--budget", "90 Minute/day", "--budget", "30 eur/month"]).expect_success();
    let shown = world.run(&["automation", "show", "news"]).expect_success();
    assert!(
        shown.contains("12 turns/day, 90 minutes/day, 30 EUR/month"),
        "{shown}"
    );
    world.run(&["automation", "fire", "news"]).expect_success();
    let shown = world.run(&["automation", "show", "news"]).expect_success();
    assert!(shown.contains("  today: "), "{shown}");
    assert!(shown.contains("1 turn; this month: "), "{shown}");
    let whole = world.json(&["automation", "show", "news"]);
    assert_eq!(whole["usage"]["day"]["turns"], 1);
    edit(&["--clear", "budget"]).expect_success();
    let shown = world.run(&["automation", "show", "news"]).expect_success();
    assert!(!shown.contains("budget"), "{shown}");
    for wrong in [
        "5",
        "5 turns/run",
        "0 tokens/day",
        "-5 USD/month",
        "5 apples pears/day",
    ] {
        let refused = edit(&["--budget", wrong]);
        assert_eq!(refused.code, 2, "{refused:#?}");
        assert!(refused.stderr.contains("100000 tokens/day"), "{refused:#?}");
    }
    for (wrong, hint) in [
        ("3 runs/day", "did you mean `turns`?"),
        ("5000 tokns/day", "did you mean `tokens`?"),
    ] {
        let refused = edit(&["--budget", wrong]);
        assert_eq!(refused.code, 2, "{refused:#?}");
        assert!(refused.stderr.contains(hint), "{refused:#?}");
        assert!(refused.stderr.contains("--budget"), "{refused:#?}");
    }
}

#[test]
fn second_limit_of_same_kind_and_period_is_refused() {
    let world = TestInstallation::new();
    for (first, second) in [
        ("5 USD/day", "7 EUR/day"),
        ("3 turns/day", "9 turns/day"),
        ("1 token/run", "1 token/run"),
    ] {
        let limits = ["--budget", first, "--budget", second];
        let edit = ["tenant", "edit", "default"];
        let refused = world.run(&[&edit[..], &limits].concat());
        assert_eq!(refused.code, 2, "{refused:#?}");
        let both = format!("`{first}` and `{second}`");
        assert!(refused.stderr.contains(&both), "{refused:#?}");
    }
}

#[test]
fn message_beyond_tenant_budget_fails_with_budget_reason() {
    let world = TestInstallation::new();
    let say = ["session", "send", "--new", "--agent", "demo", "Hello"];
    world.run(&say).expect_success();
    let edit = ["tenant", "edit", "default", "--budget", "1 turn/day"];
    let told = world.run(&edit).expect_success();
    assert!(told.contains("1 turn/day"), "{told}");
    assert!(told.contains("1 turn; this month: "), "{told}");
    let refused = world.run(&say);
    assert_eq!(refused.code, 5, "{refused:#?}");
    let said = "the tenant's budget of 1 turn a day is used up until";
    let all = format!("{}{}", refused.stdout, refused.stderr);
    assert!(all.contains(said), "{refused:#?}");
    let cleared = world.run(&["tenant", "edit", "default", "--clear", "budget"]);
    assert!(cleared.expect_success().contains("no limit"));
    world.run(&say).expect_success();
    let whole = world.json(&["tenant", "show", "default"]);
    assert_eq!(whole["usage"]["month"]["turns"], 2);
}

#[tokio::test]
async fn fired_run_that_budget_defers_ends_command_with_reason() {
    for has_server in [false, true] {
        let world = TestInstallation::new();
        let add = ["automation", "add", "--on-demand", "--agent", "demo"];
        for (name, budget) in [("news", "3 USD/day"), ("mail", "1 turn/day")] {
            let more = ["--name", name, "--budget", budget, "x"];
            world.run(&[&add[..], &more].concat()).expect_success();
        }
        // An earlier version stored units that it did not know as currencies.
        let sql = "update automations set policies = replace(policies, 'USD', 'runs')";
        world.execute_sql(sql).await;
        let _server = has_server.then(|| world.serve());
        world.run(&["automation", "fire", "mail"]).expect_success();
        for (name, reason) in [
            ("news", "has the unknown currency `runs`"),
            ("mail", "budget of 1 turn a day is used up until"),
        ] {
            let fired = world.run(&["automation", "fire", name]);
            assert_eq!(fired.code, 4, "{fired:#?}");
            assert!(fired.stderr.contains(reason), "{fired:#?}");
            let view = world.json(&["automation", "show", name]);
            assert_eq!(view["state"], "paused");
            assert_eq!(view["last_runs"][0]["status"], "deferred", "{view}");
        }
    }
}
