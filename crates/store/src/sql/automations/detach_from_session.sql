-- Detaches automations from a session that is about to be deleted.
-- $1 session, $2 now
update automations set current_session_id = null, updated_at = $2 where current_session_id = $1
