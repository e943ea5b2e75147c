-- Returns one delivery.
-- $1 tenant or null, $2 id
select id, tenant_id, endpoint_id, session_id, event_id, kind, body, state, attempts, next_attempt_at, last_status, last_error, ended_at, created_at
from webhook_deliveries
where id = $2 and ($1 is null or tenant_id = $1)
