-- Lists the deliveries of an endpoint, the newest first.
-- $1 tenant or null, $2 endpoint, $3 the delivery before which to begin, or null, $4 limit
select id, tenant_id, endpoint_id, session_id, event_id, kind, body, state, attempts, next_attempt_at, last_status, last_error, ended_at, created_at
from webhook_deliveries
where endpoint_id = $2 and ($1 is null or tenant_id = $1) and ($3 is null or id < $3)
order by id desc
limit $4
