-- Stores the turn in which an agent has made an automation, and the end of its lifetime.
-- $1 automation, $2 session, $3 run, $4 turn, $5 name for the agents of the session, $6 end
update automations
set made_by_session_id = $2, made_by_run_id = $3, made_by_turn = $4, made_by_name = $5, expires_at = $6
where id = $1
