-- Marks a queued run as delivered, after its file was written. Changes no row if another attempt at the file has begun, or
-- if the run is no longer queued.
-- $1 run, $2 attempt, $3 now
update agent_runs set status = 'delivered', worker_id = 'trigger-file', claimed_at = $3
where id = $1 and status = 'queued' and exists (
    select 1 from trigger_files f where f.run_id = $1 and f.attempt = $2
)
