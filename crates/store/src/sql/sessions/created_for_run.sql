-- Returns the session of a run if an automation created the session for that run alone and it contains nothing else.
-- $1 session, $2 run
select s.id
from agent_sessions s
where s.id = $1 and s.schedule_id is not null
  and not exists (select 1 from agent_runs r where r.session_id = s.id and r.id <> $2)
  and not exists (select 1 from agent_messages m where m.session_id = s.id)
  and not exists (select 1 from automations a where a.current_session_id = s.id)
