-- Returns the agent of a running turn with all that decides on the tools of the turn, because each call of a tool reads it:
-- the source of the input, its automation and its task, the time that the team of the session's goal gives to questions, the
-- number of seats of the session, that of the undelivered messages to the seat that neither the turn nor an open turn of a
-- task carries, and if the session has a goal. Returns no row as `tool_calls/turn`.
-- $1 run, $2 worker, $3 hash of the run's secret, $4 oldest instant that is not stale
select h.id, h.name, h.config, h.format, h.needs_format, r.tenant_id, r.origin, r.automation_id, r.task_id,
    cast(g.team -> 'limits' ->> 'question_hours' as bigint) as question_hours,
    (
        select count(*) from agent_definitions d
        where d.tenant_id = r.tenant_id and d.session_id = r.session_id
    ) as seats,
    (
        select count(*) from agent_messages m
        where m.to_seat_id = r.seat_id and m.delivered_at is null and (m.input_id is null or m.input_id <> r.input_id)
            and not exists (
                select 1 from agent_runs o
                where o.input_id = m.input_id and o.origin = 'task'
                    and o.status in ('queued', 'deferred', 'delivered', 'running')
            )
    ) as unread,
    g.session_id is not null as is_of_goal
from agent_runs r
join run_heartbeats b on b.run_id = r.id and b.worker_id = r.worker_id
join agent_definitions s on s.id = r.seat_id
join harnesses h on h.id = s.harness_id
left join goals g on g.session_id = r.session_id
where r.id = $1 and r.status = 'running' and r.worker_id = $2 and r.secret_hash = $3 and b.beat_at >= $4
