-- A folder belongs to one instance, because the runtime of another one would find files of runs that it may not take. The
-- same as ../sqlite/0028_instance_folders.sql.
--
-- `folder_key` is the path of the folder on servers, without empty parts. It is null for hosts, for instances that an
-- earlier program adds, and for all but the oldest of several instances that have named one folder until now.

alter table instances add column folder_key text;

update instances set folder_key = rtrim(replace(replace(config ->> 'folder', '/./', '/'), '//', '/'), '/')
where kind = 'directory' and state <> 'gone' and not exists (
    select 1 from instances older
    where older.kind = 'directory' and older.state <> 'gone' and older.id < instances.id
      and rtrim(replace(replace(older.config ->> 'folder', '/./', '/'), '//', '/'), '/')
        = rtrim(replace(replace(instances.config ->> 'folder', '/./', '/'), '//', '/'), '/')
);

create unique index instances_one_per_folder on instances (folder_key) where state <> 'gone';
