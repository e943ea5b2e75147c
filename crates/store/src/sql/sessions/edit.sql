-- Edits a session if it still equals the version that the editor has read. Returns no row if it does not.
-- $1 tenant or null, $2 id, $3 title before or null, $4 title after or null, $5 now
update agent_sessions set title = $4, updated_at = $5
where id = $2 and ($1 is null or tenant_id = $1)
  and (title = $3 or (title is null and $3 is null))
returning state
