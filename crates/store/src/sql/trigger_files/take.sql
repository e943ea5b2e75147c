-- Records that the files of runs no longer wait, for example because a runtime has claimed the runs. The new attempt fences a
-- dispatcher that is still writing. A file is taken until the next attempt, and due at once if the run is queued again.
-- Each row: $1 run. $2 now
with item (id) as (values /* row */ ($1))
update trigger_files
set attempt = attempt + 1, taken_attempt = attempt + 1, next_attempt_at = $2,
    written_at = coalesce(written_at, $2), failures = 0, error = null
where run_id in (select id from item)
