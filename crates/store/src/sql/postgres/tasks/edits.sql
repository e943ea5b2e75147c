-- Lists the paths that agents report to have changed in the turns of work on tasks: the locations and the diffs of completed
-- tool calls that edit, delete or move. A list that is too large for the transcript is an object there, which has no paths.
-- Each row: $1 task. $2 the maximum number of characters of a path, $3 the maximum number of paths of a task
with item (id) as (values /* row */ ($1)),
edit (task_id, seat_id, path) as (
    select distinct r.task_id, r.seat_id, substr(entry.path #>> '{}', 1, cast($2 as integer))
    from item
    join agent_runs r on r.task_id = item.id
    join agent_messages m on m.run_id = r.id
    cross join lateral (
        select jsonb_path_query(m.metadata, '$.locations[*].path')
        union all
        select jsonb_path_query(m.metadata, '$.content[*] ? (@.type == "diff").path')
    ) entry (path)
    where not r.task_review and m.kind = 'tool_call' and m.metadata ->> 'status' = 'completed'
        and m.metadata ->> 'tool_kind' in ('edit', 'delete', 'move') and jsonb_typeof(entry.path) = 'string'
),
numbered as (
    select task_id, seat_id, path, row_number() over (partition by task_id order by path) as position
    from edit
)
select task_id, seat_id, path
from numbered
where position <= $3
