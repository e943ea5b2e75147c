-- Moves tasks, each only if its status is still the one that was read. So a task becomes DONE once.
-- Each row: :id, :before status before, :status, :unmet, :step, :seat, :reason, :attempts, :rounds, :progress. :now
with item (id, before, status, unmet, step, seat, reason, attempts, rounds, progress)
    as (values /* row */ (:id, :before, :status, :unmet, :step, :seat, :reason, :attempts, :rounds, :progress))
update agent_tasks
set status = item.status, unmet = item.unmet, step = item.step, seat_id = item.seat, reason = item.reason,
    attempts = item.attempts, rounds = item.rounds, progress = item.progress, updated_at = :now,
    started_at = case
        when item.status = 'RUNNING' then coalesce(agent_tasks.started_at, :now) else agent_tasks.started_at end,
    ended_at = case
        when item.status in ('DONE', 'FAILED', 'CANCELLED') then coalesce(agent_tasks.ended_at, :now) else null end
from item
where agent_tasks.id = item.id and agent_tasks.status = item.before and (item.status = 'DONE' or agent_tasks.status <> 'DONE')
