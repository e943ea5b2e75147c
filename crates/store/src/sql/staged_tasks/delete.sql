-- Deletes the staged tasks of a goal.
-- $1 session
delete from staged_tasks where session_id = $1
