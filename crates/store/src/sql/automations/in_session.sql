-- Lists the automations whose next turn goes to a session of their own.
-- $1 session
select id from automations where current_session_id = $1
