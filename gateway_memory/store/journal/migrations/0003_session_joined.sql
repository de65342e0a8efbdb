-- A session's agent, in another process, may write to the project that its host has named and to no other.
ALTER TABLE sessions ADD COLUMN joined TEXT NOT NULL DEFAULT '';  -- the key of the shared scope, or ""
