-- Locks an automation's triggers. In the lock order, they come before the automation.
-- $1 automation
select id from automation_triggers where automation_id = $1 order by id for update
