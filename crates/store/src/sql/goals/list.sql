-- Lists goals, the newest first. The alternative to the tenant keeps SQLite from `goals_by_state`: it would read all goals of the
-- tenant, and count the questions and approvals of each, before it sorts them.
-- $1 tenant or null, $2 session before which the page begins, $3 limit
select g.session_id, g.text, g.state, g.reason, g.cause, g.plan_version, g.team, g.limits, g.progress, g.budget, g.until_at,
    g.needs_format, g.created_at, g.updated_at, g.ended_at, s.session_key, s.title,
    (select count(*) from questions q where q.session_id = g.session_id and q.state = 'pending') as open_questions,
    (select count(*) from approvals a where a.session_id = g.session_id and a.state = 'pending') as open_approvals
from goals g
join agent_sessions s on s.id = g.session_id
where g.session_id < $2 and ($1 is null or g.tenant_id = $1)
order by g.session_id desc
limit $3
