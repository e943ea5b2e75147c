-- Removes the secrets of a trigger: nothing is received for it any more.
-- $1 trigger
delete from webhook_secrets where trigger_id = $1
