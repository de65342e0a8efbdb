-- The schema of journal.sqlite. Times are seconds since 1970, days are YYYY-MM-DD, scopes are keys such as owner.
--
-- PostgreSQL has the same tables in store/postgres/migrations/0001_schema.sql. Steps that were released never change: the
-- next file in this folder adds to them.

-- Sessions: their key, scope and times.
CREATE TABLE sessions (
    session_id TEXT PRIMARY KEY,
    key TEXT NOT NULL,
    scope TEXT NOT NULL,
    opened_at REAL NOT NULL,
    ended_at REAL,
    reason TEXT,
    seen_at REAL NOT NULL DEFAULT 0,       -- when it was last active
    slot INTEGER NOT NULL DEFAULT -1,      -- the process that has it open, -1: none
    state TEXT NOT NULL DEFAULT '',        -- after its end: saved, unsaved, nothing
    followups INTEGER NOT NULL DEFAULT 0,  -- how many prompts to save it was given
    error TEXT NOT NULL DEFAULT '',        -- the error that the host reported
    duration_ms INTEGER,                   -- reported by the host, else measured
    switches TEXT NOT NULL DEFAULT '',     -- set by `/memory on | off`, as JSON
    stops INTEGER NOT NULL DEFAULT 0       -- how often an editor's agent stopped in it
);
CREATE UNIQUE INDEX sessions_open ON sessions (key, scope) WHERE ended_at IS NULL;
CREATE INDEX sessions_running ON sessions (seen_at) WHERE ended_at IS NULL;
CREATE INDEX sessions_by_key ON sessions (key, scope, ended_at);
CREATE INDEX sessions_by_scope ON sessions (scope);
CREATE INDEX sessions_unsaved ON sessions (ended_at) WHERE state = 'unsaved';

-- Accepted turns whose processing is not complete.
CREATE TABLE turns (
    id INTEGER PRIMARY KEY AUTOINCREMENT,  -- by which replies, episodes and receipts refer to the turn
    scope TEXT NOT NULL,
    session_key TEXT NOT NULL,
    session_id TEXT NOT NULL,
    user TEXT NOT NULL,
    reply TEXT NOT NULL,
    at REAL NOT NULL,
    accepted_at REAL NOT NULL,
    stage INTEGER NOT NULL DEFAULT 0,      -- 0: accepted; 1: the rules stage is done; 2: failed; 100 less: parked
    slot INTEGER NOT NULL,                 -- the process that works on it
    extract INTEGER NOT NULL DEFAULT 1,    -- whether memories are extracted from it
    episode INTEGER NOT NULL DEFAULT 0,    -- whether it is kept after processing
    imported INTEGER NOT NULL DEFAULT 0    -- an episode that another program recorded
);
CREATE INDEX turns_by_slot ON turns (slot, stage, id);

-- The memories that were recalled for the reply of a turn.
CREATE TABLE replies (
    turn INTEGER PRIMARY KEY,
    scope TEXT NOT NULL,
    session_id TEXT NOT NULL,
    at REAL NOT NULL,
    recalled TEXT NOT NULL,
    session_key TEXT NOT NULL DEFAULT '',
    turn_id TEXT NOT NULL DEFAULT '',      -- made by the caller; the same one again is not stored twice
    report TEXT NOT NULL DEFAULT ''        -- what was considered, as JSON without text
);
CREATE INDEX replies_by_session ON replies (session_id, turn);
CREATE INDEX replies_by_scope ON replies (scope, turn);
CREATE UNIQUE INDEX replies_by_turn_id ON replies (scope, session_key, turn_id) WHERE turn_id <> '';

