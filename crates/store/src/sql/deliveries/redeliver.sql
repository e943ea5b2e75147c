-- Sends a delivery that is over once more. Its attempts go on counting from the last full round.
-- $1 tenant or null, $2 id, $3 now
update webhook_deliveries
set state = 'pending', next_attempt_at = $3, ended_at = null
where id = $2 and state <> 'pending' and ($1 is null or tenant_id = $1)
