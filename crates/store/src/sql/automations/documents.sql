-- Reads the stored documents of an automation, unparsed.
-- $1 id
select policies, settings, permissions, format from automations where id = $1
