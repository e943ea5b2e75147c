-- Removes a session with all that belongs to it.
-- $1 id
delete from agent_sessions where id = $1
