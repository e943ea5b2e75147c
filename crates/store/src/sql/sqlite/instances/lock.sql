-- Returns an instance that is not removed. It needs no lock, because the transaction holds the only write lock.
-- $1 tenant, $2 instance
select name from instances where tenant_id = $1 and id = $2 and state <> 'gone'
