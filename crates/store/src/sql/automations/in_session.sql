-- Lists the automations whose current session is a given one.
-- $1 session
select id from automations where current_session_id = $1
