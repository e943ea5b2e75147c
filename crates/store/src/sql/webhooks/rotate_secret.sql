-- Replaces the secret of a trigger. The previous secret stays valid for a while.
-- $1 tenant or null, $2 trigger, $3 secret, $4 end of the validity of the previous secret, $5 now
update webhook_secrets
set previous_secret = secret, previous_until = $4, secret = $3, updated_at = $5
where trigger_id = $2 and ($1 is null or tenant_id = $1)
