-- Lists the seats of a session with their names.
-- $1 session
select id, name from agent_definitions where session_id = $1 order by id
