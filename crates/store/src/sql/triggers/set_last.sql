-- Records the last instant of a trigger that is fired on demand.
-- $1 id, $2 instant, $3 now
update automation_triggers set last_scheduled_for = $2, updated_at = $3 where id = $1
