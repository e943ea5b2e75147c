-- Takes back that an instance is gone, for every tenant: its data folder is served again.
-- $1 instance
update instances set state = 'online' where id = $1 and state = 'gone'
returning tenant_id
