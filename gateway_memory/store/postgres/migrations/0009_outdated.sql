ALTER TABLE memories ADD COLUMN outdates TEXT NOT NULL DEFAULT '';
CREATE INDEX memories_outdating ON memories (scope) WHERE outdates <> '';
