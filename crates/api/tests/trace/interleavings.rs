//! For every interleaving of a session and its reader, the reader receives exactly the events of the table.

use api::trace::session_cursor;
use model::Entropy as _;
use testkit::clock::SeededEntropy;

use crate::stage::{Client, Stage, ids};

/// How many times something happens.
const STEPS: usize = 250;

pub(crate) async fn trace_matches_log_despite_random_disconnects(stage: &Stage) {
    for seed in 1..=3 {
        interleave(stage, seed).await;
    }
}

/// Appends, reads a part, disconnects in the middle of a frame, connects again, restarts the hub, at random.
async fn interleave(stage: &Stage, seed: u64) {
    let chance = SeededEntropy::new(seed);
    let pick = |of: usize| {
        let mut bytes = [0; 8];
        chance.fill(&mut bytes);
        usize::try_from(u64::from_le_bytes(bytes) % of as u64).unwrap()
    };
    let session = stage.session().await;
    let mut hub = stage.hub();
    let mut read = Vec::new();
    let mut last: Option<String> = None;
    let mut client: Option<Client> = None;
    let connect = async |hub: &api::trace::Hub, last: &Option<String>| {
        let after = session_cursor(last.as_deref(), None).unwrap();
        let trace = hub.session(stage.scope(), session, after).await.unwrap();
        let mut client = Client::new(trace);
        client.last.clone_from(last);
        client
    };
    for _ in 0..STEPS {
        match pick(10) {
            0..4 => {
                for _ in 0..=pick(3) {
                    stage.send_message(session, "hello").await;
                }
            }
            // Read as many frames as are certain to come.
            4..7 => {
                let there = stage.log(session).await.len();
                let reading = match &mut client {
                    Some(client) => client,
                    None => client.insert(connect(&hub, &last).await),
                };
                for _ in 0..pick(8).min(there - read.len()) {
                    read.extend(ids(&[reading.next().await]));
                }
                last.clone_from(&reading.last);
            }
            // Read a part of a frame, cut at any byte, and disconnect.
            7 | 8 => {
                if stage.log(session).await.len() > read.len()
                    && let Some(mut reading) = client.take()
                {
                    let chunk = reading.chunk().await.unwrap();
                    read.extend(ids(&reading.take(&chunk[..pick(chunk.len() + 1)])));
                    last.clone_from(&reading.last);
                }
            }
            // The server goes, and another one comes.
            _ => {
                client = None;
                hub = stage.hub();
            }
        }
    }
    let log = stage.numbers(session).await;
    if read.len() < log.len() {
        let mut reading = connect(&hub, &last).await;
        read.extend(ids(&reading.until(log.last().unwrap()).await));
    }
    assert_eq!(read, log, "seed {seed}");
}
