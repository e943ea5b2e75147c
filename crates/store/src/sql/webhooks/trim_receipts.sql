-- Removes some receipts that are older than an instant.
-- $1 oldest that stays, $2 limit
delete from webhook_receipts where (trigger_id, webhook_id) in (
    select trigger_id, webhook_id from webhook_receipts where received_at < $1 limit $2
)
