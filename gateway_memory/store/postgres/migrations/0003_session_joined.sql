-- A session's agent, in another process, may write to the project that its host has named and to no other.
ALTER TABLE sessions ADD COLUMN joined TEXT NOT NULL DEFAULT '';
COMMENT ON COLUMN sessions.joined IS 'The shared scope that its host has named, the only one that its agent may name';
