-- The instances on which people place automations and sessions. The same as ../postgres/0025_placement.sql.
--
-- An instance is never deleted, only marked, and a transition that places something locks it. Earlier programs do not know
-- the columns; `needs_format` keeps them from placed automations and seats.

alter table automations add column placed_on blob;
alter table agent_definitions add column placed_on blob;
