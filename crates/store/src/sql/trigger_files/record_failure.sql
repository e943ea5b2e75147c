-- Records a failed attempt to write a file. Changes no row if another attempt has begun.
-- $1 run, $2 attempt, $3 error, $4 instant of the next attempt
update trigger_files set failures = failures + 1, error = $3, next_attempt_at = $4
where run_id = $1 and attempt = $2
