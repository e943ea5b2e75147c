-- Formats of stored documents, and the program that applied a version of the schema. The same as
-- ../sqlite/0013_document_formats.sql.
--
-- `format` is the highest format whose keys may be in a row's documents. `needs_format` is the least format whose
-- servers honour all of them. Earlier programs know neither column: they read and write documents of format 1, the
-- default of both.

alter table automations
    add column format bigint not null default 1,
    add column needs_format bigint not null default 1,
    add constraint automations_format check (needs_format between 1 and format);
alter table automation_triggers
    add column format bigint not null default 1,
    add column needs_format bigint not null default 1,
    add constraint automation_triggers_format check (needs_format between 1 and format);
alter table harnesses
    add column format bigint not null default 1,
    add column needs_format bigint not null default 1,
    add constraint harnesses_format check (needs_format between 1 and format);
alter table agent_definitions
    add column format bigint not null default 1,
    add column needs_format bigint not null default 1,
    add constraint agent_definitions_format check (needs_format between 1 and format);
alter table tenants
    add column format bigint not null default 1,
    add column needs_format bigint not null default 1,
    add constraint tenants_format check (needs_format between 1 and format);

-- A server finds the documents that it cannot honour before each claim. There are seldom any.
create index automations_needing on automations (needs_format) where needs_format > 1;
create index automation_triggers_needing on automation_triggers (needs_format) where needs_format > 1;
create index harnesses_needing on harnesses (needs_format) where needs_format > 1;
create index agent_definitions_needing on agent_definitions (needs_format) where needs_format > 1;
create index tenants_needing on tenants (needs_format) where needs_format > 1;

-- The highest format that a server honours.
alter table servers add column format bigint not null default 1;

-- The version of the program that applied this version of the schema, so that an earlier one can name it.
alter table schema_versions add column program text;
