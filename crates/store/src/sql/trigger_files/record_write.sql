-- Records that a file is in its folder. Changes no row if another attempt has begun.
-- $1 run, $2 attempt, $3 now, $4 1 if the file was written, 0 if it was there, $5 instant of the next look for the file
update trigger_files
set written_at = case when $4 > 0 or written_at is null then $3 else written_at end, writes = writes + $4,
    failures = 0, error = null, next_attempt_at = $5
where run_id = $1 and attempt = $2
