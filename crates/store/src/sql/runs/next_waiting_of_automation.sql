-- Finds the seat on which an automation's next waiting run could start now: none while another of
-- its runs that exclude each other holds a seat.
-- $1 automation, $2 now
select r.seat_id
from agent_runs r
join agent_sessions s on s.id = r.session_id and s.state = 'active'
where r.automation_id = $1 and r.status = 'deferred' and r.exclusive
  and (r.not_before is null or r.not_before <= $2)
  and not exists (
      select 1 from agent_runs a
      where a.seat_id = r.seat_id and a.status in ('queued', 'delivered', 'running')
  )
  and not exists (
      select 1 from agent_runs a
      where a.automation_id = $1 and a.exclusive and a.status in ('queued', 'delivered', 'running')
  )
order by r.priority, r.input_at, r.scheduled_for, r.id
limit 1
