-- Returns the automation of a session that its agents know by a name.
-- $1 session, $2 name
select id
from automations
where made_by_session_id = $1 and made_by_name = $2 and deleted_at is null
