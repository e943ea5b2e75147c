-- Reads the recorded response to the request of a key.
-- $1 tenant, $2 key
select status, response from idempotency_keys where tenant_id = $1 and key = $2
