-- Deletes the secrets of a trigger, so that its webhooks are refused.
-- $1 trigger
delete from webhook_secrets where trigger_id = $1
