-- Deletes the payload of a webhook.
-- $1 run
delete from webhook_payloads where run_id = $1
