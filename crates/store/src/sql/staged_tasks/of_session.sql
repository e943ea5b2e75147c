-- Reads the staged tasks of a goal, in the order in which they were staged first.
-- $1 session
select key, kind, task, needs_format from staged_tasks where session_id = $1 order by number, key
