-- Episodes that another program recorded, and that the rules or a model have still to read.

ALTER TABLE turns ADD COLUMN imported BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE episodes ADD COLUMN unread TEXT NOT NULL DEFAULT '';
UPDATE episodes SET unread = 'rules'
    WHERE split_part(session_key, ':', 1) IN ('openclaw', 'nanobot', 'hermes', 'claude-code', 'chatgpt', 'claude')
    AND session_id NOT IN (SELECT session_id FROM sessions);
CREATE INDEX episodes_unread ON episodes (scope, at, turn) WHERE unread IN ('rules', 'model');
