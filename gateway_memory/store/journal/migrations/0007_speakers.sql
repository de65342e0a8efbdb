-- Who said it in a room: the key of the scope that is theirs alone, which stays. What the channel calls them may change.
ALTER TABLE turns ADD COLUMN speaker TEXT NOT NULL DEFAULT '';
ALTER TABLE turns ADD COLUMN speaker_prefix TEXT NOT NULL DEFAULT '';
ALTER TABLE episodes ADD COLUMN speaker TEXT NOT NULL DEFAULT '';
ALTER TABLE memories ADD COLUMN speaker TEXT NOT NULL DEFAULT '';
