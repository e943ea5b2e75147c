-- Finds the input that a free seat takes up next: people before automations, then first come, first
-- served, and instants that were caught up together in their order; none while the seat is held or its
-- session is not active.
-- $1 seat, $2 now
select r.id, r.not_before
from agent_runs r
join agent_sessions s on s.id = r.session_id and s.state = 'active'
where r.seat_id = $1 and r.status = 'deferred'
  and (r.not_before is null or r.not_before <= $2)
  and not exists (
      select 1 from agent_runs a
      where a.seat_id = $1 and a.status in ('queued', 'delivered', 'running')
  )
  and not (r.exclusive and exists (
      select 1 from agent_runs a
      where a.automation_id = r.automation_id and a.exclusive
        and a.status in ('queued', 'delivered', 'running')
  ))
order by r.priority, r.input_at, r.scheduled_for, r.id
limit 1
