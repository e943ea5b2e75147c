-- Lists tenants, the newest first.
-- $1 tenant or null, $2 the id before which to begin, $3 limit
select id, name, budget, format, needs_format, created_at from tenants
where id < $2 and ($1 is null or id = $1)
order by id desc
limit $3
