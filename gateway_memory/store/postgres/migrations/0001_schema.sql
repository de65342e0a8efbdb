-- The schema in PostgreSQL: what must survive a crash, the rows of the index, and row-level security between scopes.
--
-- Times are seconds since 1970. The journal has the same tables as that of files, in
-- store/journal/migrations/0001_schema.sql. Steps that were released never change: the next file in this folder adds to
-- them, adds constraints NOT VALID, and enables row-level security for its tables.


-- Functions of SQLite that the shared queries use.

CREATE FUNCTION max(anycompatible, anycompatible) RETURNS anycompatible
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT greatest($1, $2)';
CREATE FUNCTION min(anycompatible, anycompatible) RETURNS anycompatible
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT least($1, $2)';
CREATE FUNCTION instr(text, text) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT strpos($1, $2)';

-- A text that is no JSON of the shape that is looked for has no members and no values, whatever is in it: one row must
-- not stop a statement over all of them. PostgreSQL allows no caught error in a parallel worker.
CREATE FUNCTION json_valid(text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE AS $$
BEGIN
    PERFORM $1::json;
    RETURN true;
EXCEPTION WHEN others THEN
    RETURN false;
END $$;
CREATE FUNCTION json_extract(text, text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE AS $$
BEGIN
    -- An escaped NUL is JSON, and no text of PostgreSQL.
    RETURN replace($1, '\u0000', '\ufffd')::json ->> substr($2, 3);
EXCEPTION WHEN others THEN
    RETURN NULL;
END $$;
CREATE FUNCTION json_texts(text) RETURNS TABLE (value text)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT value FROM json_array_elements_text(CASE json_typeof($1::json) WHEN 'array' THEN $1::json ELSE '[]' END)
$$;


-- Processes and documents.

COMMENT ON TABLE migrations IS 'Steps of this schema that were applied. Hosts read it and may not write it';
COMMENT ON COLUMN migrations.ends_older IS 'Whether versions that do not know the step refuse to start';

CREATE TABLE hosts (
    slot INTEGER PRIMARY KEY CONSTRAINT hosts_slot CHECK (slot >= 0),
    token TEXT NOT NULL,
    until TIMESTAMPTZ NOT NULL    -- the end of its lease, which it renews while it lives
);
COMMENT ON TABLE hosts IS 'Processes that have the memory open, by slot, each with a lease that it renews';

CREATE TABLE leases (
    slot INTEGER PRIMARY KEY,
    token TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT ''
);
COMMENT ON TABLE leases IS 'Who works for a slot: a host whose token is another records nothing any more; state: its health as JSON';

CREATE UNLOGGED TABLE locks (
    folder TEXT PRIMARY KEY,
    token TEXT NOT NULL,
    until TIMESTAMPTZ NOT NULL
);
COMMENT ON TABLE locks IS 'Who writes documents of a scope just now. Unlogged: empty after a crash';

CREATE TABLE failures (
    place TEXT NOT NULL,
    error TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    count BIGINT NOT NULL,
    PRIMARY KEY (place, error)
);
COMMENT ON TABLE failures IS 'What failed in any process: place, class of the error, last time, how often';

CREATE TABLE documents (
    folder TEXT NOT NULL,
    name TEXT NOT NULL,           -- MEMORY.md, memory/2026-11-21.md
    content BYTEA NOT NULL,
    saved BIGINT NOT NULL,
    PRIMARY KEY (folder, name)
);
COMMENT ON TABLE documents IS 'MEMORY.md and the days of each scope, as Markdown; what people edit';
COMMENT ON COLUMN documents.folder IS 'Empty for the owner, people/NAME or rooms/NAME for others';
COMMENT ON COLUMN documents.saved IS 'Nanoseconds since 1970; rises with each change';

CREATE TABLE record_files (
    scope TEXT PRIMARY KEY,
    content BYTEA NOT NULL,
    damaged BYTEA NOT NULL DEFAULT ''
);
COMMENT ON TABLE record_files IS 'Records of saved sessions of a scope, as lines of JSON';


-- Sessions and turns.

CREATE TABLE sessions (
    session_id TEXT PRIMARY KEY,
    key TEXT NOT NULL,
    scope TEXT NOT NULL,
    opened_at DOUBLE PRECISION NOT NULL,
    ended_at DOUBLE PRECISION,
    reason TEXT,
    seen_at DOUBLE PRECISION NOT NULL DEFAULT 0,
    slot INTEGER NOT NULL DEFAULT -1,
    state TEXT NOT NULL DEFAULT '',
    followups INTEGER NOT NULL DEFAULT 0,
    error TEXT NOT NULL DEFAULT '',
    duration_ms BIGINT,
    switches TEXT NOT NULL DEFAULT '',
    stops INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX sessions_open ON sessions (key, scope) WHERE ended_at IS NULL;
CREATE INDEX sessions_running ON sessions (seen_at) WHERE ended_at IS NULL;
CREATE INDEX sessions_by_key ON sessions (key, scope, ended_at);
CREATE INDEX sessions_by_scope ON sessions (scope);
CREATE INDEX sessions_unsaved ON sessions (ended_at) WHERE state = 'unsaved';
COMMENT ON TABLE sessions IS 'Sessions by id, with key, scope and times; no words. Outside row-level security: looked up by key before a scope is known';
COMMENT ON COLUMN sessions.slot IS 'The host that works on its turns; -1 for none';
COMMENT ON COLUMN sessions.switches IS 'What the person has switched, as JSON; empty for nothing';

CREATE TABLE turns (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    scope TEXT NOT NULL,
    session_key TEXT NOT NULL,
    session_id TEXT NOT NULL,
    "user" TEXT NOT NULL,
    reply TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    accepted_at DOUBLE PRECISION NOT NULL,
    stage INTEGER NOT NULL DEFAULT 0,
    slot INTEGER NOT NULL,
    extract BOOLEAN NOT NULL DEFAULT TRUE,
    episode BOOLEAN NOT NULL DEFAULT FALSE,
    imported BOOLEAN NOT NULL DEFAULT FALSE
);
CREATE INDEX turns_by_slot ON turns (slot, stage, id);
CREATE INDEX turns_by_session ON turns (session_id, id);
CREATE INDEX turns_by_scope ON turns (scope);
COMMENT ON TABLE turns IS 'Exchanges whose processing is not complete; gone once they are worked off';
COMMENT ON COLUMN turns.id IS 'The number of the exchange, by which replies, episodes and receipts refer to it';
COMMENT ON COLUMN turns.stage IS '0 accepted, 1 read by the rules, 2 failed; 100 less where it is parked';

CREATE TABLE replies (
    turn BIGINT PRIMARY KEY,
    scope TEXT NOT NULL,
    session_id TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    recalled TEXT NOT NULL,
    session_key TEXT NOT NULL DEFAULT '',
    turn_id TEXT NOT NULL DEFAULT '',
    report TEXT NOT NULL DEFAULT ''
);
CREATE INDEX replies_by_session ON replies (session_id, turn);
CREATE INDEX replies_by_scope ON replies (scope, turn);
CREATE UNIQUE INDEX replies_by_turn_id ON replies (scope, session_key, turn_id) WHERE turn_id <> '';
COMMENT ON TABLE replies IS 'What each reply recalled, and why, for questions such as /memory why';
COMMENT ON COLUMN replies.turn_id IS 'The id that the gateway gave the exchange: the same one again is not stored twice';

CREATE TABLE plans (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    slot INTEGER NOT NULL,
    body TEXT NOT NULL
);
CREATE INDEX plans_by_slot ON plans (slot, id);
COMMENT ON TABLE plans IS 'Changes to documents that were decided and are being written; gone once they are';


-- Episodes, in partitions by the numbers of their turns, which grow with time: what is expired is dropped as a whole.
--
-- A partition holds four million turns. Two are kept ahead; what lies beyond them, which nothing should, is in
-- episodes_rest. A partition has no policy, so hosts see it through `episodes` alone. The functions run with the rights
-- of the owner, since hosts may not change tables.

CREATE TABLE episodes (
    turn BIGINT PRIMARY KEY,
    scope TEXT NOT NULL,
    session_key TEXT NOT NULL,
    session_id TEXT NOT NULL,
    "user" TEXT NOT NULL,
    reply TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    unread TEXT NOT NULL DEFAULT ''
) PARTITION BY RANGE (turn);
CREATE INDEX episodes_by_scope ON episodes (scope, turn);
CREATE INDEX episodes_by_session ON episodes (scope, session_id, turn);
CREATE INDEX episodes_by_time ON episodes (scope, at);
CREATE INDEX episodes_by_age ON episodes USING brin (at);
CREATE INDEX episodes_unread ON episodes (scope, at, turn) WHERE unread IN ('rules', 'model');
COMMENT ON TABLE episodes IS 'Exchanges as they were said, in partitions of four million numbers';
COMMENT ON COLUMN episodes.unread IS 'Who has still to read an imported exchange: rules or model';

CREATE TABLE episode_pages (
    scope TEXT NOT NULL,
    page BIGINT NOT NULL,
    token TEXT NOT NULL,
    behind BOOLEAN NOT NULL DEFAULT TRUE,   -- it changed, and the index does not have it yet
    PRIMARY KEY (scope, page)
);
CREATE INDEX episode_pages_behind ON episode_pages (scope, page) WHERE behind;
COMMENT ON TABLE episode_pages IS 'A token for each page of exchanges of a scope; the index follows where it changes';

CREATE TABLE episodes_0 PARTITION OF episodes FOR VALUES FROM (MINVALUE) TO (4000000);
CREATE TABLE episodes_rest PARTITION OF episodes DEFAULT;
ALTER TABLE episodes_0 ENABLE ROW LEVEL SECURITY;
ALTER TABLE episodes_rest ENABLE ROW LEVEL SECURITY;

-- Partitions for the numbers that turns have, and for those that come next. Hosts can't move the counter of turns.
CREATE FUNCTION add_episode_partitions(upto bigint) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    start bigint;
    highest bigint;
    numbered bigint;
BEGIN
    EXECUTE format('SELECT last_value FROM %s', pg_get_serial_sequence('turns', 'id')) INTO numbered;
    PERFORM pg_advisory_xact_lock(hashtext('episodes'::regclass::oid::text));
    SELECT max((regexp_match(pg_get_expr(c.relpartbound, c.oid), 'TO \(''?(\d+)''?\)'))[1]::bigint) INTO highest
        FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'episodes'::regclass;
    FOR start IN SELECT generate_series(highest, least(upto, numbered) + 4000000, 4000000) LOOP
        EXECUTE format(
            'CREATE TABLE episodes_%s PARTITION OF episodes FOR VALUES FROM (%s) TO (%s)',
            start / 4000000, start, start + 4000000
        );
        EXECUTE format('ALTER TABLE episodes_%s ENABLE ROW LEVEL SECURITY', start / 4000000);
    END LOOP;
EXCEPTION WHEN check_violation THEN
    NULL;  -- episodes_rest holds some of them already, and goes on doing so
END $$;
SELECT add_episode_partitions(0);

CREATE FUNCTION expire_episodes(before double precision, page_turns integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    part record;
    kept boolean;
    number bigint;
    gone bigint := 0;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('episodes'::regclass::oid::text));
    FOR part IN
        SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'episodes'::regclass AND c.relname <> 'episodes_rest'
    LOOP
        -- A partition to which turns may still be added is kept, and so is an empty one.
        EXECUTE format(
            'SELECT EXISTS (SELECT 1 FROM %I WHERE at >= $1) OR NOT EXISTS (SELECT 1 FROM %I) OR NOT EXISTS '
            '(SELECT 1 FROM episodes WHERE turn > (SELECT max(turn) FROM %I))', part.name, part.name, part.name
        ) INTO kept USING before;
        CONTINUE WHEN kept;
        EXECUTE format(
            'INSERT INTO episode_pages SELECT scope, page, substr(md5(random()::text), 1, 12) '
            'FROM (SELECT DISTINCT scope, turn / $1 AS page FROM %I) AS pages '
            'ON CONFLICT (scope, page) DO UPDATE SET token = excluded.token', part.name
        ) USING page_turns;
        EXECUTE format('SELECT count(*) FROM %I', part.name) INTO number;
        EXECUTE format('DROP TABLE %I', part.name);
        gone := gone + number;
    END LOOP;
    RETURN gone;
END $$;


-- Memories.

CREATE TABLE memories (
    scope TEXT NOT NULL,
    id TEXT NOT NULL,
    text TEXT NOT NULL,
    file TEXT NOT NULL,
    type TEXT NOT NULL,
    category TEXT NOT NULL,
    importance TEXT NOT NULL,
    confidence DOUBLE PRECISION NOT NULL,
    entities TEXT NOT NULL,
    session_key TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    state TEXT NOT NULL,
    replaced_by TEXT,
    changed_at DOUBLE PRECISION NOT NULL,
    turn BIGINT NOT NULL DEFAULT 0,
    expires TEXT NOT NULL DEFAULT '',
    quote TEXT NOT NULL DEFAULT '',
    outdates TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (scope, id)
);
CREATE INDEX memories_by_turn ON memories (scope, turn) WHERE turn > 0;
CREATE INDEX memories_by_expiry ON memories (scope, expires) WHERE expires <> '' AND state = 'active';
CREATE INDEX memories_important ON memories (scope)
    WHERE state = 'active' AND importance = 'high' AND file <> 'MEMORY.md';
CREATE INDEX memories_gone ON memories (scope, state) WHERE state <> 'active';
CREATE INDEX memories_outdating ON memories (scope) WHERE outdates <> '';
COMMENT ON TABLE memories IS 'Each memory with its state and origin; the documents hold its text as well';
COMMENT ON COLUMN memories.state IS 'active, or how it ended: superseded, forgotten, undone, deleted, expired, retracted';
COMMENT ON COLUMN memories.turn IS 'The exchange from which it comes; 0 for none';

CREATE TABLE receipts (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    scope TEXT NOT NULL,
    session_key TEXT NOT NULL,
    stage TEXT NOT NULL,
    turns TEXT NOT NULL,
    outcome TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL
);
CREATE INDEX receipts_by_scope ON receipts (scope, id);
COMMENT ON TABLE receipts IS 'What came of exchanges: outcomes as JSON';

CREATE TABLE history (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    scope TEXT NOT NULL,
    memory TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    event TEXT NOT NULL,
    other TEXT NOT NULL
);
CREATE INDEX history_by_memory ON history (scope, memory, id);
COMMENT ON TABLE history IS 'Events of each memory';

CREATE TABLE changes (
    receipt BIGINT PRIMARY KEY,
    scope TEXT NOT NULL,
    plan TEXT NOT NULL,
    patches TEXT NOT NULL
);
CREATE INDEX changes_by_scope ON changes (scope, receipt);
COMMENT ON TABLE changes IS 'What undoes a receipt';

CREATE TABLE feedback (
    scope TEXT NOT NULL,
    turn BIGINT NOT NULL,
    memory TEXT NOT NULL,
    verdict TEXT NOT NULL CONSTRAINT feedback_verdict CHECK (verdict IN ('useful', 'wrong')),
    at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (scope, turn, memory)
);
COMMENT ON TABLE feedback IS 'What people said of recalled memories';

CREATE TABLE reviews (
    scope TEXT NOT NULL,
    id TEXT NOT NULL,
    state TEXT NOT NULL CONSTRAINT reviews_state CHECK (
        state IN ('waiting', 'approved', 'rejected', 'never', 'expired', 'replaced', 'forgotten')
    ),
    reason TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    text TEXT NOT NULL,
    turn BIGINT NOT NULL,
    expires TEXT NOT NULL,
    body TEXT NOT NULL,
    rowid BIGINT GENERATED ALWAYS AS IDENTITY,
    PRIMARY KEY (scope, id)
);
CREATE INDEX reviews_by_state ON reviews (state, scope, at);
CREATE INDEX reviews_by_turn ON reviews (scope, turn);
COMMENT ON TABLE reviews IS 'Memories that wait for a person to decide, and what was decided';

CREATE TABLE marks (
    scope TEXT NOT NULL,
    name TEXT NOT NULL,
    told BOOLEAN NOT NULL DEFAULT FALSE,
    PRIMARY KEY (scope, name)
);
CREATE INDEX marks_untold ON marks (scope, name) WHERE NOT told;
COMMENT ON TABLE marks IS 'One-time hints to a person, and whether they were given';

CREATE TABLE usage (
    day TEXT PRIMARY KEY,
    extractions INTEGER NOT NULL DEFAULT 0,
    input_tokens BIGINT NOT NULL DEFAULT 0,
    output_tokens BIGINT NOT NULL DEFAULT 0,
    reserved_tokens BIGINT NOT NULL DEFAULT 0,
    CONSTRAINT usage_counts CHECK (extractions >= 0 AND input_tokens >= 0 AND output_tokens >= 0)
);
COMMENT ON TABLE usage IS 'Calls and tokens of models, by day';

CREATE TABLE uses (
    scope TEXT NOT NULL,
    memory TEXT NOT NULL,
    day TEXT NOT NULL,
    recalled INTEGER NOT NULL,
    repeated INTEGER NOT NULL,
    PRIMARY KEY (scope, memory, day)
);
COMMENT ON TABLE uses IS 'How often a memory was recalled and repeated, by day';

CREATE TABLE uses_read (
    scope TEXT PRIMARY KEY,
    reply BIGINT NOT NULL,
    receipt BIGINT NOT NULL
);
COMMENT ON TABLE uses_read IS 'Up to which reply and receipt uses are counted';


-- What is kept of sessions.

CREATE TABLE observations (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    scope TEXT NOT NULL,
    session_id TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    kind TEXT NOT NULL,
    tool TEXT NOT NULL,
    content TEXT NOT NULL,
    private BOOLEAN NOT NULL,
    tags TEXT NOT NULL DEFAULT ''
);
CREATE INDEX observations_by_session ON observations (session_id, id);
CREATE INDEX observations_by_age ON observations (at);
CREATE INDEX observations_by_scope ON observations (scope, id);
COMMENT ON TABLE observations IS 'The log of open sessions: what was said, what tools returned, shortened';

CREATE TABLE session_memories (
    session_id TEXT NOT NULL,
    scope TEXT NOT NULL,
    memory TEXT NOT NULL,
    type TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (session_id, scope, memory)
);
CREATE INDEX session_memories_by_memory ON session_memories (scope, memory);
CREATE INDEX session_stages ON session_memories (session_id) WHERE type = 'S';
COMMENT ON TABLE session_memories IS 'Memories that came up in a session';

CREATE TABLE saved_sessions (
    scope TEXT NOT NULL,
    session_id TEXT NOT NULL,
    layer TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (scope, session_id)
);
COMMENT ON TABLE saved_sessions IS 'Sessions that have a record';

CREATE TABLE session_logs (
    scope TEXT PRIMARY KEY,
    size BIGINT NOT NULL,
    tail BYTEA NOT NULL,
    records INTEGER NOT NULL,
    damaged INTEGER NOT NULL
);
COMMENT ON TABLE session_logs IS 'How far the records of a scope are indexed';

CREATE TABLE session_counts (
    name TEXT PRIMARY KEY,
    number BIGINT NOT NULL
);
COMMENT ON TABLE session_counts IS 'Counts over all ended sessions';

CREATE TABLE withheld_records (
    scope TEXT NOT NULL,
    shown TEXT NOT NULL,
    whole TEXT NOT NULL
);
CREATE INDEX withheld_records_by_scope ON withheld_records (scope);  -- a record is longer than an index takes
COMMENT ON TABLE withheld_records IS 'Records as they were before forgotten words were taken out';

CREATE TABLE unreadable (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    scope TEXT NOT NULL,
    place TEXT NOT NULL,
    body TEXT NOT NULL
);
CREATE INDEX unreadable_by_scope ON unreadable (scope);
COMMENT ON TABLE unreadable IS 'Rows that could not be decoded, set aside so that they stop nothing';


-- How sessions ended is counted as it changes, since a count would read the whole table.

CREATE TABLE session_totals (
    name TEXT NOT NULL,
    shard INTEGER NOT NULL,       -- so that two transactions seldom change the same row
    number BIGINT NOT NULL,
    PRIMARY KEY (name, shard)
) WITH (fillfactor = 50);
COMMENT ON TABLE session_totals IS 'Counts of sessions by how they ended, made by triggers; a number is the sum over its shards';

CREATE FUNCTION totals_of(ended_at double precision, state text, error text, followups integer)
    RETURNS TABLE (name text, number bigint) LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN ended_at IS NULL THEN 'open' ELSE 'ended' END, 1::bigint
    UNION ALL SELECT 'state.' || state, 1 WHERE ended_at IS NOT NULL AND state <> ''
    UNION ALL SELECT 'errors', 1 WHERE error <> ''
    UNION ALL SELECT 'followups', followups WHERE followups <> 0
$$;
CREATE FUNCTION add_session_totals(names text[], numbers bigint[]) RETURNS void LANGUAGE sql AS $$
    INSERT INTO session_totals AS t (name, shard, number)
    SELECT name, pg_backend_pid() % 64, sum(number) FROM unnest(names, numbers) AS changed(name, number)
    GROUP BY name HAVING sum(number) <> 0 ORDER BY name
    ON CONFLICT (name, shard) DO UPDATE SET number = t.number + excluded.number
$$;

CREATE FUNCTION count_changed_session() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM add_session_totals(array_agg(name), array_agg(number)) FROM (
        SELECT name, number FROM totals_of(NEW.ended_at, NEW.state, NEW.error, NEW.followups)
        UNION ALL SELECT name, -number FROM totals_of(OLD.ended_at, OLD.state, OLD.error, OLD.followups)
    ) AS changed;
    RETURN NULL;
END $$;
CREATE TRIGGER counted AFTER UPDATE ON sessions FOR EACH ROW
    WHEN ((OLD.ended_at IS NULL, OLD.state, OLD.error, OLD.followups)
        IS DISTINCT FROM (NEW.ended_at IS NULL, NEW.state, NEW.error, NEW.followups))
    EXECUTE FUNCTION count_changed_session();

-- Many rows that come or go at once change each number once.
CREATE FUNCTION count_sessions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM add_session_totals(array_agg(t.name), array_agg(t.number * TG_ARGV[0]::bigint))
        FROM changed c, totals_of(c.ended_at, c.state, c.error, c.followups) AS t HAVING count(*) > 0;
    RETURN NULL;
END $$;
CREATE TRIGGER counted_new AFTER INSERT ON sessions REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_sessions(1);
CREATE TRIGGER counted_gone AFTER DELETE ON sessions REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_sessions('-1');

CREATE FUNCTION count_saved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM add_session_totals(array_agg('layer.' || layer), array_agg(TG_ARGV[0]::bigint)) FROM changed
        HAVING count(*) > 0;
    RETURN NULL;
END $$;
CREATE TRIGGER counted_new AFTER INSERT ON saved_sessions REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_saved(1);
CREATE TRIGGER counted_gone AFTER DELETE ON saved_sessions REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_saved('-1');
CREATE FUNCTION count_changed_saved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM add_session_totals(ARRAY['layer.' || NEW.layer, 'layer.' || OLD.layer], ARRAY[1, -1]);
    RETURN NULL;
END $$;
CREATE TRIGGER counted AFTER UPDATE ON saved_sessions FOR EACH ROW WHEN (OLD.layer <> NEW.layer)
    EXECUTE FUNCTION count_changed_saved();


-- Events, links and answers.

CREATE TABLE identity (journal TEXT NOT NULL);
INSERT INTO identity VALUES (substr(md5(gen_random_uuid()::text), 1, 16));
COMMENT ON TABLE identity IS 'The id of this memory, kept by a move';

CREATE TABLE sources (
    origin TEXT PRIMARY KEY,
    head BIGINT NOT NULL,
    sent BIGINT NOT NULL
);
COMMENT ON TABLE sources IS 'Processes that made events, with their last numbers';

CREATE TABLE events (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    origin TEXT NOT NULL,
    number BIGINT NOT NULL,
    scope TEXT NOT NULL,
    kept_at DOUBLE PRECISION NOT NULL,
    body TEXT NOT NULL,
    plan BIGINT,
    UNIQUE (origin, number)
);
CREATE INDEX events_by_scope ON events (scope, id);
CREATE INDEX events_by_plan ON events (plan) WHERE plan IS NOT NULL;
COMMENT ON TABLE events IS 'What changed in a scope, for the other sessions and hosts';

CREATE TABLE heard (
    slot INTEGER NOT NULL,
    origin TEXT NOT NULL,
    number BIGINT NOT NULL,
    PRIMARY KEY (slot, origin)
);
COMMENT ON TABLE heard IS 'Up to which event a host has heard of each source';

CREATE TABLE told (
    session_id TEXT NOT NULL,
    origin TEXT NOT NULL,
    number BIGINT NOT NULL,
    PRIMARY KEY (session_id, origin)
);
COMMENT ON TABLE told IS 'Up to which event a session was told of each source; numbers, no words. Outside row-level security';

CREATE TABLE noticed (
    scope TEXT NOT NULL,
    id TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (scope, id)
);
COMMENT ON TABLE noticed IS 'Digests of memories as they stand in documents, to notice edits by hand';

CREATE TABLE links (
    scope TEXT PRIMARY KEY,
    target TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL
);
CREATE INDEX links_by_target ON links (target);
COMMENT ON TABLE links IS 'Scopes that are one person: scope is kept in target';

CREATE TABLE link_items (
    scope TEXT NOT NULL,
    kind TEXT NOT NULL CONSTRAINT link_items_kind CHECK (kind IN ('memory', 'record', 'turn', 'review')),
    item TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (scope, kind, item)
);
COMMENT ON TABLE link_items IS 'What a link has brought, so that it can be taken back';

CREATE TABLE link_codes (
    scope TEXT PRIMARY KEY,
    digest TEXT NOT NULL,
    until DOUBLE PRECISION NOT NULL
);
COMMENT ON TABLE link_codes IS 'Digests of codes for a link, until they end';

CREATE TABLE link_tries (
    scope TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL
);
CREATE INDEX link_tries_by_scope ON link_tries (scope, at);
COMMENT ON TABLE link_tries IS 'Wrong codes, by time';

CREATE TABLE requests (
    call TEXT NOT NULL,
    caller TEXT NOT NULL,
    id TEXT NOT NULL,
    scope TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    answer TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (call, caller, id)
);
CREATE INDEX requests_by_time ON requests (at);
CREATE INDEX requests_by_scope ON requests (scope);  -- a person is deleted by the scope
COMMENT ON TABLE requests IS 'Answers to calls by the id of the caller, so that a call that is repeated does nothing twice';


-- The rows of the index. They can always be made again from documents and episodes.

CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
COMMENT ON TABLE meta IS 'Encoder and version of the index';

CREATE TABLE scope (
    number BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    revision BIGINT NOT NULL DEFAULT 0,   -- rises with each commit that touches the scope's rows
    forgotten BIGINT NOT NULL DEFAULT 0,  -- up to which revision it is no longer known what was removed
    CONSTRAINT scope_revision CHECK (revision >= 0 AND forgotten >= 0)
);
COMMENT ON TABLE scope IS 'Scopes of the index: number, key, revision. Outside row-level security: looked up by key';

CREATE TABLE file (
    scope BIGINT NOT NULL CONSTRAINT file_of_scope REFERENCES scope (number) ON DELETE CASCADE,
    name TEXT NOT NULL,
    mtime_ns BIGINT NOT NULL,
    size BIGINT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (scope, name)
);
COMMENT ON TABLE file IS 'Documents as the index knows them';

CREATE TABLE "row" (
    sequence BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    added BIGINT NOT NULL,                -- the revision that inserted it
    revision BIGINT NOT NULL,             -- the last one that changed it, its vector aside
    scope BIGINT NOT NULL,
    file TEXT NOT NULL,
    id TEXT NOT NULL,
    text TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    kind TEXT NOT NULL,
    type TEXT NOT NULL,
    category TEXT NOT NULL,
    importance DOUBLE PRECISION NOT NULL,
    confidence DOUBLE PRECISION NOT NULL,
    session TEXT NOT NULL,
    heading TEXT NOT NULL,
    speaker TEXT NOT NULL,
    reply TEXT NOT NULL,
    until TEXT NOT NULL,
    turn BIGINT NOT NULL,
    traits BIGINT NOT NULL,
    speaker_term BIGINT NOT NULL,
    length INTEGER NOT NULL CONSTRAINT row_length CHECK (length >= 0),
    terms BYTEA NOT NULL,
    embedded INTEGER NOT NULL DEFAULT 0,  -- the sum of 1 (a vector in `vector`) and 2 (one in `vector_2`)
    UNIQUE (scope, id)
);
CREATE INDEX row_of_scope ON "row" (scope, sequence);
CREATE INDEX row_of_time ON "row" (scope, at);
CREATE INDEX row_telling ON "row" (scope, importance) WHERE kind = 'episode' AND importance > 0.5;
CREATE INDEX row_of_file ON "row" (scope, file);
CREATE INDEX row_revision ON "row" (scope, revision);
CREATE INDEX row_pending ON "row" (sequence) WHERE embedded = 0;
CREATE INDEX row_embedded ON "row" (embedded, sequence) WHERE embedded > 0;
COMMENT ON TABLE "row" IS 'Passages of the index, with their terms. Made again from documents and exchanges';
COMMENT ON COLUMN "row".embedded IS '0 while the row waits for its vector';

-- Vectors of two encoders at a time: while those of another one are made, by pages, the old ones go on serving the
-- hosts that have the old one. `meta` has which encoder's they are.
CREATE TABLE vector (
    sequence BIGINT PRIMARY KEY,
    scope BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    vector BYTEA NOT NULL
);
CREATE INDEX vector_revision ON vector (scope, revision);
COMMENT ON TABLE vector IS 'Vectors of the passages';
CREATE TABLE vector_2 (
    sequence BIGINT PRIMARY KEY REFERENCES "row" (sequence) ON DELETE CASCADE,
    scope BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    vector BYTEA NOT NULL
);
CREATE INDEX vector_2_revision ON vector_2 (scope, revision);
COMMENT ON TABLE vector_2 IS 'Vectors of the passages by a second encoder, while one takes the place of the other';

CREATE TABLE removed (
    revision BIGINT NOT NULL,
    scope BIGINT NOT NULL,
    sequence BIGINT NOT NULL,
    rowid BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY
);
CREATE INDEX removed_revision ON removed (scope, revision);
COMMENT ON TABLE removed IS 'Passages that are gone, for the hosts that have them in memory';


-- Scopes of very many rows are searched in the database, where it has pgvector: words by lists of rows for each term,
-- vectors by a graph in a table for each scope, large_vector_N. A host makes them from "row" and "vector", behind the
-- writers, and can make them again. They go with the row of `large`, and that goes with the scope.

CREATE TABLE large (
    scope BIGINT PRIMARY KEY REFERENCES scope (number) ON DELETE CASCADE,
    sequence BIGINT NOT NULL DEFAULT 0,     -- rows up to this one are in large_word
    revision BIGINT NOT NULL DEFAULT 0,     -- vectors up to this revision are in large_vector_N
    removals BIGINT NOT NULL,               -- and what was removed up to this one is not
    encoder TEXT NOT NULL,                  -- whose vectors they are
    dimension INTEGER NOT NULL CONSTRAINT large_dimension CHECK (dimension > 0),
    vectors BIGINT NOT NULL DEFAULT 0,
    vector_sum BYTEA NOT NULL DEFAULT '',   -- float32
    ready BOOLEAN NOT NULL DEFAULT FALSE,
    graph BOOLEAN NOT NULL DEFAULT TRUE     -- FALSE while it is made anew, for another encoder; the lists of words stay
);
COMMENT ON TABLE large IS 'Scopes that are searched in the database, by pgvector';

CREATE TABLE large_block (
    scope BIGINT NOT NULL,
    block BIGINT NOT NULL,                  -- the sequence of its last row
    rows INTEGER NOT NULL,
    length BIGINT NOT NULL,                 -- of all of them
    PRIMARY KEY (scope, block)
);
COMMENT ON TABLE large_block IS 'Blocks of passages of a large scope';

CREATE TABLE large_word (
    scope BIGINT NOT NULL,
    term BIGINT NOT NULL,
    block BIGINT NOT NULL,
    rows INTEGER NOT NULL,                  -- how many rows of the block have the term
    held BYTEA NOT NULL,                    -- for each of them: sequence, how often it has the term, length
    PRIMARY KEY (scope, term, block)
);
CREATE INDEX large_word_of_block ON large_word (scope, block);
COMMENT ON TABLE large_word IS 'Passages of a block that have a term';

-- Where pgvector is.
CREATE FUNCTION pgvector_schema() RETURNS text LANGUAGE sql STABLE
    AS $$ SELECT extnamespace::regnamespace::text FROM pg_extension WHERE extname = 'vector' $$;

-- One table of vectors for each scope that is searched in the database, by the owner, since hosts may not make tables.
CREATE FUNCTION add_large_vectors(number bigint, dimension integer) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    named text := 'large_vector_' || number;
    granted record;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM large WHERE scope = number) THEN
        RAISE EXCEPTION 'no large scope has the number %', number USING ERRCODE = 'check_violation';
    END IF;
    EXECUTE format('DROP TABLE IF EXISTS %I', named);
    EXECUTE format(
        'CREATE TABLE %I (sequence bigint PRIMARY KEY, vector %s.halfvec(%s) NOT NULL)',
        named, pgvector_schema(), dimension
    );
    EXECUTE format(
        'CREATE POLICY named ON %I USING (''*'' = ANY ((SELECT named_scopes())::text[]) OR EXISTS '
        '(SELECT 1 FROM scope s WHERE s.number = %s AND s.key = ANY ((SELECT named_scopes())::text[])))', named, number
    );
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', named);
    FOR granted IN
        SELECT DISTINCT g.grantee::regrole AS role FROM pg_class c, aclexplode(c.relacl) g
        WHERE c.oid = 'large'::regclass AND g.grantee NOT IN (0, c.relowner)
    LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO %s', named, granted.role);
    END LOOP;
END $$;

-- Made once the vectors are there, which takes a fraction of the time.
CREATE FUNCTION add_vector_graph(number bigint) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    PERFORM set_config('maintenance_work_mem', '512MB', true);
    EXECUTE format(
        'CREATE INDEX IF NOT EXISTS %I ON %I USING hnsw (vector %s.halfvec_ip_ops)',
        'large_graph_' || number, 'large_vector_' || number, pgvector_schema()
    );
END $$;

CREATE FUNCTION forget_large() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    DELETE FROM large_block WHERE scope = OLD.scope;
    DELETE FROM large_word WHERE scope = OLD.scope;
    EXECUTE format('DROP TABLE IF EXISTS %I', 'large_vector_' || OLD.scope);
    RETURN NULL;
END $$;
CREATE TRIGGER forgotten AFTER DELETE ON large FOR EACH ROW EXECUTE FUNCTION forget_large();


-- Row-level security: a role that does not own the tables sees the rows of the scopes that its transaction names.
--
-- Names are the keys of scopes, "folder " with that of documents, or "*" for work that concerns all of them. Where a
-- transaction names nothing, it sees nothing. The owner, who migrates and restores, sees everything.

CREATE FUNCTION named_scopes() RETURNS text[] LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT coalesce(nullif(current_setting('gateway_memory.scopes', true), '')::text[], '{}') $$;

DO $$
DECLARE
    walled text;
    -- Selected once for a statement, not for each row.
    every CONSTANT text := $w$'*' = ANY ((SELECT named_scopes())::text[])$w$;
    named CONSTANT text := $w$ = ANY ((SELECT named_scopes())::text[])$w$;
BEGIN
    FOREACH walled IN ARRAY ARRAY[
        'record_files', 'turns', 'replies', 'episodes', 'episode_pages', 'memories', 'receipts', 'history', 'changes',
        'feedback', 'reviews', 'marks', 'uses', 'uses_read', 'observations', 'session_memories', 'saved_sessions',
        'session_logs', 'withheld_records', 'unreadable', 'events', 'noticed', 'links', 'link_items', 'link_codes',
        'link_tries', 'requests'
    ] LOOP
        EXECUTE format('CREATE POLICY named ON %I USING (%s OR scope%s)', walled, every, named);
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', walled);
    END LOOP;
    FOREACH walled IN ARRAY ARRAY[
        'row', 'vector', 'vector_2', 'removed', 'file', 'large', 'large_block', 'large_word'
    ] LOOP
        EXECUTE format(
            'CREATE POLICY named ON %I USING (%s OR scope IN (SELECT number FROM scope WHERE key%s))',
            walled, every, named
        );
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', walled);
    END LOOP;
    EXECUTE format('CREATE POLICY named ON documents USING (%s OR (''folder '' || folder)%s)', every, named);
    EXECUTE format('CREATE POLICY named ON plans USING (%s)', every);
    ALTER TABLE documents ENABLE ROW LEVEL SECURITY;
    ALTER TABLE plans ENABLE ROW LEVEL SECURITY;
END $$;

-- Names are looked up in the temporary schema of a session last, and nobody but hosts may call what the owner does.
-- `db migrate --app-role` gives hosts these rights, and those to the tables.
DO $$
DECLARE
    called record;
BEGIN
    FOR called IN
        SELECT p.oid::regprocedure AS name FROM pg_proc p
        WHERE p.pronamespace = current_schema()::regnamespace AND p.prosecdef
    LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', called.name, current_schema());
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', called.name);
    END LOOP;
END $$;
