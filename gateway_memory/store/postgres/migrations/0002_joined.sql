-- A session can join a project, to which what is decided in it goes.
ALTER TABLE turns ADD COLUMN joined TEXT NOT NULL DEFAULT '';
COMMENT ON COLUMN turns.joined IS 'The shared scope that its session has joined, to which its decisions go';
