//! Answers are delivered as signed notifications, whatever fails at the sender or the receiver.

use std::time::Duration;

use daemon::notifier::{create_deliveries, send_batch};
use model::{
    AgentId, Clock as _, EndpointId, SessionId,
    entity::{Channel, SeatSettings},
    limits,
    notification::{Delivery, DeliveryStatus, NotificationKind},
    policy::SessionMode,
    session::{SessionKind, SessionType},
    signing_secret::SigningSecret,
};
use store::{NewAutomation, NewEndpoint, NewSeat, NewSession};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};
use webhook::{HeaderMap, Sender};

use crate::world::{World, eventually, on_demand};

/// A received request, and the connection for its response.
struct Request {
    headers: HeaderMap,
    body: Vec<u8>,
    connection: TcpStream,
}

impl Request {
    async fn read(listener: &TcpListener) -> Self {
        let (mut connection, _) = listener.accept().await.unwrap();
        let mut bytes = Vec::new();
        let end = loop {
            if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                break end;
            }
            assert_ne!(connection.read_buf(&mut bytes).await.unwrap(), 0);
        };
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let mut headers = HeaderMap::new();
        for (name, value) in head.lines().filter_map(|line| line.split_once(": ")) {
            let name: webhook::HeaderName = name.parse().unwrap();
            headers.append(name, value.parse().unwrap());
        }
        let length: usize = headers["content-length"].to_str().unwrap().parse().unwrap();
        let mut body = bytes.split_off(end + 4);
        while body.len() < length {
            assert_ne!(connection.read_buf(&mut body).await.unwrap(), 0);
        }
        Self {
            headers,
            body,
            connection,
        }
    }

    async fn answer(mut self, status: u16) {
        let answer =
            format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        self.connection.write_all(answer.as_bytes()).await.unwrap();
        self.connection.shutdown().await.ok();
    }

    fn id(&self) -> String {
        self.headers[webhook::ID_HEADER]
            .to_str()
            .unwrap()
            .to_owned()
    }
}

struct Hook {
    listener: TcpListener,
    endpoint: EndpointId,
    secret: SigningSecret,
}

impl Hook {
    async fn new(world: &World, name: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let new = NewEndpoint {
            name: name.into(),
            url: format!("http://{}/hook", listener.local_addr().unwrap()),
            events: vec![NotificationKind::MessagePublished],
            automation: None,
            channel: None,
        };
        let now = world.clock.now();
        let endpoint = EndpointId::generate(now, &*world.host.entropy);
        let made = world
            .store()
            .create_endpoint(world.tenant, endpoint, &new, now);
        let secret = made.await.unwrap();
        Self {
            listener,
            endpoint,
            secret,
        }
    }

    async fn deliveries(&self, world: &World) -> Vec<Delivery> {
        let found = world
            .store()
            .deliveries(world.scope(), self.endpoint, None, 100);
        found.await.unwrap()
    }

    async fn state(&self, world: &World) -> Option<DeliveryStatus> {
        self.deliveries(world)
            .await
            .first()
            .map(|one| one.state.status())
    }

    /// Replies to the next request.
    async fn reply_to_next(&self, status: u16) -> String {
        let request = Request::read(&self.listener).await;
        let id = request.id();
        request.answer(status).await;
        id
    }
}

fn sender(world: &World) -> Sender {
    let allowance = world.host.settings.webhook_allow.clone();
    Sender::new(allowance, limits::DELIVERY_TIMEOUT).unwrap()
}

/// Takes a turn and creates the delivery of its answer.
async fn create_delivery_of_turn(world: &World, hook: &Hook) {
    let agent = world.agent(&world.script()).await;
    let session = world.session(agent).await;
    world.send_and_take_turn(session, "hello").await;
    eventually("a delivery", async || {
        create_deliveries(&world.host, world.clock.now())
            .await
            .unwrap();
        (!hook.deliveries(world).await.is_empty()).then_some(())
    })
    .await;
}

pub(crate) async fn answer_is_delivered_with_valid_signature(world: &World) {
    let hook = Hook::new(world, "hook").await;
    let server = daemon::Daemon::start(world.host_with(|settings, _| {
        settings.tick = Duration::from_millis(50);
    }));
    let agent = world.agent(&world.script()).await;
    let session = world.session(agent).await;
    let run = world.send_message(session, "hello").await;
    server.signals().wake();
    let request = read_request_advancing_clock(world, &hook).await;
    let now = world.clock.now();
    let verified = webhook::verify(&[&hook.secret], &request.headers, &request.body, now);
    let delivery = hook.deliveries(world).await.remove(0);
    assert_eq!(verified.unwrap().id, delivery.id.to_string());
    assert_eq!(request.body, delivery.body.as_bytes());
    let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(body["data"]["session"]["id"], session.to_string());
    assert_eq!(body["data"]["event"]["message"]["run_id"], run.to_string());
    request.answer(200).await;
    eventually("a delivery that arrived", async || {
        (hook.state(world).await == Some(DeliveryStatus::Delivered)).then_some(())
    })
    .await;
    server.stop().await;
}

