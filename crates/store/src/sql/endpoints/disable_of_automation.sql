-- Disables the endpoints of a deleted automation, because they would never receive a notification again.
-- $1 automation, $2 reason, $3 now
update notification_endpoints
set disabled_at = $3, disabled_reason = $2, updated_at = $3
where automation_id = $1 and disabled_at is null
