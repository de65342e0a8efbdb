"""The schema steps of the journal after the first three."""

from typing import Final

__all__ = ["LATER"]

_SESSIONS: Final = (
    "0004_sessions",
    """
    ALTER TABLE observations ADD COLUMN tags TEXT NOT NULL DEFAULT '';
    ALTER TABLE sessions ADD COLUMN seen_at REAL NOT NULL DEFAULT 0;       -- when it was last active
    ALTER TABLE sessions ADD COLUMN slot INTEGER NOT NULL DEFAULT -1;      -- the process that has it open, -1: none
    ALTER TABLE sessions ADD COLUMN state TEXT NOT NULL DEFAULT '';        -- after its end: saved, unsaved, nothing
    ALTER TABLE sessions ADD COLUMN followups INTEGER NOT NULL DEFAULT 0;  -- how many prompts to save it was given
    UPDATE sessions SET seen_at = opened_at;
    CREATE INDEX sessions_running ON sessions (seen_at) WHERE ended_at IS NULL;
    CREATE TABLE session_memories (   -- the memories made in a session; type S: its stage summaries
        session_id TEXT NOT NULL,
        scope TEXT NOT NULL,
        memory TEXT NOT NULL,
        type TEXT NOT NULL,
        at REAL NOT NULL,
        PRIMARY KEY (session_id, scope, memory)
    ) WITHOUT ROWID;
    CREATE TABLE saved_sessions (     -- the ids in sessions.jsonl, also of records that were let go
        scope TEXT NOT NULL,
        session_id TEXT NOT NULL,
        layer TEXT NOT NULL,          -- agent, followup, end, imported
        at REAL NOT NULL,
        PRIMARY KEY (scope, session_id)
    ) WITHOUT ROWID;
    CREATE TABLE session_logs (       -- how far a scope's sessions.jsonl has been read into saved_sessions
        scope TEXT PRIMARY KEY,
        size INTEGER NOT NULL,
        tail BLOB NOT NULL,           -- the bytes before that offset, to recognize a replaced file
        records INTEGER NOT NULL,
        damaged INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE session_counts (
        name TEXT PRIMARY KEY,
        number INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE transcripts (        -- how far a hook has read a session's transcript
        session_id TEXT PRIMARY KEY,
        position INTEGER NOT NULL
    ) WITHOUT ROWID;
    """,
)

_DISTILLATION: Final = (
    "0005_distillation",
    """
    CREATE TABLE uses (               -- the days on which a memory was recalled for a reply or said again
        scope TEXT NOT NULL,
        memory TEXT NOT NULL,
        day TEXT NOT NULL,
        recalled INTEGER NOT NULL,
        repeated INTEGER NOT NULL,
        PRIMARY KEY (scope, memory, day)
    ) WITHOUT ROWID;
    CREATE TABLE uses_read (          -- the last reply and receipt that were counted
        scope TEXT PRIMARY KEY,
        reply INTEGER NOT NULL,
        receipt INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX memories_important ON memories (scope)
        WHERE state = 'active' AND importance = 'high' AND file <> 'MEMORY.md';
    """,
)

_ENDS: Final = (
    "0006_session_ends",
    """
    ALTER TABLE sessions ADD COLUMN error TEXT NOT NULL DEFAULT '';        -- the error that the host reported
    ALTER TABLE sessions ADD COLUMN duration_ms INTEGER;                   -- reported by the host, else measured
    """,
)

_SWITCHES: Final = (
    "0007_switches",
    """
    ALTER TABLE sessions ADD COLUMN switches TEXT NOT NULL DEFAULT '';     -- set by `/memory on | off`, as JSON
    ALTER TABLE sessions ADD COLUMN stops INTEGER NOT NULL DEFAULT 0;      -- how often an editor's agent stopped in it
    CREATE INDEX sessions_by_key ON sessions (key, scope, ended_at);
    """,
)

_UNREADABLE: Final = (
    "0008_unreadable",
    """
    CREATE TABLE unreadable (         -- rows whose body could not be decoded, unchanged
        id INTEGER PRIMARY KEY,
        scope TEXT NOT NULL,          -- '' if it was unreadable too
        place TEXT NOT NULL,          -- their table
        body TEXT NOT NULL
    );
    CREATE INDEX unreadable_by_scope ON unreadable (scope);
    """,
)

_WITHHELD: Final = (
    "0009_withheld",
    """
    ALTER TABLE memories ADD COLUMN quote TEXT NOT NULL DEFAULT '';        -- the user's words it was extracted from
    CREATE INDEX memories_withheld ON memories (scope) WHERE state IN ('forgotten', 'undone', 'deleted');
    CREATE TABLE withheld_records (   -- session records that mention something forgotten
        scope TEXT NOT NULL,
        shown TEXT NOT NULL,
        whole TEXT NOT NULL,
        PRIMARY KEY (scope, shown)
    ) WITHOUT ROWID;
    """,
)

