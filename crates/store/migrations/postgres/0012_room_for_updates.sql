-- Room in the pages that are filled from now on, for sessions and seats: each turn updates them, and no column
-- that it changes is in an index, so that the new version mostly stays on the page and no index hears of it. The
-- same as ../sqlite/0012_room_for_updates.sql, where a row is overwritten in its place.
alter table agent_sessions set (fillfactor = 50);
alter table agent_definitions set (fillfactor = 50);
