-- Several seats in a session, each with a name of its own. The same as ../sqlite/0029_seats.sql.
--
-- The index of names also serves the statements that read the seats of a session, so that it replaces an index and the
-- creation of a session writes no more than before. Earlier programs name the only seat of a session `agent`. They do not
-- know the column, and `needs_format` keeps them from seats with a folder of their own and from seats with instructions.

alter table agent_definitions add column directory text not null default 'shared'
    constraint agent_definitions_directory_known check (directory in ('shared', 'own'));
create unique index agent_definitions_one_name_per_session on agent_definitions (session_id, name);
drop index agent_definitions_by_session;
