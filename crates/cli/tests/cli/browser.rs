//! Real pages in a real browser (Chromium): ours sign in, those of others get nothing.

use std::{
    io::{self, BufRead, BufReader, Write},
    net::TcpListener,
    path::Path,
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::test_installation::TestInstallation;

/// The page of an attacker. It tries every kind of request that a page may send, and puts the results into its title.
const ATTACKER_PAGE: &str = r#"<!doctype html><title>trying</title><body><script>
const target = new URLSearchParams(location.search).get("target");
const told = {};
async function attempt(name, path, options) {
  try {
    const answer = await fetch(target + path, { credentials: "include", ...options });
    told[name] = `${answer.type} ${answer.status} ${(await answer.text()).slice(0, 40)}`;
  } catch (error) {
    told[name] = "nothing";
  }
}
function form() {
  const frame = document.createElement("iframe");
  frame.name = "hidden";
  document.body.append(frame);
  const form = document.createElement("form");
  form.method = "post";
  form.target = "hidden";
  form.enctype = "text/plain";
  form.action = target + "/api/v1/automations/daily/pause";
  document.body.append(form);
  form.submit();
  return new Promise((done) => frame.addEventListener("load", done));
}
(async () => {
  await attempt("read", "/api/v1/automations", {});
  await attempt("blind", "/api/v1/automations/daily/pause", { method: "POST", mode: "no-cors" });
  await attempt("json", "/api/v1/automations/daily/pause", {
    method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" });
  await attempt("plain", "/api/v1/automations/daily/pause", {
    method: "POST", mode: "no-cors", headers: { "Content-Type": "text/plain" }, body: "{}" });
  await Promise.race([form(), new Promise((done) => setTimeout(done, 2000))]);
  const source = new EventSource(target + "/api/v1/trace", { withCredentials: true });
  told.stream = await new Promise((done) => {
    source.onopen = () => done("open");
    source.onerror = () => done("nothing");
  });
  document.title = JSON.stringify(told);
})();
</script>"#;

/// Serves the page of the attacker under every host name.
fn serve_attacker_page() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            thread::spawn(move || {
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                while lines
                    .next()
                    .is_some_and(|line| line.is_ok_and(|it| !it.is_empty()))
                {}
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close";
                write!(
                    stream,
                    "{head}\r\ncontent-length: {}\r\n\r\n{ATTACKER_PAGE}",
                    ATTACKER_PAGE.len()
                )
                .ok();
            });
        }
    });
    port
}

/// A browser with a profile of its own. It keeps its cookies from one page to the next.
struct Browser<'a> {
    profile: &'a Path,
    rules: String,
}

impl Browser<'_> {
    /// Opens a page, waits until it has nothing more to do, and gives it as it is then.
    fn open(&self, url: &str) -> String {
        // The headless shell, which `scripts/test` installs, or the whole browser, which a developer may have.
        let shown = self
            .show("chromium-headless-shell", url)
            .or_else(|_| self.show("chromium", url));
        let shown = shown.unwrap_or_else(|error| panic!("chromium is not there: {error}"));
        String::from_utf8_lossy(&shown.stdout).into_owned()
    }

    fn show(&self, program: &str, url: &str) -> io::Result<Output> {
        Command::new(program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
            .args([
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--disable-extensions",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
            ])
            .args(["--virtual-time-budget=20000", "--timeout=60000"])
            .arg(format!("--host-resolver-rules={}", self.rules))
            .arg(format!("--user-data-dir={}", self.profile.display()))
            .arg(url)
            .env("HOME", self.profile)
            .stderr(Stdio::null())
            .output()
    }
}

fn title(page: &str) -> &str {
    let from = page.find("<title>").map_or(0, |at| at + "<title>".len());
    let to = page.find("</title>").unwrap_or(page.len());
    page.get(from..to).unwrap_or_default()
}

#[test]
fn foreign_origin_pages_cannot_read_or_change_anything() {
    let world = TestInstallation::new();
    let add = [
        "automation",
        "add",
        "--on-demand",
        "--agent",
        "demo",
        "--name",
        "daily",
        "x",
    ];
    world.run(&add).expect_success();
    let _server = world.serve();
    let address = world.address();
    let port = address.rsplit(':').next().unwrap().to_owned();
    let profile = world.path().join("chromium");
    std::fs::create_dir(&profile).unwrap();
    let browser = Browser {
        profile: &profile,
        // As if the attacker's name had been given the address of this machine.
        rules: "MAP rebound.example 127.0.0.1, MAP evil.example 127.0.0.1".to_owned(),
    };

    // A link signs it in, once.
    let link = world.run(&["sign-in"]).expect_success();
    let link = link.lines().next().unwrap().trim();
    let page = browser.open(link);
    assert!(
        page.contains("Signed in.") || page.contains(r#"<div id="root">"#),
        "{page}"
    );
    let again = browser.open(link);
    assert!(again.contains("used before"), "{again}");
    let own = browser.open(&format!("{address}/api/v1/whoami"));
    assert!(
        own.contains("signed in from this machine") || own.contains("admin"),
        "{own}"
    );

    let evil = serve_attacker_page();
    for from in [
        // Another site, another port of the same name (whose cookies are the same), another name of this machine.
        format!("http://evil.example:{evil}"),
        format!("http://127.0.0.1:{evil}"),
        format!("http://localhost:{evil}"),
    ] {
        let started = Instant::now();
        let page = browser.open(&format!("{from}/?target={address}"));
        let told = title(&page).replace("&quot;", "\"");
        let told: Value = serde_json::from_str(&told).unwrap_or_else(|_| panic!("{from}: {page}"));
        for (name, became) in told.as_object().unwrap() {
            let became = became.as_str().unwrap();
            // The page can send blind requests, but cannot read their responses.
            let nothing = became == "nothing" || became.starts_with("opaque 0");
            assert!(nothing, "{from} got {name}: {became}");
        }
        assert!(started.elapsed() < Duration::from_mins(2));
        let daily = world.json(&["automation", "show", "daily"]);
        assert_eq!(daily["state"], "enabled", "{from} has paused it");
    }

    // A name that was rebound to this machine is the page's own origin, and yet no name of the server.
    let rebound = browser.open(&format!("http://rebound.example:{port}/api/v1/automations"));
    assert!(rebound.contains("unknown host"), "{rebound}");
    let rebound = browser.open(&format!("http://rebound.example:{port}/api/v1/docs"));
    assert!(rebound.contains("unknown host"), "{rebound}");
}
