-- Claims due deliveries of an endpoint, the oldest first. No other sender claims them until the lease expires. The
-- number of the attempt is its fence.
-- $1 endpoint, $2 now, $3 until when, $4 limit
with chosen as materialized (
    select id from webhook_deliveries
    where endpoint_id = $1 and state = 'pending' and next_attempt_at <= $2
    order by next_attempt_at, id
    limit $4
    for no key update skip locked
)
update webhook_deliveries
set attempts = attempts + 1, next_attempt_at = $3, leased_until = $3
from chosen
where webhook_deliveries.id = chosen.id
returning webhook_deliveries.id, tenant_id, endpoint_id, session_id, event_id, kind, body, state, attempts, next_attempt_at, last_status, last_error, ended_at, created_at
