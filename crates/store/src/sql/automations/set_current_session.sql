-- Names the session that the automation's next turn goes to, or none.
-- $1 id, $2 session or null, $3 now
update automations set current_session_id = $2, updated_at = $3 where id = $1
