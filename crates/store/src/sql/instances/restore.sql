-- Restores a removed instance for every tenant, because a server serves its data folder again.
-- $1 instance
update instances set state = 'online' where id = $1 and state = 'gone'
returning tenant_id
