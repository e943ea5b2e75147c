-- Lists endpoints by name, without their secrets.
-- $1 tenant or null
select id, tenant_id, name, url, events, automation_id, channel, failing_since, disabled_at, disabled_reason, previous_until, created_at, updated_at
from notification_endpoints
where ($1 is null or tenant_id = $1)
order by name, id
