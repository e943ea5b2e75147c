-- Locks an automation's triggers, which come before the automation itself.
-- $1 automation
select id from automation_triggers where automation_id = $1 order by id for update
