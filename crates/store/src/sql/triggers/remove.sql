-- Marks a trigger as removed. It is no longer due; its row stays, because its runs refer to it.
-- $1 id, $2 now
update automation_triggers
set next_scheduled_for = null, next_fire_at = null, deleted_at = $2, updated_at = $2
where id = $1
