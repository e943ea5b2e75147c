-- Lists the ids of a tenant's tokens that lie between two, in order: those that begin alike.
-- $1 tenant or null, $2 the first, $3 the last, $4 limit
select id from api_tokens
where id between $2 and $3 and ($1 is null or tenant_id = $1)
order by id
limit $4
