-- Counts the servers that are online, without runtimes.
-- $1 oldest heartbeat of a server that is online
select count(*) as servers from servers where stopped_at is null and seen_at >= $1
  and instance_id not in (select id from instances where kind <> 'host')
