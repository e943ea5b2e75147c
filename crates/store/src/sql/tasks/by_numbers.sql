-- Reads tasks of a goal by their numbers, in the order of these, without their texts.
-- Each row: $1 number. $2 session
with item (number) as (values /* row */ ($1))
select t.id, t.number, t.key, t.kind, t.role, t.status, t.unmet, t.priority, t.optional, t.review, t.step, t.reason,
    t.acceptance, t.checks, t.writes, t.plan_version, t.digest, t.progress
from item
join agent_tasks t on t.session_id = $2 and t.number = item.number
order by t.number
