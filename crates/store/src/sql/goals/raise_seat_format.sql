-- Raises the format that the seats of a goal need.
-- $1 session, $2 format that they need
update agent_definitions set needs_format = $2 where session_id = $1 and needs_format < $2
