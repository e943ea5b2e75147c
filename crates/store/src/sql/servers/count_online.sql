-- Counts the servers that are online.
-- $1 oldest heartbeat of a server that is online
select count(*) as servers from servers where stopped_at is null and seen_at >= $1
