-- Deletes a session with everything that belongs to it.
-- $1 id
delete from agent_sessions where id = $1
