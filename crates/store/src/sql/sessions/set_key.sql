-- Gives a session a key if it has none.
-- $1 id, $2 key
update agent_sessions set session_key = $2 where id = $1 and session_key is null
