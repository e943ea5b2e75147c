-- Deletes a staged task of a goal.
-- $1 session, $2 key
delete from staged_tasks where session_id = $1 and key = $2
