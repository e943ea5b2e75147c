-- Stores the result that an agent reported.
-- $1 id, $2 result
update agent_tasks set result = $2 where id = $1
