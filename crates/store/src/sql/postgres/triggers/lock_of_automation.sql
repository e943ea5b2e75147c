-- Locks the triggers of an automation, in the order of their IDs. The automation itself is locked after them.
-- $1 automation
select id from automation_triggers where automation_id = $1 order by id for no key update
