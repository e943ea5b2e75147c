-- Lists the goals that were given up since an instant, the last ones first, with the beginnings of their texts.
-- $1 tenant, $2 instant, $3 limit
select g.session_id, substr(g.text, 1, 200) as text, g.state, g.reason, g.cause, g.updated_at, s.title
from goals g
join agent_sessions s on s.id = g.session_id
where g.tenant_id = $1 and g.state = 'failed' and g.reason = 'stuck for too long' and g.ended_at >= $2
order by g.ended_at desc, g.session_id desc
limit $3
