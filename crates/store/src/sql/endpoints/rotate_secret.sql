-- Replaces the secret of an endpoint. The previous secret also signs for a while.
-- $1 tenant or null, $2 id, $3 secret, $4 end of the validity of the previous secret, $5 now
update notification_endpoints
set previous_secret = secret, previous_until = $4, secret = $3, updated_at = $5
where id = $2 and ($1 is null or tenant_id = $1)