-- What was said in processed turns.
CREATE TABLE episodes (
    turn INTEGER PRIMARY KEY,
    scope TEXT NOT NULL,
    session_key TEXT NOT NULL,
    session_id TEXT NOT NULL,
    user TEXT NOT NULL,
    reply TEXT NOT NULL,
    at REAL NOT NULL,
    unread TEXT NOT NULL DEFAULT ''        -- of an import: who has still to read it (rules, model), or no
);
CREATE INDEX episodes_by_scope ON episodes (scope, turn);
CREATE INDEX episodes_by_session ON episodes (scope, session_id, turn);
CREATE INDEX episodes_by_time ON episodes (scope, at);
CREATE INDEX episodes_unread ON episodes (scope, at, turn) WHERE unread IN ('rules', 'model');

-- A token for each page of episodes, which changes with them; the index follows.
CREATE TABLE episode_pages (
    scope TEXT NOT NULL,
    page INTEGER NOT NULL,
    token TEXT NOT NULL,
    behind INTEGER NOT NULL DEFAULT 1,     -- it changed since it was indexed
    PRIMARY KEY (scope, page)
) WITHOUT ROWID;
CREATE INDEX episode_pages_behind ON episode_pages (scope, page) WHERE behind;

-- Write-ahead log: changes that may not be in the documents yet.
CREATE TABLE plans (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    slot INTEGER NOT NULL,
    body TEXT NOT NULL
);

-- The process that works for each slot; a commit with another token is refused.
CREATE TABLE leases (
    slot INTEGER PRIMARY KEY,
    token TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT ''         -- how the process is, as JSON without text
);

-- What failed in any process, by kind.
CREATE TABLE failures (
    place TEXT NOT NULL,
    error TEXT NOT NULL,                   -- the class of the error
    at REAL NOT NULL,                      -- when it came last
    count INTEGER NOT NULL,
    PRIMARY KEY (place, error)
) WITHOUT ROWID;

-- The fields of memories that Markdown doesn't hold, also of memories that left it.
CREATE TABLE memories (
    scope TEXT NOT NULL,
    id TEXT NOT NULL,
    text TEXT NOT NULL,
    file TEXT NOT NULL,
    type TEXT NOT NULL,
    category TEXT NOT NULL,
    importance TEXT NOT NULL,
    confidence REAL NOT NULL,
    entities TEXT NOT NULL,
    session_key TEXT NOT NULL,
    at REAL NOT NULL,
    state TEXT NOT NULL,                   -- active, superseded, forgotten, undone, deleted, expired, retracted
    replaced_by TEXT,
    changed_at REAL NOT NULL,
    turn INTEGER NOT NULL DEFAULT 0,       -- the turn that it was extracted from, 0: none
    expires TEXT NOT NULL DEFAULT '',      -- the last day on which it holds
    quote TEXT NOT NULL DEFAULT '',        -- the user's words it was extracted from
    outdates TEXT NOT NULL DEFAULT '',     -- an older memory that may no longer hold
    PRIMARY KEY (scope, id)
) WITHOUT ROWID;
CREATE INDEX memories_by_turn ON memories (scope, turn) WHERE turn > 0;
CREATE INDEX memories_by_expiry ON memories (scope, expires) WHERE expires <> '' AND state = 'active';
CREATE INDEX memories_important ON memories (scope)
    WHERE state = 'active' AND importance = 'high' AND file <> 'MEMORY.md';
-- SQLite takes this one where a query also says: state <> 'active' AND state > ''.
CREATE INDEX memories_gone ON memories (scope, state) WHERE state <> 'active';
CREATE INDEX memories_outdating ON memories (scope) WHERE outdates <> '';

-- What came of turns.
CREATE TABLE receipts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    scope TEXT NOT NULL,
    session_key TEXT NOT NULL,
    stage TEXT NOT NULL,                   -- rules, batch, command
    turns TEXT NOT NULL,
    outcome TEXT NOT NULL,
    at REAL NOT NULL
);
CREATE INDEX receipts_by_scope ON receipts (scope, id);

