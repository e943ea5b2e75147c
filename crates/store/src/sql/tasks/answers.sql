-- Reads the answers to the questions of the newest turn of a task that has asked, the oldest question first. The turns of a judge
-- count apart from those that do the task.
-- $1 task, $2 true for the turns of a judge
select q.text, q.answer, q.answered_by
from questions q
where q.kind = 'tool' and q.state in ('answered', 'expired') and q.input_id = (
    select r.input_id
    from agent_runs r
    where r.task_id = $1 and r.task_review = $2 and exists (
        select 1 from questions asked
        where asked.run_id = r.id and asked.kind = 'tool' and asked.state in ('answered', 'expired')
    )
    order by r.id desc
    limit 1
)
order by q.id
