-- Numbers of events are not given a second time where a server steps back: see `events.next_number`.
ALTER TABLE hosts ADD COLUMN place TEXT NOT NULL DEFAULT '';
COMMENT ON COLUMN hosts.place IS 'The server and the tables on which it has numbered its last event';
