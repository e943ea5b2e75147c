-- Reads the memories of the turns of tasks. A turn whose seat has one memory for all turns has no row.
-- Each row: $1 task, $2 seat, $3 true for a review
with item (task_id, seat_id, review) as (values /* row */ ($1, $2, $3))
select m.task_id, m.seat_id, m.review, m.instance_id, m.acp_session_id, m.turns, m.usage, m.updated_at
from item
join task_memories m on m.task_id = item.task_id and m.seat_id = item.seat_id and m.review = item.review
