-- With the scope alone, SQLite reads all memories of a scope by the primary key; in the order that is asked for, it doesn't.
DROP INDEX memories_outdating;
CREATE INDEX memories_outdating ON memories (scope, state, at) WHERE outdates <> '';
