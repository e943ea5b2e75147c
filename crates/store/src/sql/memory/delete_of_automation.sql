-- Deletes the entries of an automation.
-- $1 automation
delete from agent_memory_entries where automation_id = $1
