-- Words by which somebody may ask for a memory: indexed beside its text, and never told.
ALTER TABLE memories ADD COLUMN cues TEXT NOT NULL DEFAULT '[]';
