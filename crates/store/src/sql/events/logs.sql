-- Lists sessions by ID with the instant of their oldest event, null if their log is empty. The primary key of the log
-- finds it, so that the cost depends on the number of sessions, not of events.
-- $1 the session after which to begin, $2 limit
select s.id, s.tenant_id,
    (select e.created_at from session_events e where e.session_id = s.id order by e.seq limit 1) as oldest
from agent_sessions s
where s.id > $1
order by s.id
limit $2
