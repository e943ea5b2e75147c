-- Deletes memories of tasks, so that their next turns begin new ones.
-- Each row: $1 task, $2 seat, $3 true for a review
with item (task_id, seat_id, review) as (values /* row */ ($1, $2, $3))
delete from task_memories
where exists (
    select 1 from item
    where item.task_id = task_memories.task_id and item.seat_id = task_memories.seat_id and item.review = task_memories.review
)
