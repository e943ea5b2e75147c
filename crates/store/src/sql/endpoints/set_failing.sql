-- Notes since when nothing arrives at an endpoint, or with null that something did.
-- $1 id, $2 since when, or null
update notification_endpoints
set failing_since = $2
where id = $1 and (failing_since is null) = ($2 is not null)
