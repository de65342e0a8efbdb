-- Who said it in a room: the key of the scope that is theirs alone, which stays. What the channel calls them may change.
ALTER TABLE turns ADD COLUMN speaker TEXT NOT NULL DEFAULT '';
ALTER TABLE turns ADD COLUMN speaker_prefix TEXT NOT NULL DEFAULT '';
ALTER TABLE episodes ADD COLUMN speaker TEXT NOT NULL DEFAULT '';
ALTER TABLE memories ADD COLUMN speaker TEXT NOT NULL DEFAULT '';
COMMENT ON COLUMN turns.speaker IS 'In a room: the key of the scope of whoever said it';
COMMENT ON COLUMN turns.speaker_prefix IS 'In a room: how a line begins that names whoever said it';
COMMENT ON COLUMN episodes.speaker IS 'In a room: the key of the scope of whoever said it';
COMMENT ON COLUMN memories.speaker IS 'In a room: the key of the scope of whoever said it';
