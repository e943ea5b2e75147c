-- Writes what became of an attempt at a delivery, unless another one was begun meanwhile.
-- $1 id, $2 number of the attempt, $3 state, $4 next attempt or null, $5 status or null, $6 error or null,
-- $7 ended at or null
update webhook_deliveries
set state = $3, next_attempt_at = $4, leased_until = null, last_status = $5, last_error = $6, ended_at = $7
where id = $1 and attempts = $2 and state = 'pending'
