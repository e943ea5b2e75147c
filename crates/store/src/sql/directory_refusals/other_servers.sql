-- Returns a row if a server of another host is online. A runtime takes no runs but those of its own instance.
-- $1 instance, $2 oldest heartbeat of a server that is online
select v.instance_id
from servers v
where v.instance_id <> $1 and v.stopped_at is null and v.seen_at >= $2
  and v.instance_id not in (select id from instances where kind <> 'host')
limit 1
