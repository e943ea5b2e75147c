-- Reads an automation's triggers. The transaction holds the only write lock already.
-- $1 automation
select id from automation_triggers where automation_id = $1 order by id
