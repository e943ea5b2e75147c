//! Calls of tools at a runtime that are in flight while the server is killed and started again.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
    path::Path,
    sync::{
        Arc, Mutex,
        mpsc::{self, Receiver, Sender},
    },
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use testkit::scripted::{PromptLog, Step};

use crate::{
    runtime::FolderInstance,
    runtime_tools::{answers, send_new},
    test_installation::TestInstallation,
};

/// The part of an exchange that the server's death loses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loss {
    /// The call, so that it has had no effect.
    Call,
    /// The answer, so that the call has had its effect.
    Answer,
}

/// The exchange that a [`LossyProxy`] loses.
struct Interception {
    loss: Loss,
    /// Receives a message once the proxy has the lost part.
    reached: Sender<()>,
}

/// A proxy between a runtime and its server, which loses one exchange about a call each time the test asks for it.
struct LossyProxy {
    address: String,
    next: Arc<Mutex<Option<Interception>>>,
}

impl LossyProxy {
    fn start(world: &TestInstallation) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let next: Arc<Mutex<Option<Interception>>> = Arc::default();
        let (of_proxy, server_url) = (Arc::clone(&next), world.data_folder().join("server.url"));
        thread::spawn(move || {
            for client in listener.incoming() {
                // While the server is away, the runtime finds its connections closed.
                if let Some(server) = connect(&server_url) {
                    Connection::start(client.unwrap(), server, Arc::clone(&of_proxy));
                }
            }
        });
        Self { address, next }
    }

    /// Loses the exchange about the next call. The server must be killed once the returned receiver has a message.
    fn lose(&self, loss: Loss) -> Receiver<()> {
        let (reached, receiver) = mpsc::channel();
        *self.next.lock().unwrap() = Some(Interception { loss, reached });
        receiver
    }
}

/// Connects to the server of a data folder. Returns `None` while it is away.
fn connect(server_url: &Path) -> Option<TcpStream> {
    let url = fs::read_to_string(server_url).ok()?;
    TcpStream::connect(url.trim().strip_prefix("http://")?).ok()
}

/// A connection through the proxy.
struct Connection {
    client: TcpStream,
    server: TcpStream,
    /// The bytes of the request that has no response yet.
    request: Mutex<Vec<u8>>,
    intercepted: Mutex<Option<Interception>>,
}

impl Connection {
    fn start(client: TcpStream, server: TcpStream, next: Arc<Mutex<Option<Interception>>>) {
        let connection = Arc::new(Self {
            client,
            server,
            request: Mutex::default(),
            intercepted: Mutex::default(),
        });
        let requests = Arc::clone(&connection);
        thread::spawn(move || requests.pass_requests(&next));
        thread::spawn(move || connection.pass_responses());
    }

    fn pass_requests(&self, next: &Mutex<Option<Interception>>) {
        let mut buffer = [0; 16 << 10];
        while let Ok(count @ 1..) = (&self.client).read(&mut buffer) {
            let bytes = &buffer[..count];
            if self.is_call_with(bytes)
                && let Some(interception) = next.lock().unwrap().take()
            {
                *self.intercepted.lock().unwrap() = Some(interception);
            }
            if let Some(interception) = &*self.intercepted.lock().unwrap()
                && interception.loss == Loss::Call
            {
                interception.reached.send(()).ok();
                continue;
            }
            if (&self.server).write_all(bytes).is_err() {
                break;
            }
        }
        self.server.shutdown(Shutdown::Both).ok();
    }

    /// `true` if the request calls a tool, as far as it is known with these bytes.
    fn is_call_with(&self, bytes: &[u8]) -> bool {
        let mut request = self.request.lock().unwrap();
        request.extend_from_slice(bytes);
        let text = String::from_utf8_lossy(&request);
        text.contains("/tools HTTP/1.1\r\n") && text.contains(r#""tools/call""#)
    }

    fn pass_responses(&self) {
        let mut buffer = [0; 16 << 10];
        while let Ok(count @ 1..) = (&self.server).read(&mut buffer) {
            if let Some(interception) = &*self.intercepted.lock().unwrap() {
                interception.reached.send(()).ok();
                continue;
            }
            self.request.lock().unwrap().clear();
            if (&self.client).write_all(&buffer[..count]).is_err() {
                break;
            }
        }
        self.client.shutdown(Shutdown::Both).ok();
    }
}

fn lossy_calls() -> [(Loss, &'static str, Value); 4] {
    let cron = json!({
        "action": "add", "name": "build", "schedule": "0 9 * * 1-5", "zone": "Europe/Prague",
        "message": "Check the build.",
    });
    let save = json!({"name": "report", "text": "All is green."});
    let ask = json!({"question": "Which colour?", "options": ["red", "blue"], "default": "red"});
    let remember = json!({"key": "build", "value": "green"});
    [
        (Loss::Answer, "cron", cron),
        (Loss::Answer, "save_artifact", save),
        (Loss::Answer, "ask_person", ask),
        (Loss::Call, "remember", remember),
    ]
}

#[test]
fn call_in_flight_while_server_is_killed_is_answered_and_has_its_effect_once() {
    let mut stage = FolderInstance::new();
    let proxy = LossyProxy::start(&stage.world);
    let folder = stage.world.path().to_owned();
    let file = |name: &str, number: usize| folder.join(format!("{name}-{number}"));
    let calls = lossy_calls();
    let mut steps = Vec::new();
    for (number, (_, tool, arguments)) in calls.iter().enumerate() {
        steps.push(Step::WaitFor(file("go", number)));
        steps.push(Step::call_tool(tool, arguments.clone()));
        steps.push(Step::Touch(file("answered", number)));
    }
    steps.push(Step::call_tool("recall", json!({})));
    let script = stage.world.add_scripted_agent([steps]);
    let _runtime = stage.runtime_at(&proxy.address);
    let run = send_new(&stage, &[]);
    for (number, (loss, tool, _)) in calls.iter().enumerate() {
        let reached = proxy.lose(*loss);
        fs::write(file("go", number), "").unwrap();
        reached.recv_timeout(Duration::from_secs(30)).unwrap();
        stage.server.kill();
        assert!(!file("answered", number).exists(), "{tool}");
        stage.server = stage.world.serve();
        let answered = file("answered", number);
        stage.world.wait_for(tool, |_| answered.exists());
    }
    let shown = stage.wait_for_status(&run, "succeeded");
    assert_eq!(shown["attempt"], 1, "{shown:#}");
    let log = PromptLog::read(&script.prompt_log_path()).unwrap();
    assert_eq!(log.prompts().len(), 1);
    // 1. Each call has one answer, and counts once.
    let answers = answers(&shown);
    let counts: Vec<_> = answers
        .iter()
        .map(|answer| (&answer["ok"], answer["calls_left"].as_u64().unwrap()))
        .collect();
    let expected: Vec<_> = (195..200)
        .rev()
        .map(|left| (&Value::Bool(true), left))
        .collect();
    assert_eq!(counts, expected, "{answers:#?}");
    // 2. Each effect exists once.
    let session = shown["session_id"].as_str().unwrap();
    for list in [
        ["automation", "list"].as_slice(),
        &["artifact", "list", session],
        &["question", "list", "--all"],
        &["memory", "list", "--session", session],
    ] {
        let listed = stage.world.json(list);
        assert_eq!(listed.as_array().unwrap().len(), 1, "{list:?}: {listed:#}");
    }
    assert_eq!(answers[1]["version"], 1, "{answers:#?}");
    assert_eq!(answers[4]["entries"][0]["value"], "green", "{answers:#?}");
}
