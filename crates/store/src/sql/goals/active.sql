-- Lists those sessions whose goal is active, in the order of their IDs.
-- Each row: $1 session. $2 highest format
with item (id) as (values /* row */ ($1))
select session_id
from goals
where session_id in (select id from item) and state = 'active' and needs_format <= $2
order by session_id
