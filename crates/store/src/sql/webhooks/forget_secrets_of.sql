-- Deletes the secrets of all triggers of an automation.
-- $1 automation
delete from webhook_secrets
where trigger_id in (select id from automation_triggers where automation_id = $1)
