-- Lists the usage of a tenant's turns of goals that began on a day, with the titles of the goals or the beginnings of their
-- texts. A goal takes no turn after its end. The turns of automations that are bound to its session are theirs.
-- $1 tenant, $2 the beginning of the day, $3 its end
select r.session_id, coalesce(s.title, substr(g.text, 1, 200)) as title, r.usage
from goals g
join agent_sessions s on s.id = g.session_id
join agent_runs r on r.session_id = g.session_id
where g.tenant_id = $1 and g.state in ('active', 'paused')
  and r.automation_id is null and r.started_at >= $2 and r.started_at < $3
union all
select r.session_id, coalesce(s.title, substr(g.text, 1, 200)) as title, r.usage
from goals g
join agent_sessions s on s.id = g.session_id
join agent_runs r on r.session_id = g.session_id
where g.tenant_id = $1 and g.ended_at >= $2
  and r.automation_id is null and r.started_at >= $2 and r.started_at < $3
