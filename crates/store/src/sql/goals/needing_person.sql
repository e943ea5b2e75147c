-- Lists the paused goals that only a person can move, the newest first, with the beginnings of their texts.
-- $1 tenant, $2 limit
select g.session_id, substr(g.text, 1, 200) as text, g.state, g.reason, g.cause, g.updated_at, s.title
from goals g
join agent_sessions s on s.id = g.session_id
where g.tenant_id = $1 and g.state = 'paused' and g.reason in ('stuck', 'approve_plan', 'budget')
order by g.session_id desc
limit $2
