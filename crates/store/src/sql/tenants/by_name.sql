-- Reads the tenant of a name.
-- $1 name
select id, name, budget, created_at from tenants where name = $1
