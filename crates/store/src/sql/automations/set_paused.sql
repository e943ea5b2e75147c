-- Pauses an automation, or resumes it with two nulls.
-- $1 id, $2 paused at or null, $3 reason or null, $4 now
update automations set paused_at = $2, pause_reason = $3, updated_at = $4 where id = $1