-- The changes of each memory.
CREATE TABLE history (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    scope TEXT NOT NULL,
    memory TEXT NOT NULL,
    at REAL NOT NULL,
    event TEXT NOT NULL,                   -- added, superseded, forgotten, expired, undone, restored
    other TEXT NOT NULL                    -- the id of the memory that it replaced or that replaced it
);
CREATE INDEX history_by_memory ON history (scope, memory, id);

-- The state before each change, for undo.
CREATE TABLE changes (
    receipt INTEGER PRIMARY KEY,
    scope TEXT NOT NULL,
    plan TEXT NOT NULL,
    patches TEXT NOT NULL
);
CREATE INDEX changes_by_scope ON changes (scope, receipt);

-- What a person says of a memory in a reply.
CREATE TABLE feedback (
    scope TEXT NOT NULL,
    turn INTEGER NOT NULL,
    memory TEXT NOT NULL,                  -- '' for the reply as a whole
    verdict TEXT NOT NULL,                 -- useful, wrong
    at REAL NOT NULL,
    PRIMARY KEY (scope, turn, memory)
) WITHOUT ROWID;

-- Candidates that wait for a person, and what became of them.
CREATE TABLE reviews (
    scope TEXT NOT NULL,
    id TEXT NOT NULL,
    state TEXT NOT NULL,                   -- waiting, approved, rejected, never, expired, replaced, forgotten
    reason TEXT NOT NULL,                  -- why it waits
    at REAL NOT NULL,
    text TEXT NOT NULL,
    turn INTEGER NOT NULL,
    expires TEXT NOT NULL,
    body TEXT NOT NULL,                    -- the memory that it would be, and what it would replace
    PRIMARY KEY (scope, id)
);
CREATE INDEX reviews_by_state ON reviews (state, scope, at);
CREATE INDEX reviews_by_turn ON reviews (scope, turn);

-- One-time hints to the person of a scope.
CREATE TABLE marks (
    scope TEXT NOT NULL,
    name TEXT NOT NULL,
    told INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (scope, name)
) WITHOUT ROWID;
CREATE INDEX marks_untold ON marks (scope, name) WHERE NOT told;

-- Calls and tokens of models, by day.
CREATE TABLE usage (
    day TEXT PRIMARY KEY,
    extractions INTEGER NOT NULL DEFAULT 0,
    input_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    reserved_tokens INTEGER NOT NULL DEFAULT 0  -- for model calls in flight
) WITHOUT ROWID;

-- The days on which a memory was recalled for a reply or said again.
CREATE TABLE uses (
    scope TEXT NOT NULL,
    memory TEXT NOT NULL,
    day TEXT NOT NULL,
    recalled INTEGER NOT NULL,
    repeated INTEGER NOT NULL,
    PRIMARY KEY (scope, memory, day)
) WITHOUT ROWID;

-- The last reply and receipt that were counted in uses.
CREATE TABLE uses_read (
    scope TEXT PRIMARY KEY,
    reply INTEGER NOT NULL,
    receipt INTEGER NOT NULL
) WITHOUT ROWID;

-- The log of open sessions.
CREATE TABLE observations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    scope TEXT NOT NULL,
    session_id TEXT NOT NULL,
    at REAL NOT NULL,
    kind TEXT NOT NULL,
    tool TEXT NOT NULL,
    content TEXT NOT NULL,                 -- shortened
    private INTEGER NOT NULL,
    tags TEXT NOT NULL DEFAULT ''
);
CREATE INDEX observations_by_session ON observations (session_id, id);
CREATE INDEX observations_by_age ON observations (at);

-- The memories made in a session.
CREATE TABLE session_memories (
    session_id TEXT NOT NULL,
    scope TEXT NOT NULL,
    memory TEXT NOT NULL,
    type TEXT NOT NULL,                    -- S: a stage summary
    at REAL NOT NULL,
    PRIMARY KEY (session_id, scope, memory)
) WITHOUT ROWID;
CREATE INDEX session_stages ON session_memories (session_id) WHERE type = 'S';

