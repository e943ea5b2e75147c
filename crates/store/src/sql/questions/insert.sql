-- Inserts a pending question of a running attempt. Returns no row if the attempt no longer runs, or if the ID already
-- exists.
-- :id, :run, :kind, :text, :body the accepted answers, :format of the body, :needs_format, :deadline, :now
insert into questions
    (id, tenant_id, session_id, seat_id, run_id, automation_id, input_id, kind, text, body, format, needs_format,
    state, deadline_at, created_at)
select :id, r.tenant_id, r.session_id, r.seat_id, r.id, r.automation_id, r.input_id, :kind, :text, :body, :format, :needs_format, 'pending', :deadline, :now
from agent_runs r
where r.id = :run and r.status = 'running' and r.cancel_requested_at is null
on conflict (id) do nothing
returning id
