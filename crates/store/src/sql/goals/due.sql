-- Lists goals whose deadline has passed, the most overdue first.
-- $1 now, $2 limit, $3 highest format
select session_id from goals where check_at <= $1 and needs_format <= $3 order by check_at, session_id limit $2
