-- Lists sessions by id with the age of their oldest event, none where nothing is kept: found by the
-- log's primary key, so that it costs as much as there are sessions, not events.
-- $1 the session after which to begin, $2 limit
select s.id, s.tenant_id,
    (select e.created_at from session_events e where e.session_id = s.id order by e.seq limit 1) as oldest
from agent_sessions s
where s.id > $1
order by s.id
limit $2
