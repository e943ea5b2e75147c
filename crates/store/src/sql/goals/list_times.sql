-- Reads the times of a goal, and counts what its agents wait for.
-- $1 tenant or null, $2 session
select g.created_at, g.updated_at, g.ended_at,
    (select count(*) from questions q where q.session_id = g.session_id and q.state = 'pending') as open_questions,
    (select count(*) from approvals a where a.session_id = g.session_id and a.state = 'pending') as open_approvals
from goals g
where g.session_id = $2 and ($1 is null or g.tenant_id = $1)
