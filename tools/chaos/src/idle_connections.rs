//! Idle connections that occupy the database's connection slots. They speak PostgreSQL's protocol directly.

use anyhow::{Context as _, Result, bail};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::postgres::{DATABASE, Postgres, ROLE};

/// Version 3.0 of PostgreSQL's protocol.
const PROTOCOL_VERSION: i32 = 196_608;
/// The maximum length of a message that is read. Expected messages are much shorter.
const MAX_MESSAGE_BYTES: usize = 64 * 1024;

/// Opens a connection as the role of Matins. It occupies a slot until the stream is dropped.
///
/// # Errors
///
/// Returns an error if the database is down or refuses the connection.
pub(crate) async fn open_idle(postgres: &Postgres) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", postgres.port)).await?;
    let mut start = PROTOCOL_VERSION.to_be_bytes().to_vec();
    start.extend_from_slice(format!("user\0{ROLE}\0database\0{DATABASE}\0\0").as_bytes());
    send(&mut stream, None, &start).await?;
    loop {
        match receive(&mut stream).await? {
            // The server requests a clear-text password (`AuthenticationCleartextPassword`). It listens only on this
            // machine.
            (b'R', body) if body.starts_with(&3_i32.to_be_bytes()) => {
                let password = format!("{}\0", postgres.password);
                send(&mut stream, Some(b'p'), password.as_bytes()).await?;
            }
            // `ReadyForQuery`
            (b'Z', _) => return Ok(stream),
            (b'E', body) => bail!(
                "cannot open a connection: {}",
                String::from_utf8_lossy(&body)
            ),
            _ => {}
        }
    }
}

/// Begins a transaction and leaves it open. It takes a transaction ID, so that it holds up the traces of automations
/// and tenants, which end before the oldest open transaction (ADR 0011).
pub(crate) async fn begin_transaction(stream: &mut TcpStream) -> Result<()> {
    let statement = b"begin isolation level repeatable read; select pg_current_xact_id()\0";
    send(stream, Some(b'Q'), statement).await?;
    loop {
        match receive(stream).await? {
            (b'Z', _) => return Ok(()),
            (b'E', body) => bail!(
                "cannot begin a transaction: {}",
                String::from_utf8_lossy(&body)
            ),
            _ => {}
        }
    }
}

/// Sends a message. The first message of a connection has no `kind`.
async fn send(stream: &mut TcpStream, kind: Option<u8>, body: &[u8]) -> Result<()> {
    let length = i32::try_from(body.len() + 4)?.to_be_bytes();
    let mut message: Vec<u8> = kind.into_iter().collect();
    message.extend_from_slice(&length);
    message.extend_from_slice(body);
    Ok(stream.write_all(&message).await?)
}

/// Reads a message and returns its kind and body.
async fn receive(stream: &mut TcpStream) -> Result<(u8, Vec<u8>)> {
    let kind = stream.read_u8().await?;
    let length = usize::try_from(stream.read_i32().await?)?;
    // The length counts its own four bytes.
    let length = length
        .checked_sub(4)
        .filter(|length| *length <= MAX_MESSAGE_BYTES);
    let mut body = vec![0; length.context("the server sent a message with an invalid length")?];
    stream.read_exact(&mut body).await?;
    Ok((kind, body))
}
