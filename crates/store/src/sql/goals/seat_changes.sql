-- Lists seats of open goals whose presence has changed. A seat whose instance no server has ever served counts as online,
-- and so does one of the server that reads: another process may be about to renew its heartbeat. A removed seat never comes back.
-- $1 the only goal to check, or null, $2 oldest heartbeat of a server that is online, $3 instance of the server that reads,
-- $4 highest format, $5 limit
with present (session_id, seat_id, before, presence) as (
    select g.session_id, d.id, d.presence,
        case
            when i.state = 'gone' then 'removed'
            when i.id <> $3 and (v.stopped_at is not null or v.seen_at < $2) then 'offline'
            else 'online'
        end
    from goals g
    join agent_definitions d on d.session_id = g.session_id
    left join instances i on i.tenant_id = d.tenant_id and i.id = d.instance_id
    left join servers v on v.instance_id = i.id
    where g.state in ('active', 'paused') and g.needs_format <= $4 and ($1 is null or g.session_id = $1)
)
select session_id, seat_id, presence
from present
where presence <> before and before <> 'removed'
order by session_id, seat_id
limit $5
