-- Inserts the memories of tasks that have none on their seats.
-- Each row: $1 tenant, $2 session, $3 task, $4 seat, $5 true for a review. $6 now
with item (tenant_id, session_id, task_id, seat_id, review) as (values /* row */ ($1, $2, $3, $4, $5))
insert into task_memories (tenant_id, session_id, task_id, seat_id, review, created_at, updated_at)
select tenant_id, session_id, task_id, seat_id, review, $6, $6
from item
where true
on conflict (task_id, seat_id, review) do nothing
