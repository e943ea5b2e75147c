-- Makes the file of a run due, because its content has changed. The new attempt fences a dispatcher that is still writing
-- the earlier content.
-- $1 run, $2 now
update trigger_files set attempt = attempt + 1, next_attempt_at = $2
where run_id = $1
