-- For each table, the query that returns its rows as texts.
select 'select concat_ws('' '', ' || group_concat('quote("' || c.name || '")', ', ') || ') from "' || t.name || '"'
from sqlite_schema t, pragma_table_info(t.name) c
where t.type = 'table'
group by t.name
order by t.name
