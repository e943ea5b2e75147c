-- Lists the memories of tasks whose instance was removed.
-- Each row: $1 task, $2 seat, $3 true for a review
with item (task_id, seat_id, review) as (values /* row */ ($1, $2, $3))
select m.task_id, m.seat_id, m.review
from item
join task_memories m on m.task_id = item.task_id and m.seat_id = item.seat_id and m.review = item.review
join instances i on i.tenant_id = m.tenant_id and i.id = m.instance_id
where i.state = 'gone'