-- The ids in sessions.jsonl, also of records that were let go.
CREATE TABLE saved_sessions (
    scope TEXT NOT NULL,
    session_id TEXT NOT NULL,
    layer TEXT NOT NULL,                   -- agent, followup, end, imported
    at REAL NOT NULL,
    PRIMARY KEY (scope, session_id)
) WITHOUT ROWID;

-- How far the sessions.jsonl of a scope has been read into saved_sessions.
CREATE TABLE session_logs (
    scope TEXT PRIMARY KEY,
    size INTEGER NOT NULL,
    tail BLOB NOT NULL,                    -- the bytes before that offset, to recognize a replaced file
    records INTEGER NOT NULL,
    damaged INTEGER NOT NULL
) WITHOUT ROWID;

-- Counts over all ended sessions.
CREATE TABLE session_counts (
    name TEXT PRIMARY KEY,
    number INTEGER NOT NULL
) WITHOUT ROWID;

-- Counts of sessions by how they ended, made by the triggers below.
CREATE TABLE session_totals (
    name TEXT NOT NULL,
    shard INTEGER NOT NULL,                -- 0; a server has several
    number INTEGER NOT NULL,
    PRIMARY KEY (name, shard)
) WITHOUT ROWID;
CREATE VIEW session_names AS               -- what each session counts as
    SELECT session_id, CASE WHEN ended_at IS NULL THEN 'open' ELSE 'ended' END AS name, 1 AS number FROM sessions
    UNION ALL SELECT session_id, 'state.' || state, 1 FROM sessions WHERE ended_at IS NOT NULL AND state <> ''
    UNION ALL SELECT session_id, 'errors', 1 FROM sessions WHERE error <> ''
    UNION ALL SELECT session_id, 'followups', followups FROM sessions WHERE followups <> 0;
CREATE TRIGGER sessions_new AFTER INSERT ON sessions BEGIN
    INSERT INTO session_totals SELECT name, 0, number FROM session_names WHERE session_id = NEW.session_id
        ON CONFLICT (name, shard) DO UPDATE SET number = number + excluded.number;
END;
CREATE TRIGGER sessions_gone BEFORE DELETE ON sessions BEGIN
    INSERT INTO session_totals SELECT name, 0, -number FROM session_names WHERE session_id = OLD.session_id
        ON CONFLICT (name, shard) DO UPDATE SET number = number + excluded.number;
END;
CREATE TRIGGER sessions_changing BEFORE UPDATE OF ended_at, state, error, followups ON sessions BEGIN
    INSERT INTO session_totals SELECT name, 0, -number FROM session_names WHERE session_id = OLD.session_id
        ON CONFLICT (name, shard) DO UPDATE SET number = number + excluded.number;
END;
CREATE TRIGGER sessions_changed AFTER UPDATE OF ended_at, state, error, followups ON sessions BEGIN
    INSERT INTO session_totals SELECT name, 0, number FROM session_names WHERE session_id = NEW.session_id
        ON CONFLICT (name, shard) DO UPDATE SET number = number + excluded.number;
END;
CREATE TRIGGER saved_sessions_new AFTER INSERT ON saved_sessions BEGIN
    INSERT INTO session_totals VALUES ('layer.' || NEW.layer, 0, 1)
        ON CONFLICT (name, shard) DO UPDATE SET number = number + 1;
END;
CREATE TRIGGER saved_sessions_gone AFTER DELETE ON saved_sessions BEGIN
    UPDATE session_totals SET number = number - 1 WHERE name = 'layer.' || OLD.layer;
END;
CREATE TRIGGER saved_sessions_changed AFTER UPDATE OF layer ON saved_sessions BEGIN
    UPDATE session_totals SET number = number - 1 WHERE name = 'layer.' || OLD.layer;
    INSERT INTO session_totals VALUES ('layer.' || NEW.layer, 0, 1)
        ON CONFLICT (name, shard) DO UPDATE SET number = number + 1;
END;

