-- Returns the ID of an agent that is not removed, and keeps it from being removed until the end of the transaction.
-- $1 tenant, $2 id
select id from harnesses where tenant_id = $1 and id = $2 and removed_at is null
