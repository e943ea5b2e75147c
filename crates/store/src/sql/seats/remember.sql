-- Keeps the agent's session as the seat's memory: its turn has ended.
-- $1 seat, $2 agent's session id, $3 now
update agent_definitions
set acp_session_id = $2, turns = turns + 1, updated_at = $3
where id = $1
