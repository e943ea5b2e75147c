-- Returns the run of a webhook that was received before.
-- $1 trigger, $2 the webhook's id
select run_id from webhook_receipts where trigger_id = $1 and webhook_id = $2
