-- Lists a tenant's token IDs in a range, in ascending order. The range holds the IDs with a common prefix.
-- $1 tenant or null, $2 the first, $3 the last, $4 limit
select id from api_tokens
where id between $2 and $3 and ($1 is null or tenant_id = $1)
order by id
limit $4
