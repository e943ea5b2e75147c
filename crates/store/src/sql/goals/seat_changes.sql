-- Lists seats of open goals whose presence has changed. The instance of a seat is the one for which its open run waits, else
-- the one for which its deferred turn of a task will wait, such as a retry in its backoff, else the one of its open checks,
-- else the one of its memory: a run without a memory waits for the files that the seat shares.
-- A seat whose instance no server has ever served counts as online, and so does one of the server that reads: another process
-- may be about to renew its heartbeat. A seat is removed with its memory and never comes back. `pending_work.sql` has the same
-- condition.
-- $1 the only goal to check, or null, $2 oldest heartbeat of a server that is online, $3 instance of the server that reads,
-- $4 highest format, $5 limit
with placed (session_id, seat_id, before, state, instance_id) as (
    select g.session_id, d.id, d.presence, i.state,
        case
            when r.id is not null then r.instance_id
            when w.id is not null then w.instance_id
            else coalesce((
                select c.instance_id from task_checks c
                where c.seat_id = d.id and c.status in ('waiting', 'running')
                order by c.created_at, c.task_id
                limit 1
            ), d.instance_id)
        end
    from goals g
    join agent_definitions d on d.session_id = g.session_id
    left join instances i on i.tenant_id = d.tenant_id and i.id = d.instance_id
    left join agent_runs r on r.seat_id = d.id and r.status in ('queued', 'delivered', 'running')
    left join agent_runs w on w.seat_id = d.id and w.status = 'deferred' and w.task_id is not null
    where g.state in ('active', 'paused') and g.needs_format <= $4 and ($1 is null or g.session_id = $1)
),
present (session_id, seat_id, before, presence) as (
    select p.session_id, p.seat_id, p.before,
        case
            when p.state = 'gone' then 'removed'
            when p.instance_id <> $3 and (v.stopped_at is not null or v.seen_at < $2) then 'offline'
            else 'online'
        end
    from placed p
    left join servers v on v.instance_id = p.instance_id
)
select session_id, seat_id, presence
from present
where presence <> before and before <> 'removed'
order by session_id, seat_id
limit $5
