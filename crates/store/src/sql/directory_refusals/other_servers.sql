-- Returns a row if a server of another instance is online.
-- $1 instance, $2 oldest heartbeat of a server that is online
select v.instance_id
from servers v
where v.instance_id <> $1 and v.stopped_at is null and v.seen_at >= $2
limit 1
