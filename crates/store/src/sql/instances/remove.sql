-- Marks an instance as removed.
-- $1 tenant, $2 instance
update instances set state = 'gone' where tenant_id = $1 and id = $2 and state <> 'gone'
