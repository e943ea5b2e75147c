-- Ends checks that no worker has claimed, and requests that the worker of others ends them. Returns no row if the checks of
-- the task are over.
-- $1 task, $2 now
update task_checks
set status = case when status = 'waiting' then 'cancelled' else status end,
    ended_at = case when status = 'waiting' then $2 else ended_at end,
    cancel_requested_at = $2, updated_at = $2
where task_id = $1 and status in ('waiting', 'running')
returning status
