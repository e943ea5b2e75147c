//! The notice of an automation that asks for a person's attention.

use model::{AutomationId, Timestamp, event::AutomationChange};

use super::log;
use crate::{database::Tx, error::Error};

/// Stores a notice for people on an automation, and writes it into the log of the automation.
pub(crate) async fn request_attention(
    tx: &mut Tx,
    id: AutomationId,
    text: &str,
    now: Timestamp,
) -> Result<(), Error> {
    set_attention(tx, id, Some(text), now).await?;
    let change = AutomationChange::Attention {
        text: text.to_owned(),
    };
    log::write_change(tx, id, change, now).await
}

/// Stores a notice for people on an automation. `None` clears the notice.
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