pub(crate) async fn automation_answer_carries_channel_of_its_session(world: &World) {
    let channel = |chat_id: &str, thread: &str| Channel {
        channel: "slack".into(),
        chat_id: chat_id.into(),
        thread: Some(thread.into()),
    };
    let hook = Hook::new(world, "hook").await;
    let agent = world.agent(&world.script()).await;
    // The session of a channel, and the session in which its person created the automation.
    let here = channel_session(world, agent, "slack:C1:17", channel("C1", "17")).await;
    channel_session(world, agent, "slack:C2:18", channel("C2", "18")).await;
    let bound = NewAutomation {
        name: "slack:C2:18".into(),
        bound_session_key: Some("slack:C1:17".into()),
        session_mode: SessionMode::Bound,
        ..on_demand(agent)
    };
    let automation = world.create_automation(&bound).await;
    let run = world.fire(automation).await;
    world.take_turn(run).await;
    eventually("a delivery", async || {
        create_deliveries(&world.host, world.clock.now())
            .await
            .unwrap();
        (!hook.deliveries(world).await.is_empty()).then_some(())
    })
    .await;
    let delivery = hook.deliveries(world).await.remove(0);
    assert_eq!(delivery.session_id, Some(here));
    let body: serde_json::Value = serde_json::from_str(&delivery.body).unwrap();
    let data = &body["data"];
    assert_eq!(data["event"]["message"]["run_id"], run.to_string());
    assert_eq!(data["automation"]["id"], automation.to_string());
    for (field, expected) in [("channel", "slack"), ("chat_id", "C1"), ("thread", "17")] {
        assert_eq!(data["session"][field], expected);
        assert!(data["automation"][field].is_null(), "{field}");
    }
}

/// Creates the session of a channel.
async fn channel_session(world: &World, agent: AgentId, key: &str, channel: Channel) -> SessionId {
    let now = world.clock.now();
    let id = SessionId::generate(now, &*world.host.entropy);
    let new = NewSession {
        id,
        kind: SessionKind::Interactive,
        session_type: SessionType::ChannelSlack,
        key: Some(key.into()),
        title: None,
        draft: false,
        channel: Some(channel),
        cwd: None,
        placed_on: world.placed_on,
        automation_id: None,
        entry: NewSeat::only(agent, SeatSettings::default()),
        other_seats: Vec::new(),
    };
    let made = world.store().create_session(world.tenant, &new, now);
    made.await.unwrap();
    id
}

/// Reads a request. Advances the clock, so that the loop polls the feed again.
async fn read_request_advancing_clock(world: &World, hook: &Hook) -> Request {
    let mut reading = std::pin::pin!(Request::read(&hook.listener));
    loop {
        let waited = tokio::time::timeout(Duration::from_millis(100), &mut reading);
        match waited.await {
            Ok(request) => return request,
            Err(_) => drop(world.clock.advance(limits::NOTIFIER_POLL_INTERVAL)),
        }
    }
}

pub(crate) async fn failed_delivery_is_retried_with_same_id_until_success(world: &World) {
    let hook = Hook::new(world, "hook").await;
    create_delivery_of_turn(world, &hook).await;
    let sender = sender(world);
    let mut ids = Vec::new();
    for status in [503, 301, 200] {
        let (sent, id) = futures::join!(
            send_batch(&world.host, &sender, hook.endpoint),
            hook.reply_to_next(status)
        );
        assert_eq!(sent.unwrap(), 1);
        ids.push(id);
        // The delivery is not sent before its retry is due.
        assert_eq!(
            send_batch(&world.host, &sender, hook.endpoint)
                .await
                .unwrap(),
            0
        );
        let delivery = hook.deliveries(world).await.remove(0);
        assert_eq!(delivery.last_status, Some(i64::from(status)));
        if let Some(next) = delivery.state.next_attempt_at() {
            world.clock.advance(next.since(world.clock.now()));
        }
    }
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_eq!(hook.state(world).await, Some(DeliveryStatus::Delivered));
}

pub(crate) async fn unrecorded_delivery_is_resent_with_same_id_after_lease(world: &World) {
    let hook = Hook::new(world, "hook").await;
    create_delivery_of_turn(world, &hook).await;
    let sender = sender(world);
    let first = {
        // The sender dies after the receiver has the request and before the response.
        let mut sending = std::pin::pin!(send_batch(&world.host, &sender, hook.endpoint));
        tokio::select! {
            sent = &mut sending => panic!("{sent:?} without an answer"),
            request = Request::read(&hook.listener) => request.id(),
        }
    };
    assert_eq!(
        send_batch(&world.host, &sender, hook.endpoint)
            .await
            .unwrap(),
        0
    );
    world.clock.advance(limits::DELIVERY_LEASE);
    let (sent, again) = futures::join!(
        send_batch(&world.host, &sender, hook.endpoint),
        hook.reply_to_next(200)
    );
    assert_eq!((sent.unwrap(), again), (1, first));
    assert_eq!(hook.state(world).await, Some(DeliveryStatus::Delivered));
    assert_eq!(hook.deliveries(world).await.len(), 1);
}

pub(crate) async fn slow_receiver_does_not_delay_others(world: &World) {
    let (slow, quick) = (
        Hook::new(world, "slow").await,
        Hook::new(world, "quick").await,
    );
    create_delivery_of_turn(world, &slow).await;
    assert_eq!(
        quick.deliveries(world).await.len(),
        1,
        "both are told at once"
    );
    let server = daemon::Daemon::start(world.host.clone());
    // The receiver has the request and sends no response.
    let silent = Request::read(&slow.listener).await;
    quick.reply_to_next(200).await;
    eventually("a delivery that arrived", async || {
        (quick.state(world).await == Some(DeliveryStatus::Delivered)).then_some(())
    })
    .await;
    assert_eq!(slow.state(world).await, Some(DeliveryStatus::Pending));
    silent.answer(410).await;
    eventually("an endpoint that is gone", async || {
        let found = world.store().endpoint(world.scope(), slow.endpoint).await;
        found.unwrap().disabled_at
    })
    .await;
    server.stop().await;
}
