-- The defect of `--break goals`: makes a finished task of active goals ready again. No other task waits for this one.
update agent_tasks
set status = 'READY', reason = null, ended_at = null
where key = 'checked' and status = 'DONE'
    and session_id in (select session_id from goals where state = 'active')
