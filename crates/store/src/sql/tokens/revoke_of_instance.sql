-- Revokes the tokens of the runtime of an instance.
-- $1 tenant, $2 instance, $3 now
update api_tokens set revoked_at = $3
where tenant_id = $1 and instance_id = $2 and revoked_at is null
