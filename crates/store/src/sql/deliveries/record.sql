-- Records the result of an attempt. The fence is the number of attempts: no row if another attempt has begun
-- meanwhile.
-- :id, :attempt number of the attempt, :state, :next_attempt_at next attempt or null, :status or null, :error
-- or null, :ended_at or null
update webhook_deliveries
set state = :state, next_attempt_at = :next_attempt_at, leased_until = null, last_status = :status, last_error = :error, ended_at = :ended_at
where id = :id and attempts = :attempt and state = 'pending'
