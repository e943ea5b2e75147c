-- Finds free seats on which a waiting run could start, because its backoff has ended or because an earlier promotion
-- missed it. Turns of tasks do not start while a person has paused their goal. Seats with messages of people come first, then those with the oldest input.
-- $1 now, $2 limit
select r.seat_id
from agent_runs r
join agent_sessions s on s.id = r.session_id and s.state = 'active'
where r.status = 'deferred'
  and (r.not_before is null or r.not_before <= $1)
  and (r.task_id is null or not exists (
      select 1 from goals g where g.session_id = r.session_id and g.state = 'paused' and g.reason = 'person'
  ))
  and not exists (
      select 1 from agent_runs a
      where a.seat_id = r.seat_id and a.status in ('queued', 'delivered', 'running')
  )
  and not (r.exclusive and exists (
      select 1 from agent_runs a
      where a.automation_id = r.automation_id and a.exclusive
        and a.status in ('queued', 'delivered', 'running')
  ))
group by r.seat_id
order by min(r.priority), min(r.input_at), r.seat_id
limit $2
