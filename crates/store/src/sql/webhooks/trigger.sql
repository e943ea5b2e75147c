-- Returns the trigger and the secrets with which a webhook request is verified. No row: the trigger or its automation
-- was removed.
-- $1 tenant or null, $2 trigger
select t.id, t.tenant_id, t.automation_id, w.secret, w.previous_secret, w.previous_until
from webhook_secrets w
join automation_triggers t on t.id = w.trigger_id
join automations a on a.id = t.automation_id
where w.trigger_id = $2 and ($1 is null or w.tenant_id = $1)
  and t.deleted_at is null and a.deleted_at is null
