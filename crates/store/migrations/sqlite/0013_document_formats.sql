-- Formats of stored documents, and the program that applied a version of the schema. The same as
-- ../postgres/0013_document_formats.sql.
--
-- `format` is the highest format whose keys may be in a row's documents. `needs_format` is the least format whose
-- servers honour all of them. Earlier programs know neither column: they read and write documents of format 1, the
-- default of both.

alter table automations add column format integer not null default 1;
alter table automations add column needs_format integer not null default 1
    constraint automations_format check (needs_format between 1 and format);
alter table automation_triggers add column format integer not null default 1;
alter table automation_triggers add column needs_format integer not null default 1
    constraint automation_triggers_format check (needs_format between 1 and format);
alter table harnesses add column format integer not null default 1;
alter table harnesses add column needs_format integer not null default 1
    constraint harnesses_format check (needs_format between 1 and format);
alter table agent_definitions add column format integer not null default 1;
alter table agent_definitions add column needs_format integer not null default 1
    constraint agent_definitions_format check (needs_format between 1 and format);
alter table tenants add column format integer not null default 1;
alter table tenants add column needs_format integer not null default 1
    constraint tenants_format check (needs_format between 1 and format);

-- A server finds the documents that it cannot honour before each claim. There are seldom any.
create index automations_needing on automations (needs_format) where needs_format > 1;
create index automation_triggers_needing on automation_triggers (needs_format) where needs_format > 1;
create index harnesses_needing on harnesses (needs_format) where needs_format > 1;
create index agent_definitions_needing on agent_definitions (needs_format) where needs_format > 1;
create index tenants_needing on tenants (needs_format) where needs_format > 1;

-- The highest format that a server honours.
alter table servers add column format integer not null default 1;

-- The versions of the schema that were applied from this one on, each with the program that applied it, so that an
-- earlier program can name the one that is needed. The file's header keeps the version itself.
create table schema_versions (
    version integer primary key,
    name text not null,
    works_with integer not null,
    program text
) strict;
