-- Records the instant since which no delivery has succeeded, or with null that one has. Keeps the first such instant.
-- $1 id, $2 beginning of the failures, or null
update notification_endpoints
set failing_since = $2
where id = $1 and (failing_since is null) = ($2 is not null)
