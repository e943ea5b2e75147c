-- Stores the usage that agents last reported of their sessions. A memory without a stored session is left out.
-- Each row: $1 task, $2 seat, $3 true for a review, $4 usage
with item (task_id, seat_id, review, usage) as (values /* row */ ($1, $2, $3, $4))
update task_memories set usage = item.usage
from item
where task_memories.task_id = item.task_id and task_memories.seat_id = item.seat_id
  and task_memories.review = item.review and task_memories.acp_session_id is not null
