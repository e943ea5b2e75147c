-- Lists the first keys of the memory entries of a session.
-- $1 session, $2 now, $3 limit
select key from agent_memory_entries
where session_id = $1 and (expires_at is null or expires_at > $2)
order by key
limit $3
