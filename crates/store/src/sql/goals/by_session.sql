-- Reads the goal of a session, with the state of the session.
-- $1 session
select g.session_id, g.tenant_id, g.text, g.state, g.revision, g.reason, g.cause, g.team, g.limits, g.progress, g.format,
    g.needs_format, g.check_at, g.check_for, g.budget, g.until_at, g.until_passed, s.state as session_state
from goals g
join agent_sessions s on s.id = g.session_id
where g.session_id = $1