-- Session records as they were before forgotten words were taken out.
CREATE TABLE withheld_records (
    scope TEXT NOT NULL,
    shown TEXT NOT NULL,
    whole TEXT NOT NULL,
    PRIMARY KEY (scope, shown)
) WITHOUT ROWID;

-- Rows whose body could not be decoded, unchanged.
CREATE TABLE unreadable (
    id INTEGER PRIMARY KEY,
    scope TEXT NOT NULL,                   -- '' if it was unreadable too
    place TEXT NOT NULL,                   -- their table
    body TEXT NOT NULL
);
CREATE INDEX unreadable_by_scope ON unreadable (scope);

-- The messages of users in editors' transcripts that were read.
CREATE TABLE transcript_messages (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX transcript_messages_by_session ON transcript_messages (session_id);

-- The memories that an editor's session was given, by the digest of their text.
CREATE TABLE shown_memories (
    session_id TEXT NOT NULL,
    memory TEXT NOT NULL,
    digest INTEGER NOT NULL,
    PRIMARY KEY (session_id, memory, digest)
) WITHOUT ROWID;

-- This journal's id in MQTT events.
CREATE TABLE identity (journal TEXT NOT NULL);
INSERT INTO identity VALUES (lower(hex(randomblob(8))));

-- This journal's origins of events, and their last numbers.
CREATE TABLE sources (
    origin TEXT PRIMARY KEY,
    head INTEGER NOT NULL,
    sent INTEGER NOT NULL
) WITHOUT ROWID;

-- Recent events of each origin, for sending, resending and sessions.
CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    origin TEXT NOT NULL,
    number INTEGER NOT NULL,
    scope TEXT NOT NULL,
    kept_at REAL NOT NULL,
    body TEXT NOT NULL,
    plan INTEGER,                          -- the plan that causes it, while that is not complete
    UNIQUE (origin, number)
);
CREATE INDEX events_by_scope ON events (scope, id);
CREATE INDEX events_by_plan ON events (plan) WHERE plan IS NOT NULL;

-- The number of the last event received from each origin, by process.
CREATE TABLE heard (
    slot INTEGER NOT NULL,
    origin TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (slot, origin)
) WITHOUT ROWID;

-- The number of the last event of each origin that was delivered to a session.
CREATE TABLE told (
    session_id TEXT NOT NULL,
    origin TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (session_id, origin)
) WITHOUT ROWID;

-- Lines of a person or a tool, announced by the first process that saw them.
CREATE TABLE noticed (
    scope TEXT NOT NULL,
    id TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (scope, id)
) WITHOUT ROWID;

-- Scopes whose memory is in another scope: one person with several identities.
CREATE TABLE links (
    scope TEXT PRIMARY KEY,
    target TEXT NOT NULL,
    at REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX links_by_target ON links (target);

-- What a linked scope has brought, and gets back.
CREATE TABLE link_items (
    scope TEXT NOT NULL,
    kind TEXT NOT NULL,                    -- memory, record, turn, review
    item TEXT NOT NULL,
    body TEXT NOT NULL,                    -- of a memory: its record
    PRIMARY KEY (scope, kind, item)
) WITHOUT ROWID;

-- The digest of each scope's last code.
CREATE TABLE link_codes (
    scope TEXT PRIMARY KEY,
    digest TEXT NOT NULL,
    until REAL NOT NULL
) WITHOUT ROWID;

-- Wrong codes.
CREATE TABLE link_tries (
    scope TEXT NOT NULL,
    at REAL NOT NULL
);

-- Writes that a caller may repeat, and their answers.
CREATE TABLE requests (
    call TEXT NOT NULL,
    caller TEXT NOT NULL,
    id TEXT NOT NULL,                      -- made by the caller
    scope TEXT NOT NULL,
    at REAL NOT NULL,
    answer TEXT NOT NULL DEFAULT '',       -- '': it began, and was not answered
    PRIMARY KEY (call, caller, id)
) WITHOUT ROWID;
CREATE INDEX requests_by_time ON requests (at);