_LEASES: Final = (
    "0010_leases",
    """
    CREATE TABLE leases (             -- the process that holds each slot; a commit with another token is refused
        slot INTEGER PRIMARY KEY,
        token TEXT NOT NULL
    );
    ALTER TABLE replies ADD COLUMN session_key TEXT NOT NULL DEFAULT '';
    ALTER TABLE replies ADD COLUMN turn_id TEXT NOT NULL DEFAULT '';       -- made by the caller
    CREATE UNIQUE INDEX replies_by_turn_id ON replies (scope, session_key, turn_id) WHERE turn_id <> '';
    """,
)

_EPISODES: Final = (
    "0011_episodes",
    """
    ALTER TABLE turns ADD COLUMN extract INTEGER NOT NULL DEFAULT 1;       -- whether memories are extracted from it
    ALTER TABLE turns ADD COLUMN episode INTEGER NOT NULL DEFAULT 0;       -- whether it is kept after processing
    CREATE TABLE episodes (           -- what was said in processed turns
        turn INTEGER PRIMARY KEY,
        scope TEXT NOT NULL,
        session_key TEXT NOT NULL,
        session_id TEXT NOT NULL,
        user TEXT NOT NULL,
        reply TEXT NOT NULL,
        at REAL NOT NULL
    );
    CREATE INDEX episodes_by_scope ON episodes (scope, turn);
    CREATE INDEX episodes_by_session ON episodes (scope, session_id, turn);
    CREATE INDEX episodes_by_time ON episodes (scope, at);
    CREATE TABLE episode_pages (      -- a token for each page, which changes with its episodes
        scope TEXT NOT NULL,
        page INTEGER NOT NULL,
        token TEXT NOT NULL,
        PRIMARY KEY (scope, page)
    ) WITHOUT ROWID;
    """,
)

_TRANSCRIPTS: Final = (
    "0012_transcripts",
    """
    DROP TABLE transcripts;           -- replaced by the ids of the messages
    CREATE TABLE transcript_messages (  -- the messages of users in editors' transcripts that were read
        id TEXT PRIMARY KEY,
        session_id TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX transcript_messages_by_session ON transcript_messages (session_id);
    """,
)

_SHOWN: Final = (
    "0013_shown",
    """
    CREATE TABLE shown_memories (     -- the memories that an editor's session was told, by the digest of their text
        session_id TEXT NOT NULL,
        memory TEXT NOT NULL,
        digest INTEGER NOT NULL,
        PRIMARY KEY (session_id, memory, digest)
    ) WITHOUT ROWID;
    """,
)

_LINKS: Final = (
    "0014_links",
    """
    CREATE TABLE links (              -- scopes whose memory is in another scope: one person with several identities
        scope TEXT PRIMARY KEY,
        target TEXT NOT NULL,
        at REAL NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE link_items (         -- what a linked scope has brought, and gets back
        scope TEXT NOT NULL,
        kind TEXT NOT NULL,           -- memory, record, turn
        item TEXT NOT NULL,
        body TEXT NOT NULL,           -- of a memory: its record
        PRIMARY KEY (scope, kind, item)
    ) WITHOUT ROWID;
    CREATE TABLE link_codes (         -- the digest of each scope's last code
        scope TEXT PRIMARY KEY,
        digest TEXT NOT NULL,
        until REAL NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE link_tries (         -- wrong codes
        scope TEXT NOT NULL,
        at REAL NOT NULL
    );
    """,
)

_REQUESTS: Final = (
    "0015_requests",
    """
    CREATE TABLE requests (           -- writes that a caller may repeat
        call TEXT NOT NULL,
        caller TEXT NOT NULL,
        id TEXT NOT NULL,             -- made by the caller
        scope TEXT NOT NULL,
        at REAL NOT NULL,
        answer TEXT NOT NULL DEFAULT '',  -- '': it began, and was not answered
        PRIMARY KEY (call, caller, id)
    ) WITHOUT ROWID;
    CREATE INDEX requests_by_time ON requests (at);
    """,
)

_REVIEWS: Final = (
    "0016_reviews",
    """
    CREATE TABLE reviews (            -- candidates that wait for a person, and what became of them
        scope TEXT NOT NULL,
        id TEXT NOT NULL,
        state TEXT NOT NULL,          -- waiting, approved, rejected, never, expired, replaced, forgotten
        reason TEXT NOT NULL,         -- why it waits
        at REAL NOT NULL,
        text TEXT NOT NULL,
        turn INTEGER NOT NULL,
        expires TEXT NOT NULL,
        body TEXT NOT NULL,           -- the memory that it would be, and what it would replace
        PRIMARY KEY (scope, id)
    );
    CREATE INDEX reviews_by_state ON reviews (state, scope, at);
    CREATE INDEX reviews_by_turn ON reviews (scope, turn);
    """,
)

