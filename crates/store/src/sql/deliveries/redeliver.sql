-- Makes a finished delivery pending again. Its count of attempts continues, so a delivery that had used up its
-- attempts gets one more.
-- $1 tenant or null, $2 id, $3 now
update webhook_deliveries
set state = 'pending', next_attempt_at = $3, ended_at = null
where id = $2 and state <> 'pending' and ($1 is null or tenant_id = $1)
