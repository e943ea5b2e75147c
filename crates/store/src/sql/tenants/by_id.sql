-- Returns one tenant.
-- $1 tenant or null, $2 id
select id, name, budget, format, needs_format, created_at from tenants
where id = $2 and ($1 is null or id = $1)
