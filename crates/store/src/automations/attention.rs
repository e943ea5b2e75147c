//! What a person should look at.

use model::{AutomationId, Timestamp, event::AutomationChange};

use super::log;
use crate::{database::Tx, error::Error};

/// Says what a person should look at, in the automation's log as well.
pub(crate) async fn ask_for_attention(
    tx: &mut Tx,
    id: AutomationId,
    text: &str,
    now: Timestamp,
) -> Result<(), Error> {
    set_attention(tx, id, Some(text), now).await?;
    let change = AutomationChange::Attention {
        text: text.to_owned(),
    };
    log::change(tx, id, change, now).await
}

/// Keeps what a person should look at, or with `None` that it was seen.
pub(super) async fn set_attention(
    tx: &mut Tx,
    id: AutomationId,
    text: Option<&str>,
    now: Timestamp,
) -> Result<(), Error> {
    tx.execute(sql!("automations/set_attention"), params![id, text, now])
        .await?;
    Ok(())
}
