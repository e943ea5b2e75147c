-- Stores the usage so far of a running turn.
-- $1 id, $2 usage
update agent_runs set usage = $2 where id = $1 and status = 'running'
