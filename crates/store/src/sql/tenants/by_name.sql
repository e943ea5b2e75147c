-- Reads a tenant's id.
-- $1 name
select id from tenants where name = $1
