-- Locks an instance that is not removed.
-- $1 tenant, $2 instance
select name from instances where tenant_id = $1 and id = $2 and state <> 'gone' for no key update
