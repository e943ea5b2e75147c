-- Lets go of a key that was not answered.
-- $1 tenant, $2 key
delete from idempotency_keys
where tenant_id = $1 and key = $2 and status is null
