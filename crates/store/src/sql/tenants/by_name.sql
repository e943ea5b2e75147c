-- Returns the tenant with a name.
-- $1 name
select id, name, budget, format, needs_format, created_at from tenants where name = $1
