-- Returns agents by ID.
-- Each row: $1 id
with item (id) as (values /* row */ ($1))
select id, name, config, format, needs_format from harnesses
where id in (select id from item)
