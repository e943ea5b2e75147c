-- Room in the pages of what every turn updates, so that its new version mostly stays on the page and no index
-- hears of it. The same as ../sqlite/0012_room_for_updates.sql, where a row is overwritten in its place.
alter table agent_sessions set (fillfactor = 50);
alter table agent_definitions set (fillfactor = 50);
