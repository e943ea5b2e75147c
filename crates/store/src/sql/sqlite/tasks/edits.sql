-- Lists the paths that agents report to have changed in the turns of work on tasks: the locations and the diffs of completed
-- tool calls that edit, delete or move. A list that is too large for the transcript is an object there, which has no paths.
-- Each row: $1 task. $2 the maximum number of characters of a path, $3 the maximum number of paths of a task
with item (id) as (values /* row */ ($1)),
entry (task_id, seat_id, list, object) as (
    select r.task_id, r.seat_id, list.key, case part.type when 'object' then part.value end
    from item
    join agent_runs r on r.task_id = item.id
    join agent_messages m on m.run_id = r.id
    join json_each(m.metadata) list
    join json_each(case list.type when 'array' then list.value else '[]' end) part
    where not r.task_review and m.kind = 'tool_call' and m.metadata ->> 'status' = 'completed'
        and m.metadata ->> 'tool_kind' in ('edit', 'delete', 'move') and list.key in ('locations', 'content')
),
edit (task_id, seat_id, path) as (
    select distinct task_id, seat_id, substr(object ->> 'path', 1, cast($2 as integer))
    from entry
    where json_type(object, '$.path') = 'text' and (list = 'locations' or object ->> 'type' = 'diff')
),
numbered as (
    select task_id, seat_id, path, row_number() over (partition by task_id order by path) as position
    from edit
)
select task_id, seat_id, path
from numbered
where position <= $3
