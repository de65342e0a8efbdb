-- A session can join a project, to which what is decided in it goes.
ALTER TABLE turns ADD COLUMN joined TEXT NOT NULL DEFAULT '';  -- the key of the shared scope, or ""
