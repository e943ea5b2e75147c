-- Reads the documents of an automation as they are stored.
-- $1 id
select policies, settings, permissions, format from automations where id = $1
