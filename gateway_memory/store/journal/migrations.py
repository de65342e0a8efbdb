"""The journal's schema as append-only steps. Each step runs in one transaction with its own record."""

from typing import Final

from gateway_memory.store.journal.migrations_later import LATER

__all__ = ["MIGRATIONS"]

MIGRATIONS: Final[tuple[tuple[str, str], ...]] = (
    (
        "0001_spine",
        """
        CREATE TABLE sessions (
            session_id TEXT PRIMARY KEY,
            key TEXT NOT NULL,
            scope TEXT NOT NULL,
            opened_at REAL NOT NULL,
            ended_at REAL,
            reason TEXT
        );
        CREATE UNIQUE INDEX sessions_open ON sessions (key, scope) WHERE ended_at IS NULL;
        CREATE TABLE turns (          -- accepted turns whose processing is not complete
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            scope TEXT NOT NULL,
            session_key TEXT NOT NULL,
            session_id TEXT NOT NULL,
            user TEXT NOT NULL,
            reply TEXT NOT NULL,
            at REAL NOT NULL,
            accepted_at REAL NOT NULL,
            stage INTEGER NOT NULL DEFAULT 0,   -- 0: accepted; 1: the rules stage is done
            slot INTEGER NOT NULL
        );
        CREATE INDEX turns_by_slot ON turns (slot, stage, id);
        CREATE TABLE plans (          -- write-ahead log: changes that may not be in the documents yet
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            slot INTEGER NOT NULL,
            body TEXT NOT NULL
        );
        CREATE TABLE memories (       -- the fields that Markdown doesn't hold, also of memories that left it
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
            state TEXT NOT NULL,      -- active, superseded, forgotten
            replaced_by TEXT,
            changed_at REAL NOT NULL,
            PRIMARY KEY (scope, id)
        ) WITHOUT ROWID;
        CREATE TABLE receipts (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            scope TEXT NOT NULL,
            session_key TEXT NOT NULL,
            stage TEXT NOT NULL,      -- rules, batch, command
            turns TEXT NOT NULL,
            outcome TEXT NOT NULL,
            at REAL NOT NULL
        );
        CREATE TABLE outbox (
            sequence INTEGER PRIMARY KEY AUTOINCREMENT,
            slot INTEGER NOT NULL,
            body TEXT NOT NULL
        );
        CREATE TABLE marks (          -- flags of a scope that are reported once
            scope TEXT NOT NULL,
            name TEXT NOT NULL,
            told INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (scope, name)
        ) WITHOUT ROWID;
        CREATE TABLE usage (
            day TEXT PRIMARY KEY,
            extractions INTEGER NOT NULL DEFAULT 0
        ) WITHOUT ROWID;
        CREATE TABLE observations (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            scope TEXT NOT NULL,
            session_id TEXT NOT NULL,
            at REAL NOT NULL,
            kind TEXT NOT NULL,
            tool TEXT NOT NULL,
            content TEXT NOT NULL,
            private INTEGER NOT NULL
        );
        CREATE INDEX observations_by_session ON observations (session_id, id);
        CREATE INDEX observations_by_age ON observations (at);
        """,
    ),
    (
        "0002_extraction",
        """
        ALTER TABLE memories ADD COLUMN turn INTEGER NOT NULL DEFAULT 0;       -- the turn that it was extracted from
        ALTER TABLE memories ADD COLUMN expires TEXT NOT NULL DEFAULT '';      -- the last day on which it holds
        CREATE INDEX memories_by_turn ON memories (scope, turn) WHERE turn > 0;
        CREATE INDEX memories_by_expiry ON memories (scope, expires) WHERE expires <> '' AND state = 'active';
        ALTER TABLE usage ADD COLUMN input_tokens INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE usage ADD COLUMN output_tokens INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE usage ADD COLUMN reserved_tokens INTEGER NOT NULL DEFAULT 0;   -- for model calls in flight
        CREATE TABLE replies (        -- the memories that were recalled for the reply of a turn
            turn INTEGER PRIMARY KEY,
            scope TEXT NOT NULL,
            session_id TEXT NOT NULL,
            at REAL NOT NULL,
            recalled TEXT NOT NULL
        );
        CREATE INDEX replies_by_session ON replies (session_id, turn);
        CREATE TABLE history (        -- the changes of each memory
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            scope TEXT NOT NULL,
            memory TEXT NOT NULL,
            at REAL NOT NULL,
            event TEXT NOT NULL,      -- added, superseded, forgotten, expired, undone, restored
            other TEXT NOT NULL       -- the id of the memory that it replaced or that replaced it
        );
        CREATE INDEX history_by_memory ON history (scope, memory, id);
        CREATE TABLE changes (        -- the state before each change, for undo
            receipt INTEGER PRIMARY KEY,
            scope TEXT NOT NULL,
            plan TEXT NOT NULL,
            patches TEXT NOT NULL
        );
        CREATE INDEX changes_by_scope ON changes (scope, receipt);
        """,
    ),
    (
        "0003_events",
        """
        CREATE TABLE identity (journal TEXT NOT NULL);  -- this journal's id in MQTT events
        INSERT INTO identity VALUES (lower(hex(randomblob(8))));
        CREATE TABLE sources (        -- this journal's origins of events, and their last numbers
            origin TEXT PRIMARY KEY,
            head INTEGER NOT NULL,
            sent INTEGER NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE events (         -- recent events of each origin, for sending, resending and sessions
            id INTEGER PRIMARY KEY,
            origin TEXT NOT NULL,
            number INTEGER NOT NULL,
            scope TEXT NOT NULL,
            kept_at REAL NOT NULL,
            body TEXT NOT NULL,
            plan INTEGER,             -- the plan that causes it, while that is not complete
            UNIQUE (origin, number)
        );
        CREATE INDEX events_by_scope ON events (scope, id);
        CREATE INDEX events_by_plan ON events (plan) WHERE plan IS NOT NULL;
        CREATE TABLE heard (          -- the number of the last event received from each origin, by process
            slot INTEGER NOT NULL,
            origin TEXT NOT NULL,
            number INTEGER NOT NULL,
            PRIMARY KEY (slot, origin)
        ) WITHOUT ROWID;
        CREATE TABLE told (           -- the number of the last event that each session was told
            session_id TEXT NOT NULL,
            origin TEXT NOT NULL,
            number INTEGER NOT NULL,
            PRIMARY KEY (session_id, origin)
        ) WITHOUT ROWID;
        CREATE TABLE noticed (        -- lines of a person or a tool, announced by the first process that saw them
            scope TEXT NOT NULL,
            id TEXT NOT NULL,
            digest TEXT NOT NULL,
            PRIMARY KEY (scope, id)
        ) WITHOUT ROWID;
        DROP TABLE outbox;            -- replaced by events
        """,
    ),
    *LATER,
)
