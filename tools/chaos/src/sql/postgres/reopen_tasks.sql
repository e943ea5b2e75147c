-- The defect of `--break goals`: makes a finished task of active goals ready again. No other task waits for this one.
update automation.agent_tasks task
set status = 'READY', reason = null, ended_at = null
from automation.goals goal
where goal.session_id = task.session_id and goal.state = 'active'
    and task.key = 'checked' and task.status = 'DONE'
