-- Removes the end of an automation's lifetime if it has passed.
-- $1 automation, $2 now
update automations set expires_at = null where id = $1 and expires_at <= $2
