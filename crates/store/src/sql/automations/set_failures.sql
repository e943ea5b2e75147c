-- Sets the count of consecutive failures.
-- $1 id, $2 count, $3 now
update automations set consecutive_failures = $2, updated_at = $3 where id = $1