_REPORTS: Final = (
    "0017_reports",
    """
    ALTER TABLE replies ADD COLUMN report TEXT NOT NULL DEFAULT '';        -- what was considered, as JSON without text
    CREATE TABLE feedback (           -- what a person says of a memory in a reply
        scope TEXT NOT NULL,
        turn INTEGER NOT NULL,
        memory TEXT NOT NULL,         -- '' for the reply as a whole
        verdict TEXT NOT NULL,        -- useful, wrong
        at REAL NOT NULL,
        PRIMARY KEY (scope, turn, memory)
    ) WITHOUT ROWID;
    """,
)

_GONE: Final = (
    "0018_gone",
    """
    DROP INDEX memories_withheld;     -- SQLite preferred the primary key to it
    -- SQLite takes this one where a query also says: state <> 'active' AND state > ''.
    CREATE INDEX memories_gone ON memories (scope, state) WHERE state <> 'active';
    """,
)

_HEALTH: Final = (
    "0019_health",
    """
    ALTER TABLE leases ADD COLUMN state TEXT NOT NULL DEFAULT '';          -- how the process is, as JSON without text
    CREATE TABLE failures (           -- what failed in any process, by kind
        place TEXT NOT NULL,
        error TEXT NOT NULL,          -- the class of the error
        at REAL NOT NULL,             -- when it came last
        count INTEGER NOT NULL,
        PRIMARY KEY (place, error)
    ) WITHOUT ROWID;
    """,
)

_UNREAD: Final = (
    "0020_unread",
    """
    ALTER TABLE turns ADD COLUMN imported INTEGER NOT NULL DEFAULT 0;      -- an episode that another program recorded
    ALTER TABLE episodes ADD COLUMN unread TEXT NOT NULL DEFAULT '';       -- of an import: for rules, for the model, no
    UPDATE episodes SET unread = 'rules'
        WHERE substr(session_key, 1, instr(session_key, ':'))
            IN ('openclaw:', 'nanobot:', 'hermes:', 'claude-code:', 'chatgpt:', 'claude:')
        AND session_id NOT IN (SELECT session_id FROM sessions);
    CREATE INDEX episodes_unread ON episodes (scope, at, turn) WHERE unread IN ('rules', 'model');
    """,
)

_OUTDATED: Final = (
    "0021_outdated",
    """
    ALTER TABLE memories ADD COLUMN outdates TEXT NOT NULL DEFAULT '';     -- an older memory that may no longer hold
    CREATE INDEX memories_outdating ON memories (scope) WHERE outdates <> '';
    """,
)

_COUNTED: Final = (
    "0022_counted",
    """
    CREATE TABLE session_totals (     -- how sessions ended; made by the triggers below
        name TEXT NOT NULL,
        shard INTEGER NOT NULL,       -- 0; a server has several
        number INTEGER NOT NULL,
        PRIMARY KEY (name, shard)
    ) WITHOUT ROWID;
    CREATE VIEW session_names AS      -- what each session counts as
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
    INSERT INTO session_totals SELECT name, 0, sum(number) FROM session_names GROUP BY name
        UNION ALL SELECT 'layer.' || layer, 0, count(*) FROM saved_sessions GROUP BY layer;
    CREATE INDEX sessions_by_scope ON sessions (scope);
    CREATE INDEX receipts_by_scope ON receipts (scope, id);
    CREATE INDEX replies_by_scope ON replies (scope, turn);
    CREATE INDEX links_by_target ON links (target);
    ALTER TABLE episode_pages ADD COLUMN behind INTEGER NOT NULL DEFAULT 1;      -- it changed since it was indexed
    CREATE INDEX episode_pages_behind ON episode_pages (scope, page) WHERE behind;
    CREATE INDEX sessions_unsaved ON sessions (ended_at) WHERE state = 'unsaved';
    CREATE INDEX session_stages ON session_memories (session_id) WHERE type = 'S';
    CREATE INDEX marks_untold ON marks (scope, name) WHERE NOT told;
    """,
)

_JOINED: Final = (
    "0023_joined",
    """
    ALTER TABLE turns ADD COLUMN joined TEXT NOT NULL DEFAULT '';      -- the shared scope to which its decisions go
    """,
)

LATER: Final = (
    _SESSIONS,
    _DISTILLATION,
    _ENDS,
    _SWITCHES,
    _UNREADABLE,
    _WITHHELD,
    _LEASES,
    _EPISODES,
    _TRANSCRIPTS,
    _SHOWN,
    _LINKS,
    _REQUESTS,
    _REVIEWS,
    _REPORTS,
    _GONE,
    _HEALTH,
    _UNREAD,
    _OUTDATED,
    _COUNTED,
    _JOINED,
)
"""In chronological order. Append new steps at the end, and never change an existing one."""
