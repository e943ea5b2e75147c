-- Returns one endpoint with its secrets.
-- $1 tenant or null, $2 id
select id, tenant_id, name, url, events, automation_id, channel, failing_since, disabled_at, disabled_reason, previous_until, created_at, updated_at, secret, previous_secret
from notification_endpoints
where id = $2 and ($1 is null or tenant_id = $1)
