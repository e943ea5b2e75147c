-- Gives a session a title where it has none.
-- $1 id, $2 title
update agent_sessions set title = $2 where id = $1 and title is null
