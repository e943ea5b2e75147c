-- Marks a trigger as removed: it is due no more, and its runs still name it.
-- $1 id, $2 now
update automation_triggers
set next_scheduled_for = null, next_fire_at = null, deleted_at = $2, updated_at = $2
where id = $1
