-- Reads the goal of a session, with the state of the session, and whether a question of an agent waits for its answer.
-- $1 session
select g.session_id, g.tenant_id, g.text, g.state, g.revision, g.reason, g.cause, g.team, g.limits, g.progress, g.format,
    g.needs_format, g.check_at, g.check_for, g.budget, g.until_at, g.until_passed, s.state as session_state,
    exists (
        select 1 from questions q
        where q.session_id = g.session_id and q.state = 'pending' and q.kind = 'tool'
    ) as has_question
from goals g
join agent_sessions s on s.id = g.session_id
where g.session_id = $1
