-- Lists goals whose deadline has passed, or whose time is over since their last move, the most overdue first.
-- $1 now, $2 limit, $3 highest format
with due (session_id, at) as (
    select session_id, check_at from goals where check_at <= $1 and needs_format <= $3
    union all
    select session_id, until_at from goals
    where until_at <= $1 and not until_passed and state = 'active' and needs_format <= $3
)
select session_id from due group by session_id order by min(at), session_id limit $2
