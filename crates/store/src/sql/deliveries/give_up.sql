-- Gives up all pending deliveries of an endpoint.
-- $1 endpoint, $2 reason, $3 now
update webhook_deliveries
set state = 'failed', next_attempt_at = null, leased_until = null, last_error = $2, ended_at = $3
where endpoint_id = $1 and state = 'pending'
