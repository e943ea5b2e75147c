-- Agents that people have removed. The same as ../sqlite/0018_removed_agents.sql.
--
-- The row of a removed agent stays, because closed sessions refer to it and because the agents of the catalogue are added
-- at each start if their names are free. Earlier programs do not know the column: they list a removed agent as before.

alter table harnesses add column removed_at timestamptz;
