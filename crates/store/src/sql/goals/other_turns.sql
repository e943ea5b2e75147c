-- Lists the seats of a session that runs without a task hold, or take before the next run of a task. A run in its backoff takes
-- none, and neither does one that waits for another run of its automation.
-- $1 session, $2 now, or null if no backoff counts as over
select d.name
from agent_definitions d
where d.session_id = $1
    and (
        exists (
            select 1 from agent_runs r
            where r.seat_id = d.id and r.status in ('queued', 'delivered', 'running') and r.task_id is null
        )
        or exists (
            select 1 from agent_runs r
            where r.seat_id = d.id and r.status = 'deferred' and r.task_id is null
                and (r.not_before is null or r.not_before <= $2)
                and not (r.exclusive and exists (
                    select 1 from agent_runs a
                    where a.automation_id = r.automation_id and a.exclusive
                        and a.status in ('queued', 'delivered', 'running')
                ))
        )
    )
