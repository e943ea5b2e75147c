-- Lists the IDs of artifacts in a range, for a lookup by the beginning of an ID.
-- $1 tenant or null, $2 first, $3 last, $4 limit
select id from agent_artifacts
where id between $2 and $3
  and ($1 is null or tenant_id = $1)
order by id
limit $4
