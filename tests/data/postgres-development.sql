SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
CREATE SCHEMA gm_development;
CREATE FUNCTION gm_development.add_episode_partitions(upto bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'gm_development', 'pg_temp'
    AS $$
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
CREATE FUNCTION gm_development.add_large_vectors(number bigint, dimension integer) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'gm_development', 'pg_temp'
    AS $$
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
CREATE FUNCTION gm_development.add_session_totals(names text[], numbers bigint[]) RETURNS void
    LANGUAGE sql
    AS $$
    INSERT INTO session_totals AS t (name, shard, number)
    SELECT name, pg_backend_pid() % 64, sum(number) FROM unnest(names, numbers) AS changed(name, number)
    GROUP BY name HAVING sum(number) <> 0 ORDER BY name
    ON CONFLICT (name, shard) DO UPDATE SET number = t.number + excluded.number
$$;
CREATE FUNCTION gm_development.add_vector_graph(number bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'gm_development', 'pg_temp'
    AS $$
BEGIN
    PERFORM set_config('maintenance_work_mem', '512MB', true);
    EXECUTE format(
        'CREATE INDEX IF NOT EXISTS %I ON %I USING hnsw (vector %s.halfvec_ip_ops)',
        'large_graph_' || number, 'large_vector_' || number, pgvector_schema()
    );
END $$;
CREATE FUNCTION gm_development.count_changed_saved() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM add_session_totals(ARRAY['layer.' || NEW.layer, 'layer.' || OLD.layer], ARRAY[1, -1]);
    RETURN NULL;
END $$;
CREATE FUNCTION gm_development.count_changed_session() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM add_session_totals(array_agg(name), array_agg(number)) FROM (
        SELECT name, number FROM totals_of(NEW.ended_at, NEW.state, NEW.error, NEW.followups)
        UNION ALL SELECT name, -number FROM totals_of(OLD.ended_at, OLD.state, OLD.error, OLD.followups)
    ) AS changed;
    RETURN NULL;
END $$;
CREATE FUNCTION gm_development.count_saved() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM add_session_totals(array_agg('layer.' || layer), array_agg(TG_ARGV[0]::bigint)) FROM changed
        HAVING count(*) > 0;
    RETURN NULL;
END $$;
CREATE FUNCTION gm_development.count_sessions() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM add_session_totals(array_agg(t.name), array_agg(t.number * TG_ARGV[0]::bigint))
        FROM changed c, totals_of(c.ended_at, c.state, c.error, c.followups) AS t HAVING count(*) > 0;
    RETURN NULL;
END $$;
CREATE FUNCTION gm_development.expire_episodes(before double precision, page_turns integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'gm_development', 'pg_temp'
    AS $_$
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
END $_$;
CREATE FUNCTION gm_development.forget_large() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'gm_development', 'pg_temp'
    AS $$
BEGIN
    DELETE FROM large_block WHERE scope = OLD.scope;
    DELETE FROM large_word WHERE scope = OLD.scope;
    EXECUTE format('DROP TABLE IF EXISTS %I', 'large_vector_' || OLD.scope);
    RETURN NULL;
END $$;
CREATE FUNCTION gm_development.instr(text, text) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $_$SELECT strpos($1, $2)$_$;
CREATE FUNCTION gm_development.json_extract(text, text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    AS $_$
BEGIN
    -- An escaped NUL is JSON, and no text of PostgreSQL.
    RETURN replace($1, '\u0000', '\ufffd')::json ->> substr($2, 3);
EXCEPTION WHEN others THEN
    RETURN NULL;
END $_$;
CREATE FUNCTION gm_development.json_texts(text) RETURNS TABLE(value text)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $_$
    SELECT value FROM json_array_elements_text(CASE json_typeof($1::json) WHEN 'array' THEN $1::json ELSE '[]' END)
$_$;
CREATE FUNCTION gm_development.json_valid(text) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE
    AS $_$
BEGIN
    PERFORM $1::json;
    RETURN true;
EXCEPTION WHEN others THEN
    RETURN false;
END $_$;
CREATE FUNCTION gm_development.max(anycompatible, anycompatible) RETURNS anycompatible
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $_$SELECT greatest($1, $2)$_$;
CREATE FUNCTION gm_development.min(anycompatible, anycompatible) RETURNS anycompatible
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $_$SELECT least($1, $2)$_$;
CREATE FUNCTION gm_development.named_scopes() RETURNS text[]
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT coalesce(nullif(current_setting('gateway_memory.scopes', true), '')::text[], '{}') $$;
CREATE FUNCTION gm_development.pgvector_schema() RETURNS text
    LANGUAGE sql STABLE
    AS $$ SELECT extnamespace::regnamespace::text FROM pg_extension WHERE extname = 'vector' $$;
CREATE FUNCTION gm_development.totals_of(ended_at double precision, state text, error text, followups integer) RETURNS TABLE(name text, number bigint)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT CASE WHEN ended_at IS NULL THEN 'open' ELSE 'ended' END, 1::bigint
    UNION ALL SELECT 'state.' || state, 1 WHERE ended_at IS NOT NULL AND state <> ''
    UNION ALL SELECT 'errors', 1 WHERE error <> ''
    UNION ALL SELECT 'followups', followups WHERE followups <> 0
$$;
CREATE TABLE gm_development.changes (
    receipt bigint NOT NULL,
    scope text NOT NULL,
    plan text NOT NULL,
    patches text NOT NULL
);
COMMENT ON TABLE gm_development.changes IS 'What undoes a receipt';
CREATE TABLE gm_development.documents (
    folder text NOT NULL,
    name text NOT NULL,
    content bytea NOT NULL,
    saved bigint NOT NULL
);
COMMENT ON TABLE gm_development.documents IS 'MEMORY.md and the days of each scope, as Markdown; what people edit';
COMMENT ON COLUMN gm_development.documents.folder IS 'Empty for the owner, people/NAME or rooms/NAME for others';
COMMENT ON COLUMN gm_development.documents.saved IS 'Nanoseconds since 1970; rises with each change';
CREATE TABLE gm_development.episode_pages (
    scope text NOT NULL,
    page bigint NOT NULL,
    token text NOT NULL,
    behind boolean DEFAULT true NOT NULL
);
COMMENT ON TABLE gm_development.episode_pages IS 'A token for each page of exchanges of a scope; the index follows where it changes';
CREATE TABLE gm_development.episodes (
    turn bigint NOT NULL,
    scope text NOT NULL,
    session_key text NOT NULL,
    session_id text NOT NULL,
    "user" text NOT NULL,
    reply text NOT NULL,
    at double precision NOT NULL,
    unread text DEFAULT ''::text NOT NULL
)
PARTITION BY RANGE (turn);
COMMENT ON TABLE gm_development.episodes IS 'Exchanges as they were said, in partitions of four million numbers';
COMMENT ON COLUMN gm_development.episodes.unread IS 'Who has still to read an imported exchange: rules or model';
CREATE TABLE gm_development.episodes_0 (
    turn bigint NOT NULL,
    scope text NOT NULL,
    session_key text NOT NULL,
    session_id text NOT NULL,
    "user" text NOT NULL,
    reply text NOT NULL,
    at double precision NOT NULL,
    unread text DEFAULT ''::text NOT NULL
);
CREATE TABLE gm_development.episodes_1 (
    turn bigint NOT NULL,
    scope text NOT NULL,
    session_key text NOT NULL,
    session_id text NOT NULL,
    "user" text NOT NULL,
    reply text NOT NULL,
    at double precision NOT NULL,
    unread text DEFAULT ''::text NOT NULL
);
CREATE TABLE gm_development.episodes_rest (
    turn bigint NOT NULL,
    scope text NOT NULL,
    session_key text NOT NULL,
    session_id text NOT NULL,
    "user" text NOT NULL,
    reply text NOT NULL,
    at double precision NOT NULL,
    unread text DEFAULT ''::text NOT NULL
);
CREATE TABLE gm_development.events (
    id bigint NOT NULL,
    origin text NOT NULL,
    number bigint NOT NULL,
    scope text NOT NULL,
    kept_at double precision NOT NULL,
    body text NOT NULL,
    plan bigint
);
COMMENT ON TABLE gm_development.events IS 'What changed in a scope, for the other sessions and hosts';
ALTER TABLE gm_development.events ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME gm_development.events_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE gm_development.failures (
    place text NOT NULL,
    error text NOT NULL,
    at double precision NOT NULL,
    count bigint NOT NULL
);
COMMENT ON TABLE gm_development.failures IS 'What failed in any process: place, class of the error, last time, how often';
CREATE TABLE gm_development.feedback (
    scope text NOT NULL,
    turn bigint NOT NULL,
    memory text NOT NULL,
    verdict text NOT NULL,
    at double precision NOT NULL,
    CONSTRAINT feedback_verdict CHECK ((verdict = ANY (ARRAY['useful'::text, 'wrong'::text])))
);
COMMENT ON TABLE gm_development.feedback IS 'What people said of recalled memories';
CREATE TABLE gm_development.file (
    scope bigint NOT NULL,
    name text NOT NULL,
    mtime_ns bigint NOT NULL,
    size bigint NOT NULL,
    digest text NOT NULL
);
COMMENT ON TABLE gm_development.file IS 'Documents as the index knows them';
CREATE TABLE gm_development.heard (
    slot integer NOT NULL,
    origin text NOT NULL,
    number bigint NOT NULL
);
COMMENT ON TABLE gm_development.heard IS 'Up to which event a host has heard of each source';
CREATE TABLE gm_development.history (
    id bigint NOT NULL,
    scope text NOT NULL,
    memory text NOT NULL,
    at double precision NOT NULL,
    event text NOT NULL,
    other text NOT NULL
);
COMMENT ON TABLE gm_development.history IS 'Events of each memory';
ALTER TABLE gm_development.history ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME gm_development.history_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE gm_development.hosts (
    slot integer NOT NULL,
    token text NOT NULL,
    until timestamp with time zone NOT NULL,
    CONSTRAINT hosts_slot CHECK ((slot >= 0))
);
COMMENT ON TABLE gm_development.hosts IS 'Processes that have the memory open, by slot, each with a lease that it renews';
CREATE TABLE gm_development.identity (
    journal text NOT NULL
);
COMMENT ON TABLE gm_development.identity IS 'The id of this memory, kept by a move';
CREATE TABLE gm_development.large (
    scope bigint NOT NULL,
    sequence bigint DEFAULT 0 NOT NULL,
    revision bigint DEFAULT 0 NOT NULL,
    removals bigint NOT NULL,
    encoder text NOT NULL,
    dimension integer NOT NULL,
    vectors bigint DEFAULT 0 NOT NULL,
    vector_sum bytea DEFAULT '\x'::bytea NOT NULL,
    ready boolean DEFAULT false NOT NULL,
    graph boolean DEFAULT true NOT NULL,
    CONSTRAINT large_dimension CHECK ((dimension > 0))
);
COMMENT ON TABLE gm_development.large IS 'Scopes that are searched in the database, by pgvector';
CREATE TABLE gm_development.large_block (
    scope bigint NOT NULL,
    block bigint NOT NULL,
    rows integer NOT NULL,
    length bigint NOT NULL
);
COMMENT ON TABLE gm_development.large_block IS 'Blocks of passages of a large scope';
CREATE TABLE gm_development.large_word (
    scope bigint NOT NULL,
    term bigint NOT NULL,
    block bigint NOT NULL,
    rows integer NOT NULL,
    held bytea NOT NULL
);
COMMENT ON TABLE gm_development.large_word IS 'Passages of a block that have a term';
CREATE TABLE gm_development.leases (
    slot integer NOT NULL,
    token text NOT NULL,
    state text DEFAULT ''::text NOT NULL
);
COMMENT ON TABLE gm_development.leases IS 'Who works for a slot: a host whose token is another records nothing any more; state: its health as JSON';
CREATE TABLE gm_development.link_codes (
    scope text NOT NULL,
    digest text NOT NULL,
    until double precision NOT NULL
);
COMMENT ON TABLE gm_development.link_codes IS 'Digests of codes for a link, until they end';
CREATE TABLE gm_development.link_items (
    scope text NOT NULL,
    kind text NOT NULL,
    item text NOT NULL,
    body text NOT NULL,
    CONSTRAINT link_items_kind CHECK ((kind = ANY (ARRAY['memory'::text, 'record'::text, 'turn'::text, 'review'::text])))
);
COMMENT ON TABLE gm_development.link_items IS 'What a link has brought, so that it can be taken back';
CREATE TABLE gm_development.link_tries (
    scope text NOT NULL,
    at double precision NOT NULL
);
COMMENT ON TABLE gm_development.link_tries IS 'Wrong codes, by time';
CREATE TABLE gm_development.links (
    scope text NOT NULL,
    target text NOT NULL,
    at double precision NOT NULL
);
COMMENT ON TABLE gm_development.links IS 'Scopes that are one person: scope is kept in target';
CREATE UNLOGGED TABLE gm_development.locks (
    folder text NOT NULL,
    token text NOT NULL,
    until timestamp with time zone NOT NULL
);
COMMENT ON TABLE gm_development.locks IS 'Who writes documents of a scope just now. Unlogged: empty after a crash';
CREATE TABLE gm_development.marks (
    scope text NOT NULL,
    name text NOT NULL,
    told boolean DEFAULT false NOT NULL
);
COMMENT ON TABLE gm_development.marks IS 'One-time hints to a person, and whether they were given';
CREATE TABLE gm_development.memories (
    scope text NOT NULL,
    id text NOT NULL,
    text text NOT NULL,
    file text NOT NULL,
    type text NOT NULL,
    category text NOT NULL,
    importance text NOT NULL,
    confidence double precision NOT NULL,
    entities text NOT NULL,
    session_key text NOT NULL,
    at double precision NOT NULL,
    state text NOT NULL,
    replaced_by text,
    changed_at double precision NOT NULL,
    turn bigint DEFAULT 0 NOT NULL,
    expires text DEFAULT ''::text NOT NULL,
    quote text DEFAULT ''::text NOT NULL,
    outdates text DEFAULT ''::text NOT NULL
);
COMMENT ON TABLE gm_development.memories IS 'Each memory with its state and origin; the documents hold its text as well';
COMMENT ON COLUMN gm_development.memories.state IS 'active, or how it ended: superseded, forgotten, undone, deleted, expired, retracted';
COMMENT ON COLUMN gm_development.memories.turn IS 'The exchange from which it comes; 0 for none';
CREATE TABLE gm_development.meta (
    key text NOT NULL,
    value text NOT NULL
);
COMMENT ON TABLE gm_development.meta IS 'Encoder and version of the index';
CREATE TABLE gm_development.migrations (
    name text NOT NULL,
    ends_older boolean NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL
);
COMMENT ON TABLE gm_development.migrations IS 'Steps of this schema that were applied. Hosts read it and may not write it';
COMMENT ON COLUMN gm_development.migrations.ends_older IS 'Whether versions that do not know the step refuse to start';
CREATE TABLE gm_development.noticed (
    scope text NOT NULL,
    id text NOT NULL,
    digest text NOT NULL
);
COMMENT ON TABLE gm_development.noticed IS 'Digests of memories as they stand in documents, to notice edits by hand';
CREATE TABLE gm_development.observations (
    id bigint NOT NULL,
    scope text NOT NULL,
    session_id text NOT NULL,
    at double precision NOT NULL,
    kind text NOT NULL,
    tool text NOT NULL,
    content text NOT NULL,
    private boolean NOT NULL,
    tags text DEFAULT ''::text NOT NULL
);
COMMENT ON TABLE gm_development.observations IS 'The log of open sessions: what was said, what tools returned, shortened';
ALTER TABLE gm_development.observations ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME gm_development.observations_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE gm_development.plans (
    id bigint NOT NULL,
    slot integer NOT NULL,
    body text NOT NULL
);
COMMENT ON TABLE gm_development.plans IS 'Changes to documents that were decided and are being written; gone once they are';
ALTER TABLE gm_development.plans ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME gm_development.plans_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE gm_development.receipts (
    id bigint NOT NULL,
    scope text NOT NULL,
    session_key text NOT NULL,
    stage text NOT NULL,
    turns text NOT NULL,
    outcome text NOT NULL,
    at double precision NOT NULL
);
COMMENT ON TABLE gm_development.receipts IS 'What came of exchanges: outcomes as JSON';
ALTER TABLE gm_development.receipts ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME gm_development.receipts_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE gm_development.record_files (
    scope text NOT NULL,
    content bytea NOT NULL,
    damaged bytea DEFAULT '\x'::bytea NOT NULL
);
COMMENT ON TABLE gm_development.record_files IS 'Records of saved sessions of a scope, as lines of JSON';
CREATE TABLE gm_development.removed (
    revision bigint NOT NULL,
    scope bigint NOT NULL,
    sequence bigint NOT NULL,
    rowid bigint NOT NULL
);
COMMENT ON TABLE gm_development.removed IS 'Passages that are gone, for the hosts that have them in memory';
ALTER TABLE gm_development.removed ALTER COLUMN rowid ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME gm_development.removed_rowid_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE gm_development.replies (
    turn bigint NOT NULL,
    scope text NOT NULL,
    session_id text NOT NULL,
    at double precision NOT NULL,
    recalled text NOT NULL,
    session_key text DEFAULT ''::text NOT NULL,
    turn_id text DEFAULT ''::text NOT NULL,
    report text DEFAULT ''::text NOT NULL
);
COMMENT ON TABLE gm_development.replies IS 'What each reply recalled, and why, for questions such as /memory why';
COMMENT ON COLUMN gm_development.replies.turn_id IS 'The id that the gateway gave the exchange: the same one again is not stored twice';
CREATE TABLE gm_development.requests (
    call text NOT NULL,
    caller text NOT NULL,
    id text NOT NULL,
    scope text NOT NULL,
    at double precision NOT NULL,
    answer text DEFAULT ''::text NOT NULL
);
COMMENT ON TABLE gm_development.requests IS 'Answers to calls by the id of the caller, so that a call that is repeated does nothing twice';
CREATE TABLE gm_development.reviews (
    scope text NOT NULL,
    id text NOT NULL,
    state text NOT NULL,
    reason text NOT NULL,
    at double precision NOT NULL,
    text text NOT NULL,
    turn bigint NOT NULL,
    expires text NOT NULL,
    body text NOT NULL,
    rowid bigint NOT NULL,
    CONSTRAINT reviews_state CHECK ((state = ANY (ARRAY['waiting'::text, 'approved'::text, 'rejected'::text, 'never'::text, 'expired'::text, 'replaced'::text, 'forgotten'::text])))
);
COMMENT ON TABLE gm_development.reviews IS 'Memories that wait for a person to decide, and what was decided';
ALTER TABLE gm_development.reviews ALTER COLUMN rowid ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME gm_development.reviews_rowid_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE gm_development."row" (
    sequence bigint NOT NULL,
    added bigint NOT NULL,
    revision bigint NOT NULL,
    scope bigint NOT NULL,
    file text NOT NULL,
    id text NOT NULL,
    text text NOT NULL,
    at double precision NOT NULL,
    kind text NOT NULL,
    type text NOT NULL,
    category text NOT NULL,
    importance double precision NOT NULL,
    confidence double precision NOT NULL,
    session text NOT NULL,
    heading text NOT NULL,
    speaker text NOT NULL,
    reply text NOT NULL,
    until text NOT NULL,
    turn bigint NOT NULL,
    traits bigint NOT NULL,
    speaker_term bigint NOT NULL,
    length integer NOT NULL,
    terms bytea NOT NULL,
    embedded integer DEFAULT 0 NOT NULL,
    CONSTRAINT row_length CHECK ((length >= 0))
);
COMMENT ON TABLE gm_development."row" IS 'Passages of the index, with their terms. Made again from documents and exchanges';
COMMENT ON COLUMN gm_development."row".embedded IS '0 while the row waits for its vector';
ALTER TABLE gm_development."row" ALTER COLUMN sequence ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME gm_development.row_sequence_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE gm_development.saved_sessions (
    scope text NOT NULL,
    session_id text NOT NULL,
    layer text NOT NULL,
    at double precision NOT NULL
);
COMMENT ON TABLE gm_development.saved_sessions IS 'Sessions that have a record';
CREATE TABLE gm_development.scope (
    number bigint NOT NULL,
    key text NOT NULL,
    revision bigint DEFAULT 0 NOT NULL,
    forgotten bigint DEFAULT 0 NOT NULL,
    CONSTRAINT scope_revision CHECK (((revision >= 0) AND (forgotten >= 0)))
);
COMMENT ON TABLE gm_development.scope IS 'Scopes of the index: number, key, revision. Outside row-level security: looked up by key';
ALTER TABLE gm_development.scope ALTER COLUMN number ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME gm_development.scope_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE gm_development.session_counts (
    name text NOT NULL,
    number bigint NOT NULL
);
COMMENT ON TABLE gm_development.session_counts IS 'Counts over all ended sessions';
CREATE TABLE gm_development.session_logs (
    scope text NOT NULL,
    size bigint NOT NULL,
    tail bytea NOT NULL,
    records integer NOT NULL,
    damaged integer NOT NULL
);
COMMENT ON TABLE gm_development.session_logs IS 'How far the records of a scope are indexed';
CREATE TABLE gm_development.session_memories (
    session_id text NOT NULL,
    scope text NOT NULL,
    memory text NOT NULL,
    type text NOT NULL,
    at double precision NOT NULL
);
COMMENT ON TABLE gm_development.session_memories IS 'Memories that came up in a session';
CREATE TABLE gm_development.session_totals (
    name text NOT NULL,
    shard integer NOT NULL,
    number bigint NOT NULL
)
WITH (fillfactor='50');
COMMENT ON TABLE gm_development.session_totals IS 'Counts of sessions by how they ended, made by triggers; a number is the sum over its shards';
CREATE TABLE gm_development.sessions (
    session_id text NOT NULL,
    key text NOT NULL,
    scope text NOT NULL,
    opened_at double precision NOT NULL,
    ended_at double precision,
    reason text,
    seen_at double precision DEFAULT 0 NOT NULL,
    slot integer DEFAULT '-1'::integer NOT NULL,
    state text DEFAULT ''::text NOT NULL,
    followups integer DEFAULT 0 NOT NULL,
    error text DEFAULT ''::text NOT NULL,
    duration_ms bigint,
    switches text DEFAULT ''::text NOT NULL,
    stops integer DEFAULT 0 NOT NULL
);
COMMENT ON TABLE gm_development.sessions IS 'Sessions by id, with key, scope and times; no words. Outside row-level security: looked up by key before a scope is known';
COMMENT ON COLUMN gm_development.sessions.slot IS 'The host that works on its turns; -1 for none';
COMMENT ON COLUMN gm_development.sessions.switches IS 'What the person has switched, as JSON; empty for nothing';
CREATE TABLE gm_development.sources (
    origin text NOT NULL,
    head bigint NOT NULL,
    sent bigint NOT NULL
);
COMMENT ON TABLE gm_development.sources IS 'Processes that made events, with their last numbers';
CREATE TABLE gm_development.told (
    session_id text NOT NULL,
    origin text NOT NULL,
    number bigint NOT NULL
);
COMMENT ON TABLE gm_development.told IS 'Up to which event a session was told of each source; numbers, no words. Outside row-level security';
CREATE TABLE gm_development.turns (
    id bigint NOT NULL,
    scope text NOT NULL,
    session_key text NOT NULL,
    session_id text NOT NULL,
    "user" text NOT NULL,
    reply text NOT NULL,
    at double precision NOT NULL,
    accepted_at double precision NOT NULL,
    stage integer DEFAULT 0 NOT NULL,
    slot integer NOT NULL,
    "extract" boolean DEFAULT true NOT NULL,
    episode boolean DEFAULT false NOT NULL,
    imported boolean DEFAULT false NOT NULL
);
COMMENT ON TABLE gm_development.turns IS 'Exchanges whose processing is not complete; gone once they are worked off';
COMMENT ON COLUMN gm_development.turns.id IS 'The number of the exchange, by which replies, episodes and receipts refer to it';
COMMENT ON COLUMN gm_development.turns.stage IS '0 accepted, 1 read by the rules, 2 failed; 100 less where it is parked';
ALTER TABLE gm_development.turns ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME gm_development.turns_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE gm_development.unreadable (
    id bigint NOT NULL,
    scope text NOT NULL,
    place text NOT NULL,
    body text NOT NULL
);
COMMENT ON TABLE gm_development.unreadable IS 'Rows that could not be decoded, set aside so that they stop nothing';
ALTER TABLE gm_development.unreadable ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME gm_development.unreadable_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE gm_development.usage (
    day text NOT NULL,
    extractions integer DEFAULT 0 NOT NULL,
    input_tokens bigint DEFAULT 0 NOT NULL,
    output_tokens bigint DEFAULT 0 NOT NULL,
    reserved_tokens bigint DEFAULT 0 NOT NULL,
    CONSTRAINT usage_counts CHECK (((extractions >= 0) AND (input_tokens >= 0) AND (output_tokens >= 0)))
);
COMMENT ON TABLE gm_development.usage IS 'Calls and tokens of models, by day';
CREATE TABLE gm_development.uses (
    scope text NOT NULL,
    memory text NOT NULL,
    day text NOT NULL,
    recalled integer NOT NULL,
    repeated integer NOT NULL
);
COMMENT ON TABLE gm_development.uses IS 'How often a memory was recalled and repeated, by day';
CREATE TABLE gm_development.uses_read (
    scope text NOT NULL,
    reply bigint NOT NULL,
    receipt bigint NOT NULL
);
COMMENT ON TABLE gm_development.uses_read IS 'Up to which reply and receipt uses are counted';
CREATE TABLE gm_development.vector (
    sequence bigint NOT NULL,
    scope bigint NOT NULL,
    revision bigint NOT NULL,
    vector bytea NOT NULL
);
COMMENT ON TABLE gm_development.vector IS 'Vectors of the passages';
CREATE TABLE gm_development.vector_2 (
    sequence bigint NOT NULL,
    scope bigint NOT NULL,
    revision bigint NOT NULL,
    vector bytea NOT NULL
);
COMMENT ON TABLE gm_development.vector_2 IS 'Vectors of the passages by a second encoder, while one takes the place of the other';
CREATE TABLE gm_development.withheld_records (
    scope text NOT NULL,
    shown text NOT NULL,
    whole text NOT NULL
);
COMMENT ON TABLE gm_development.withheld_records IS 'Records as they were before forgotten words were taken out';
ALTER TABLE ONLY gm_development.episodes ATTACH PARTITION gm_development.episodes_0 FOR VALUES FROM (MINVALUE) TO ('4000000');
ALTER TABLE ONLY gm_development.episodes ATTACH PARTITION gm_development.episodes_1 FOR VALUES FROM ('4000000') TO ('8000000');
ALTER TABLE ONLY gm_development.episodes ATTACH PARTITION gm_development.episodes_rest DEFAULT;
INSERT INTO gm_development.changes VALUES (1, 'owner', '{"scope": "owner", "folder": "", "stage": "rules", "at": 1795165800.0, "turns": [1, 2, 3, 4, 5], "added": [{"id": "s2zg6n65", "text": "the staging port is 8443", "file": "MEMORY.md", "at": 1795165320.0, "session_key": "agent:main:telegram:direct:7", "session_id": "343e953213dce58c", "type": "W", "category": "fact", "importance": "high", "confidence": 0.95, "entities": [], "turn": 1, "expires": "", "quote": ""}, {"id": "qd5kxord", "text": "I''m allergic to peanuts", "file": "MEMORY.md", "at": 1795165440.0, "session_key": "agent:main:telegram:direct:7", "session_id": "343e953213dce58c", "type": "B", "category": "fact", "importance": "high", "confidence": 0.92, "entities": [], "turn": 2, "expires": "", "quote": ""}, {"id": "akh6ur3q", "text": "我喜欢用 Python", "file": "MEMORY.md", "at": 1795165560.0, "session_key": "agent:main:telegram:direct:7", "session_id": "343e953213dce58c", "type": "O", "category": "preference", "importance": "high", "confidence": 0.88, "entities": ["Python"], "turn": 3, "expires": "", "quote": ""}, {"id": "zzn6gumc", "text": "我们决定订单系统用 PostgreSQL，不用 MongoDB", "file": "MEMORY.md", "at": 1795165680.0, "session_key": "agent:main:telegram:direct:7", "session_id": "343e953213dce58c", "type": "W", "category": "decision", "importance": "high", "confidence": 0.88, "entities": ["PostgreSQL", "MongoDB"], "turn": 4, "expires": "", "quote": ""}, {"id": "7riqq7d3", "text": "the cat is called Tigger", "file": "MEMORY.md", "at": 1795165800.0, "session_key": "agent:main:telegram:direct:7", "session_id": "343e953213dce58c", "type": "W", "category": "fact", "importance": "high", "confidence": 0.95, "entities": ["Tigger"], "turn": 5, "expires": "", "quote": ""}], "retired": [], "outcomes": [{"turn": 1, "action": "add", "reason": "new", "id": "s2zg6n65", "text": ""}, {"turn": 2, "action": "add", "reason": "new", "id": "qd5kxord", "text": ""}, {"turn": 3, "action": "add", "reason": "new", "id": "akh6ur3q", "text": ""}, {"turn": 4, "action": "add", "reason": "new", "id": "zzn6gumc", "text": ""}, {"turn": 5, "action": "add", "reason": "new", "id": "7riqq7d3", "text": ""}], "moved": [], "failed": false, "restores": []}', '[{"file": "MEMORY.md", "made": true, "digest": "bf3bd32ed3238fbfc254f8224676f6b2", "hunks": [{"at": 0, "before": [], "after": ["# Memory"]}, {"at": 2, "before": [], "after": ["- the staging port is 8443 <!-- gm:s2zg6n65 0.95 -->", "- I''m allergic to peanuts <!-- gm:qd5kxord B 0.92 -->", "- \u6211\u559c\u6b22\u7528 Python <!-- gm:akh6ur3q O 0.88 -->", "- \u6211\u4eec\u51b3\u5b9a\u8ba2\u5355\u7cfb\u7edf\u7528 PostgreSQL\uff0c\u4e0d\u7528 MongoDB <!-- gm:zzn6gumc 0.88 -->", "- the cat is called Tigger <!-- gm:7riqq7d3 0.95 -->", ""]}]}]');
INSERT INTO gm_development.changes VALUES (3, 'owner', '{"scope": "owner", "folder": "", "stage": "command", "at": 1795165800.0, "turns": [], "added": [], "retired": [{"memory": {"id": "7riqq7d3", "text": "the cat is called Tigger", "file": "MEMORY.md", "at": 1795165800.0, "session_key": "agent:main:telegram:direct:7", "session_id": "", "type": "W", "category": "fact", "importance": "high", "confidence": 0.95, "entities": ["Tigger"], "turn": 5, "expires": "", "quote": ""}, "state": "forgotten", "replaced_by": ""}], "outcomes": [{"turn": 0, "action": "forgotten", "reason": "asked", "id": "7riqq7d3", "text": ""}], "moved": [], "failed": false, "restores": []}', '[{"file": "MEMORY.md", "made": false, "digest": "0907fbec79c5ecdaaa78064b74e986b9", "hunks": [{"at": 6, "before": ["- the cat is called Tigger <!-- gm:7riqq7d3 0.95 -->"], "after": []}]}]');
INSERT INTO gm_development.changes VALUES (4, 'user:zoe', '{"scope": "user:zoe", "folder": "people/zoe-a87eb1f6a7", "stage": "rules", "at": 1795165800.0, "turns": [6], "added": [{"id": "wgqsqm3t", "text": "My name is Zoe", "file": "MEMORY.md", "at": 1795165800.0, "session_key": "agent:main:discord:direct:zoe", "session_id": "0b8cf77ac8b9b89a", "type": "B", "category": "fact", "importance": "high", "confidence": 0.92, "entities": ["Zoe"], "turn": 6, "expires": "", "quote": ""}, {"id": "g6trzzie", "text": "I live in Oslo", "file": "MEMORY.md", "at": 1795165800.0, "session_key": "agent:main:discord:direct:zoe", "session_id": "0b8cf77ac8b9b89a", "type": "B", "category": "fact", "importance": "high", "confidence": 0.9, "entities": ["Oslo"], "turn": 6, "expires": "", "quote": ""}], "retired": [], "outcomes": [{"turn": 6, "action": "add", "reason": "new", "id": "wgqsqm3t", "text": ""}, {"turn": 6, "action": "add", "reason": "new", "id": "g6trzzie", "text": ""}], "moved": [], "failed": false, "restores": []}', '[{"file": "MEMORY.md", "made": true, "digest": "35cc38746f95f46c3ff1a897f7419a9a", "hunks": [{"at": 0, "before": [], "after": ["# Memory"]}, {"at": 2, "before": [], "after": ["- My name is Zoe <!-- gm:wgqsqm3t B 0.92 -->", "- I live in Oslo <!-- gm:g6trzzie B 0.9 -->", ""]}]}]');
INSERT INTO gm_development.changes VALUES (6, 'room:discord-5', '{"scope": "room:discord-5", "folder": "rooms/discord-5-4498e6b649", "stage": "save", "at": 1795165800.0, "turns": [], "added": [{"id": "5arnhwok", "text": "The club meets on Thursdays at seven", "file": "memory/2026-11-20.md", "at": 1795165800.0, "session_key": "agent:main:discord:group:5", "session_id": "7450f23c4a49c176", "type": "W", "category": "fact", "importance": "normal", "confidence": 0.9, "entities": [], "turn": 0, "expires": "", "quote": ""}], "retired": [], "outcomes": [{"turn": 0, "action": "add", "reason": "new", "id": "5arnhwok", "text": ""}], "moved": [], "failed": false, "restores": []}', '[{"file": "memory/2026-11-20.md", "made": true, "digest": "3be9d2d9a8fb03b4e8ff8f1dc179f2c6", "hunks": [{"at": 0, "before": [], "after": ["# 2026-11-20"]}, {"at": 2, "before": [], "after": ["- The club meets on Thursdays at seven <!-- gm:5arnhwok 0.9 -->", ""]}]}]');
INSERT INTO gm_development.documents VALUES ('', 'MEMORY.md', '\x23204d656d6f72790a0a2d207468652073746167696e6720706f72742069732038343433203c212d2d20676d3a73327a67366e363520302e3935202d2d3e0a2d2049276d20616c6c657267696320746f207065616e757473203c212d2d20676d3a7164356b786f7264204220302e3932202d2d3e0a2d20e68891e5969ce6aca2e794a820507974686f6e203c212d2d20676d3a616b683675723371204f20302e3838202d2d3e0a2d20e68891e4bbace586b3e5ae9ae8aea2e58d95e7b3bbe7bb9fe794a820506f737467726553514cefbc8ce4b88de794a8204d6f6e676f4442203c212d2d20676d3a7a7a6e3667756d6320302e3838202d2d3e0a', 1795165800000000000);
INSERT INTO gm_development.documents VALUES ('', 'memory/2026-11-20.md', '\x2320323032362d31312d32300a0a2d2048616c66206f6620746865206d6967726174696f6e20697320646f6e65203c212d2d20676d3a73366478787a33622053202d2d3e0a', 1795165800000000000);
INSERT INTO gm_development.documents VALUES ('people/zoe-a87eb1f6a7', 'MEMORY.md', '\x23204d656d6f72790a0a2d204d79206e616d65206973205a6f65203c212d2d20676d3a77677173716d3374204220302e3932202d2d3e0a2d2049206c69766520696e204f736c6f203c212d2d20676d3a673674727a7a6965204220302e39202d2d3e0a', 1795165800000000000);
INSERT INTO gm_development.documents VALUES ('rooms/discord-5-4498e6b649', 'memory/2026-11-20.md', '\x2320323032362d31312d32300a0a2d2054686520636c7562206d65657473206f6e2054687572736461797320617420736576656e203c212d2d20676d3a3561726e68776f6b20302e39202d2d3e0a', 1795165800000000000);
INSERT INTO gm_development.episode_pages VALUES ('owner', 0, '0123456789ab', true);
INSERT INTO gm_development.episodes_0 VALUES (1, 'owner', 'agent:main:telegram:direct:7', '343e953213dce58c', 'Remember that the staging port is 8443.', 'OK', 1795165320, '');
INSERT INTO gm_development.episodes_0 VALUES (90, 'owner', 'chatgpt:g1', 'g1', 'How do tomatoes grow?', 'In the sun.', 1795165800, 'rules');
INSERT INTO gm_development.events VALUES (1, '5c1b4a88cac74f6b.0', 1, 'owner', 1795165800, '{"scope":"owner","at":1795165800.0,"changes":[{"id":"s2zg6n65","text":"the staging port is 8443","at":1795165320.0,"source":"agent:main:telegram:direct:7","action":"added","replaces":"","by_hand":false},{"id":"qd5kxord","text":"I''m allergic to peanuts","at":1795165440.0,"source":"agent:main:telegram:direct:7","action":"added","replaces":"","by_hand":false},{"id":"akh6ur3q","text":"我喜欢用 Python","at":1795165560.0,"source":"agent:main:telegram:direct:7","action":"added","replaces":"","by_hand":false},{"id":"zzn6gumc","text":"我们决定订单系统用 PostgreSQL，不用 MongoDB","at":1795165680.0,"source":"agent:main:telegram:direct:7","action":"added","replaces":"","by_hand":false},{"id":"7riqq7d3","text":"the cat is called Tigger","at":1795165800.0,"source":"agent:main:telegram:direct:7","action":"added","replaces":"","by_hand":false}]}', NULL);
INSERT INTO gm_development.events VALUES (2, '5c1b4a88cac74f6b.0', 2, 'owner', 1795165800, '{"scope":"owner","at":1795165800.0,"changes":[{"id":"7riqq7d3","text":"the cat is called Tigger","at":1795165800.0,"source":"","action":"removed","replaces":"","by_hand":false}]}', NULL);
INSERT INTO gm_development.events VALUES (3, '5c1b4a88cac74f6b.0', 3, 'user:zoe', 1795165800, '{"scope":"user:zoe","at":1795165800.0,"changes":[{"id":"wgqsqm3t","text":"My name is Zoe","at":1795165800.0,"source":"agent:main:discord:direct:zoe","action":"added","replaces":"","by_hand":false},{"id":"g6trzzie","text":"I live in Oslo","at":1795165800.0,"source":"agent:main:discord:direct:zoe","action":"added","replaces":"","by_hand":false}]}', NULL);
INSERT INTO gm_development.events VALUES (4, '5c1b4a88cac74f6b.0', 4, 'room:discord-5', 1795165800, '{"scope":"room:discord-5","at":1795165800.0,"changes":[{"id":"5arnhwok","text":"The club meets on Thursdays at seven","at":1795165800.0,"source":"agent:main:discord:group:5","action":"added","replaces":"","by_hand":false}]}', NULL);
INSERT INTO gm_development.failures VALUES ('worker', 'ValueError', 1795165800, 2);
INSERT INTO gm_development.feedback VALUES ('owner', 1, 's2zg6n65', 'useful', 1795165800);
INSERT INTO gm_development.file VALUES (1, 'MEMORY.md', 1, 1, 'a digest');
INSERT INTO gm_development.heard VALUES (0, '5c1b4a88cac74f6b.0', 0);
INSERT INTO gm_development.history VALUES (1, 'owner', 's2zg6n65', 1795165800, 'added', '');
INSERT INTO gm_development.history VALUES (2, 'owner', 'qd5kxord', 1795165800, 'added', '');
INSERT INTO gm_development.history VALUES (3, 'owner', 'akh6ur3q', 1795165800, 'added', '');
INSERT INTO gm_development.history VALUES (4, 'owner', 'zzn6gumc', 1795165800, 'added', '');
INSERT INTO gm_development.history VALUES (5, 'owner', '7riqq7d3', 1795165800, 'added', '');
INSERT INTO gm_development.history VALUES (6, 'owner', '7riqq7d3', 1795165800, 'forgotten', '');
INSERT INTO gm_development.history VALUES (7, 'user:zoe', 'wgqsqm3t', 1795165800, 'added', '');
INSERT INTO gm_development.history VALUES (8, 'user:zoe', 'g6trzzie', 1795165800, 'added', '');
INSERT INTO gm_development.history VALUES (9, 'room:discord-5', '5arnhwok', 1795165800, 'added', '');
INSERT INTO gm_development.history VALUES (10, 'owner', 's6dxxz3b', 1795165800, 'added', '');
INSERT INTO gm_development.hosts VALUES (7, 'a token', '2026-11-20 09:10:00+00');
INSERT INTO gm_development.identity VALUES ('5c1b4a88cac74f6b');
INSERT INTO gm_development.large VALUES (1, 0, 0, 0, 'an encoder', 2, 0, '\x', false, true);
INSERT INTO gm_development.large_block VALUES (1, 3, 3, 15);
INSERT INTO gm_development.large_word VALUES (1, 5, 3, 1, '\x00');
INSERT INTO gm_development.leases VALUES (7, 'a token', '{}');
INSERT INTO gm_development.link_codes VALUES ('user:amy', 'a digest', 1795165800);
INSERT INTO gm_development.link_items VALUES ('user:amy', 'memory', 's2zg6n65', '{}');
INSERT INTO gm_development.link_tries VALUES ('user:amy', 1795165800);
INSERT INTO gm_development.links VALUES ('user:amy', 'owner', 1795165800);
INSERT INTO gm_development.marks VALUES ('owner', 'a hint', true);
INSERT INTO gm_development.memories VALUES ('owner', '7riqq7d3', 'the cat is called Tigger', 'MEMORY.md', 'W', 'fact', 'high', 0.95, '["Tigger"]', 'agent:main:telegram:direct:7', 1795165800, 'forgotten', '', 1795165800, 5, '', '', '');
INSERT INTO gm_development.memories VALUES ('owner', 'akh6ur3q', '我喜欢用 Python', 'MEMORY.md', 'O', 'preference', 'high', 0.88, '["Python"]', 'agent:main:telegram:direct:7', 1795165560, 'active', '', 1795165800, 3, '', '', '');
INSERT INTO gm_development.memories VALUES ('owner', 'qd5kxord', 'I''m allergic to peanuts', 'MEMORY.md', 'B', 'fact', 'high', 0.92, '[]', 'agent:main:telegram:direct:7', 1795165440, 'active', '', 1795165800, 2, '', '', '');
INSERT INTO gm_development.memories VALUES ('owner', 's2zg6n65', 'the staging port is 8443', 'MEMORY.md', 'W', 'fact', 'high', 0.95, '[]', 'agent:main:telegram:direct:7', 1795165320, 'active', '', 1795165800, 1, '', '', '');
INSERT INTO gm_development.memories VALUES ('owner', 's6dxxz3b', 'Half of the migration is done', 'memory/2026-11-20.md', 'S', '', 'normal', 1, '[]', 'agent:main:laptop:direct:7', 1795165800, 'active', '', 1795165800, 0, '', '', '');
INSERT INTO gm_development.memories VALUES ('owner', 'zzn6gumc', '我们决定订单系统用 PostgreSQL，不用 MongoDB', 'MEMORY.md', 'W', 'decision', 'high', 0.88, '["PostgreSQL", "MongoDB"]', 'agent:main:telegram:direct:7', 1795165680, 'active', '', 1795165800, 4, '', '', '');
INSERT INTO gm_development.memories VALUES ('room:discord-5', '5arnhwok', 'The club meets on Thursdays at seven', 'memory/2026-11-20.md', 'W', 'fact', 'normal', 0.9, '[]', 'agent:main:discord:group:5', 1795165800, 'active', '', 1795165800, 0, '', '', '');
INSERT INTO gm_development.memories VALUES ('user:zoe', 'g6trzzie', 'I live in Oslo', 'MEMORY.md', 'B', 'fact', 'high', 0.9, '["Oslo"]', 'agent:main:discord:direct:zoe', 1795165800, 'active', '', 1795165800, 6, '', '', '');
INSERT INTO gm_development.memories VALUES ('user:zoe', 'wgqsqm3t', 'My name is Zoe', 'MEMORY.md', 'B', 'fact', 'high', 0.92, '["Zoe"]', 'agent:main:discord:direct:zoe', 1795165800, 'active', '', 1795165800, 6, '', '', '');
INSERT INTO gm_development.meta VALUES ('a key', 'a value');
INSERT INTO gm_development.migrations VALUES ('0001_journal', false, '2026-11-20 09:10:00+00');
INSERT INTO gm_development.migrations VALUES ('0002_index', false, '2026-11-20 09:10:00+00');
INSERT INTO gm_development.migrations VALUES ('0003_walls', false, '2026-11-20 09:10:00+00');
INSERT INTO gm_development.migrations VALUES ('0004_partitions', false, '2026-11-20 09:10:00+00');
INSERT INTO gm_development.migrations VALUES ('0005_large', false, '2026-11-20 09:10:00+00');
INSERT INTO gm_development.migrations VALUES ('0006_health', false, '2026-11-20 09:10:00+00');
INSERT INTO gm_development.migrations VALUES ('0007_unread', false, '2026-11-20 09:10:00+00');
INSERT INTO gm_development.migrations VALUES ('0008_telling', false, '2026-11-20 09:10:00+00');
INSERT INTO gm_development.migrations VALUES ('0009_outdated', false, '2026-11-20 09:10:00+00');
INSERT INTO gm_development.migrations VALUES ('0010_counted', false, '2026-11-20 09:10:00+00');
INSERT INTO gm_development.migrations VALUES ('0011_operators', false, '2026-11-20 09:10:00+00');
INSERT INTO gm_development.migrations VALUES ('0012_encoders', false, '2026-11-20 09:10:00+00');
INSERT INTO gm_development.noticed VALUES ('owner', 's2zg6n65', 'a digest');
INSERT INTO gm_development.observations VALUES (1, 'owner', '343e953213dce58c', 1795165320, 'user', '', 'Remember that the staging port is 8443.', false, '');
INSERT INTO gm_development.observations VALUES (2, 'owner', '343e953213dce58c', 1795165320, 'assistant', '', 'OK', false, '');
INSERT INTO gm_development.observations VALUES (3, 'owner', '343e953213dce58c', 1795165440, 'user', '', 'I''m allergic to peanuts.', false, '');
INSERT INTO gm_development.observations VALUES (4, 'owner', '343e953213dce58c', 1795165440, 'assistant', '', 'Noted', false, '');
INSERT INTO gm_development.observations VALUES (5, 'owner', '343e953213dce58c', 1795165560, 'user', '', '我喜欢用 Python', false, '');
INSERT INTO gm_development.observations VALUES (6, 'owner', '343e953213dce58c', 1795165560, 'assistant', '', '好的', false, '');
INSERT INTO gm_development.observations VALUES (7, 'owner', '343e953213dce58c', 1795165680, 'user', '', '我们决定订单系统用 PostgreSQL，不用 MongoDB', false, '');
INSERT INTO gm_development.observations VALUES (8, 'owner', '343e953213dce58c', 1795165680, 'assistant', '', '好', false, '');
INSERT INTO gm_development.observations VALUES (9, 'owner', '343e953213dce58c', 1795165800, 'user', '', 'Remember that the cat is called Tigger.', false, '');
INSERT INTO gm_development.observations VALUES (10, 'owner', '343e953213dce58c', 1795165800, 'assistant', '', 'OK', false, '');
INSERT INTO gm_development.observations VALUES (11, 'owner', '343e953213dce58c', 1795165800, 'tool', 'bash', 'deployed build 42 to staging', false, '');
INSERT INTO gm_development.observations VALUES (12, 'user:zoe', '0b8cf77ac8b9b89a', 1795165800, 'user', '', 'My name is Zoe and I live in Oslo.', false, '');
INSERT INTO gm_development.observations VALUES (13, 'user:zoe', '0b8cf77ac8b9b89a', 1795165800, 'assistant', '', 'Hello', false, '');
INSERT INTO gm_development.plans VALUES (1, -1, '{"scope": "owner", "folder": "", "stage": "command", "at": 1795165800.0, "turns": [], "added": [], "retired": [], "outcomes": [], "moved": [], "failed": false, "imported": false, "restores": [], "reviews": [], "settled": [], "rated": []}');
INSERT INTO gm_development.receipts VALUES (1, 'owner', 'agent:main:telegram:direct:7', 'rules', '[1, 2, 3, 4, 5]', '[[1, "add", "new", "s2zg6n65"], [2, "add", "new", "qd5kxord"], [3, "add", "new", "akh6ur3q"], [4, "add", "new", "zzn6gumc"], [5, "add", "new", "7riqq7d3"]]', 1795165800);
INSERT INTO gm_development.receipts VALUES (2, 'owner', '', 'batch', '[1, 2, 3, 4, 5]', '[[1, "skipped", "rules_only", ""], [2, "skipped", "rules_only", ""], [3, "skipped", "rules_only", ""], [4, "skipped", "rules_only", ""], [5, "skipped", "rules_only", ""]]', 1795165800);
INSERT INTO gm_development.receipts VALUES (3, 'owner', 'agent:main:telegram:direct:7', 'command', '[]', '[[0, "forgotten", "asked", "7riqq7d3"]]', 1795165800);
INSERT INTO gm_development.receipts VALUES (4, 'user:zoe', 'agent:main:discord:direct:zoe', 'rules', '[6]', '[[6, "add", "new", "wgqsqm3t"], [6, "add", "new", "g6trzzie"]]', 1795165800);
INSERT INTO gm_development.receipts VALUES (5, 'user:zoe', '', 'batch', '[6]', '[[6, "skipped", "rules_only", ""]]', 1795165800);
INSERT INTO gm_development.receipts VALUES (6, 'room:discord-5', 'agent:main:discord:group:5', 'save', '[]', '[[0, "add", "new", "5arnhwok"]]', 1795165800);
INSERT INTO gm_development.receipts VALUES (7, 'owner', 'agent:main:laptop:direct:7', 'summary', '[]', '[[0, "add", "summary", "s6dxxz3b"]]', 1795165800);
INSERT INTO gm_development.record_files VALUES ('owner', '\x7b226964223a202273756d2d3039313030303030302d39303333222c202273657373696f6e5f6964223a202233343365393533323133646365353863222c2022746f706963223a202252656d656d6265722074686174207468652073746167696e6720706f727420697320383434332e222c202273756d6d617279223a20222d20e794a8e688b7e79baee6a087efbc9a5c6e20202d2052656d656d6265722074686174207468652073746167696e6720706f727420697320383434332e5c6e20202d2049276d20616c6c657267696320746f207065616e7574732e5c6e20202d20e68891e5969ce6aca2e794a820507974686f6e5c6e20202d20e68891e4bbace586b3e5ae9ae8aea2e58d95e7b3bbe7bb9fe794a820506f737467726553514cefbc8ce4b88de794a8204d6f6e676f44425c6e2d20e5b7b2e5ae8ce68890efbc9a5c6e20202d20e68891e4bbace586b3e5ae9ae8aea2e58d95e7b3bbe7bb9fe794a820506f737467726553514cefbc8ce4b88de794a8204d6f6e676f44425c6e20202d207468652073746167696e6720706f727420697320383434335c6e20202d2049276d20616c6c657267696320746f207065616e7574735c6e20202d20e68891e5969ce6aca2e794a820507974686f6e5c6e20202d204f4b5c6e20202d20626173683a206465706c6f796564206275696c6420343220746f2073746167696e67222c202274696d657374616d70223a2022323032362d31312d32305430393a31303a30305a222c20226465636973696f6e73223a205b22e68891e4bbace586b3e5ae9ae8aea2e58d95e7b3bbe7bb9fe794a820506f737467726553514cefbc8ce4b88de794a8204d6f6e676f4442225d2c2022746f646f73223a205b5d2c20226272696566223a20222d20e794a8e688b7e79baee6a087efbc9a5c6e20202d2052656d656d6265722074686174207468652073746167696e6720706f727420697320383434332e5c6e20202d2049276d20616c6c657267696320746f207065616e7574732e5c6e20202d20e68891e5969ce6aca2e794a820507974686f6e5c6e20202d20e68891e4bbace586b3e5ae9ae8aea2e58d95e7b3bbe7bb9fe794a820506f737467726553514cefbc8ce4b88de794a8204d6f6e676f44425c6e2d20e5b7b2e5ae8ce68890efbc9a5c6e20202d20e68891e4bbace586b3e5ae9ae8aea2e58d95e7b3bbe7bb9fe794a820506f737467726553514cefbc8ce4b88de794a8204d6f6e676f44425c6e20202d207468652073746167696e6720706f727420697320383434335c6e20202d2049276d20616c6c657267696320746f207065616e7574735c6e20202d20e68891e5969ce6aca2e794a820507974686f6e5c6e20202d204f4b5c6e20202d20626173683a206465706c6f796564206275696c6420343220746f2073746167696e67222c20226175746f5f67656e657261746564223a20747275652c20226c61796572223a2022656e64222c2022726561736f6e223a2022636f6d706c65746564227d0a', '\x');
INSERT INTO gm_development.removed OVERRIDING SYSTEM VALUE VALUES (3, 1, 9, 1);
INSERT INTO gm_development.replies VALUES (1, 'owner', '343e953213dce58c', 1795165320, '[]', '', '', '');
INSERT INTO gm_development.replies VALUES (2, 'owner', '343e953213dce58c', 1795165440, '[]', '', '', '');
INSERT INTO gm_development.replies VALUES (3, 'owner', '343e953213dce58c', 1795165560, '[]', '', '', '');
INSERT INTO gm_development.replies VALUES (4, 'owner', '343e953213dce58c', 1795165680, '[]', '', '', '');
INSERT INTO gm_development.replies VALUES (5, 'owner', '343e953213dce58c', 1795165800, '[]', '', '', '');
INSERT INTO gm_development.replies VALUES (6, 'user:zoe', '0b8cf77ac8b9b89a', 1795165800, '[]', '', '', '');
INSERT INTO gm_development.replies VALUES (7, 'owner', '674df4733ceccbe8', 1795165920, '[]', '', '', '');
INSERT INTO gm_development.requests VALUES ('save_fact', 'agent', 'r1', 'owner', 1795165800, '{}');
INSERT INTO gm_development.reviews OVERRIDING SYSTEM VALUE VALUES ('owner', 'r2v4w6x8', 'rejected', 'low_confidence', 1795165800, 'the shed is green', 2, '', '{}', 1);
INSERT INTO gm_development."row" VALUES (1, 1, 1, 1, 'MEMORY.md', 'passage1', 'the staging port is 8443', 1795165800, 'memory', 'W', 'fact', 1, 0.95, '', '', '', '', '', 1, 0, 0, 5, '\x00', 1);
INSERT INTO gm_development."row" VALUES (2, 1, 1, 1, 'MEMORY.md', 'passage2', 'the staging port is 8443', 1795165800, 'memory', 'W', 'fact', 1, 0.95, '', '', '', '', '', 1, 0, 0, 5, '\x00', 3);
INSERT INTO gm_development."row" VALUES (3, 1, 1, 1, 'MEMORY.md', 'passage3', 'the staging port is 8443', 1795165800, 'memory', 'W', 'fact', 1, 0.95, '', '', '', '', '', 1, 0, 0, 5, '\x00', 0);
INSERT INTO gm_development.saved_sessions VALUES ('owner', '343e953213dce58c', 'end', 1795165800);
INSERT INTO gm_development.scope VALUES (1, 'owner', 3, 0);
INSERT INTO gm_development.session_counts VALUES ('starts', 4);
INSERT INTO gm_development.session_logs VALUES ('owner', 1104, '\x20226175746f5f67656e657261746564223a20747275652c20226c61796572223a2022656e64222c2022726561736f6e223a2022636f6d706c65746564227d0a', 1, 0);
INSERT INTO gm_development.session_memories VALUES ('0b8cf77ac8b9b89a', 'user:zoe', 'g6trzzie', 'B', 1795165800);
INSERT INTO gm_development.session_memories VALUES ('0b8cf77ac8b9b89a', 'user:zoe', 'wgqsqm3t', 'B', 1795165800);
INSERT INTO gm_development.session_memories VALUES ('343e953213dce58c', 'owner', '7riqq7d3', 'W', 1795165800);
INSERT INTO gm_development.session_memories VALUES ('343e953213dce58c', 'owner', 'akh6ur3q', 'O', 1795165560);
INSERT INTO gm_development.session_memories VALUES ('343e953213dce58c', 'owner', 'qd5kxord', 'B', 1795165440);
INSERT INTO gm_development.session_memories VALUES ('343e953213dce58c', 'owner', 's2zg6n65', 'W', 1795165320);
INSERT INTO gm_development.session_memories VALUES ('343e953213dce58c', 'owner', 'zzn6gumc', 'W', 1795165680);
INSERT INTO gm_development.session_memories VALUES ('674df4733ceccbe8', 'owner', 's6dxxz3b', 'S', 1795165800);
INSERT INTO gm_development.session_memories VALUES ('7450f23c4a49c176', 'room:discord-5', '5arnhwok', 'W', 1795165800);
INSERT INTO gm_development.session_totals VALUES ('ended', 44, 1);
INSERT INTO gm_development.session_totals VALUES ('open', 44, 3);
INSERT INTO gm_development.session_totals VALUES ('state.saved', 44, 1);
INSERT INTO gm_development.session_totals VALUES ('layer.end', 44, 1);
INSERT INTO gm_development.sessions VALUES ('0b8cf77ac8b9b89a', 'agent:main:discord:direct:zoe', 'user:zoe', 1795165800, NULL, NULL, 1795165800, -1, '', 0, '', NULL, '', 0);
INSERT INTO gm_development.sessions VALUES ('343e953213dce58c', 'agent:main:telegram:direct:7', 'owner', 1795165200, 1795165800, 'completed', 1795165800, -1, 'saved', 0, '', 600000, '', 0);
INSERT INTO gm_development.sessions VALUES ('674df4733ceccbe8', 'agent:main:laptop:direct:7', 'owner', 1795165800, NULL, NULL, 1795165920, -1, '', 0, '', NULL, '{"observations": false}', 0);
INSERT INTO gm_development.sessions VALUES ('7450f23c4a49c176', 'agent:main:discord:group:5', 'room:discord-5', 1795165800, NULL, NULL, 1795165800, -1, '', 0, '', NULL, '', 0);
INSERT INTO gm_development.sources VALUES ('5c1b4a88cac74f6b.0', 4, 4);
INSERT INTO gm_development.told VALUES ('0b8cf77ac8b9b89a', '5c1b4a88cac74f6b.0', 3);
INSERT INTO gm_development.turns VALUES (7, 'owner', 'agent:main:laptop:direct:7', '674df4733ceccbe8', 'Remember that the printer is on the second floor.', 'OK', 1795165920, 1795165920, 0, -1, true, false, false);
INSERT INTO gm_development.unreadable VALUES (1, 'owner', 'turns', '{');
INSERT INTO gm_development.usage VALUES ('2026-11-20', 3, 400, 50, 0);
INSERT INTO gm_development.uses VALUES ('owner', 's2zg6n65', '2026-11-20', 1, 0);
INSERT INTO gm_development.uses_read VALUES ('owner', 5, 3);
INSERT INTO gm_development.vector VALUES (1, 1, 2, '\x01');
INSERT INTO gm_development.vector VALUES (2, 1, 2, '\x02');
INSERT INTO gm_development.vector_2 VALUES (2, 1, 3, '\x03');
INSERT INTO gm_development.withheld_records VALUES ('owner', '{"auto_generated": true, "brief": "- \u7528\u6237\u76ee\u6807\uff1a\n  - Remember that the staging port is 8443.\n  - I''m allergic to peanuts.\n  - \u6211\u559c\u6b22\u7528 Python\n  - \u6211\u4eec\u51b3\u5b9a\u8ba2\u5355\u7cfb\u7edf\u7528 PostgreSQL\uff0c\u4e0d\u7528 MongoDB\n- \u5df2\u5b8c\u6210\uff1a\n  - \u6211\u4eec\u51b3\u5b9a\u8ba2\u5355\u7cfb\u7edf\u7528 PostgreSQL\uff0c\u4e0d\u7528 MongoDB\n  - the staging port is 8443\n  - I''m allergic to peanuts\n  - \u6211\u559c\u6b22\u7528 Python\n  - OK\n  - bash: deployed build 42 to staging", "decisions": ["\u6211\u4eec\u51b3\u5b9a\u8ba2\u5355\u7cfb\u7edf\u7528 PostgreSQL\uff0c\u4e0d\u7528 MongoDB"], "id": "sum-091000000-9033", "layer": "end", "reason": "completed", "session_id": "343e953213dce58c", "summary": "- \u7528\u6237\u76ee\u6807\uff1a\n  - Remember that the staging port is 8443.\n  - I''m allergic to peanuts.\n  - \u6211\u559c\u6b22\u7528 Python\n  - \u6211\u4eec\u51b3\u5b9a\u8ba2\u5355\u7cfb\u7edf\u7528 PostgreSQL\uff0c\u4e0d\u7528 MongoDB\n- \u5df2\u5b8c\u6210\uff1a\n  - \u6211\u4eec\u51b3\u5b9a\u8ba2\u5355\u7cfb\u7edf\u7528 PostgreSQL\uff0c\u4e0d\u7528 MongoDB\n  - the staging port is 8443\n  - I''m allergic to peanuts\n  - \u6211\u559c\u6b22\u7528 Python\n  - OK\n  - bash: deployed build 42 to staging", "timestamp": "2026-11-20T09:10:00Z", "todos": [], "topic": "Remember that the staging port is 8443."}', '{"id": "sum-091000000-9033", "session_id": "343e953213dce58c", "topic": "Remember that the staging port is 8443.", "summary": "- \u7528\u6237\u76ee\u6807\uff1a\n  - Remember that the staging port is 8443.\n  - I''m allergic to peanuts.\n  - \u6211\u559c\u6b22\u7528 Python\n  - \u6211\u4eec\u51b3\u5b9a\u8ba2\u5355\u7cfb\u7edf\u7528 PostgreSQL\uff0c\u4e0d\u7528 MongoDB\n- \u5df2\u5b8c\u6210\uff1a\n  - \u6211\u4eec\u51b3\u5b9a\u8ba2\u5355\u7cfb\u7edf\u7528 PostgreSQL\uff0c\u4e0d\u7528 MongoDB\n  - the staging port is 8443\n  - I''m allergic to peanuts\n  - \u6211\u559c\u6b22\u7528 Python\n  - OK\n  - bash: deployed build 42 to staging", "timestamp": "2026-11-20T09:10:00Z", "decisions": ["\u6211\u4eec\u51b3\u5b9a\u8ba2\u5355\u7cfb\u7edf\u7528 PostgreSQL\uff0c\u4e0d\u7528 MongoDB"], "todos": [], "brief": "- \u7528\u6237\u76ee\u6807\uff1a\n  - Remember that the staging port is 8443.\n  - I''m allergic to peanuts.\n  - \u6211\u559c\u6b22\u7528 Python\n  - \u6211\u4eec\u51b3\u5b9a\u8ba2\u5355\u7cfb\u7edf\u7528 PostgreSQL\uff0c\u4e0d\u7528 MongoDB\n- \u5df2\u5b8c\u6210\uff1a\n  - \u6211\u4eec\u51b3\u5b9a\u8ba2\u5355\u7cfb\u7edf\u7528 PostgreSQL\uff0c\u4e0d\u7528 MongoDB\n  - the staging port is 8443\n  - I''m allergic to peanuts\n  - \u6211\u559c\u6b22\u7528 Python\n  - OK\n  - bash: deployed build 42 to staging", "auto_generated": true, "layer": "end", "reason": "completed"}');
SELECT pg_catalog.setval('gm_development.events_id_seq', 4, true);
SELECT pg_catalog.setval('gm_development.history_id_seq', 10, true);
SELECT pg_catalog.setval('gm_development.observations_id_seq', 13, true);
SELECT pg_catalog.setval('gm_development.plans_id_seq', 5, true);
SELECT pg_catalog.setval('gm_development.receipts_id_seq', 7, true);
SELECT pg_catalog.setval('gm_development.removed_rowid_seq', 1, true);
SELECT pg_catalog.setval('gm_development.reviews_rowid_seq', 1, true);
SELECT pg_catalog.setval('gm_development.row_sequence_seq', 3, true);
SELECT pg_catalog.setval('gm_development.scope_number_seq', 1, true);
SELECT pg_catalog.setval('gm_development.turns_id_seq', 7, true);
SELECT pg_catalog.setval('gm_development.unreadable_id_seq', 1, true);
ALTER TABLE ONLY gm_development.changes
    ADD CONSTRAINT changes_pkey PRIMARY KEY (receipt);
ALTER TABLE ONLY gm_development.documents
    ADD CONSTRAINT documents_pkey PRIMARY KEY (folder, name);
ALTER TABLE ONLY gm_development.episode_pages
    ADD CONSTRAINT episode_pages_pkey PRIMARY KEY (scope, page);
ALTER TABLE ONLY gm_development.episodes
    ADD CONSTRAINT episodes_pkey PRIMARY KEY (turn);
ALTER TABLE ONLY gm_development.episodes_0
    ADD CONSTRAINT episodes_0_pkey PRIMARY KEY (turn);
ALTER TABLE ONLY gm_development.episodes_1
    ADD CONSTRAINT episodes_1_pkey PRIMARY KEY (turn);
ALTER TABLE ONLY gm_development.episodes_rest
    ADD CONSTRAINT episodes_rest_pkey PRIMARY KEY (turn);
ALTER TABLE ONLY gm_development.events
    ADD CONSTRAINT events_origin_number_key UNIQUE (origin, number);
ALTER TABLE ONLY gm_development.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (id);
ALTER TABLE ONLY gm_development.failures
    ADD CONSTRAINT failures_pkey PRIMARY KEY (place, error);
ALTER TABLE ONLY gm_development.feedback
    ADD CONSTRAINT feedback_pkey PRIMARY KEY (scope, turn, memory);
ALTER TABLE ONLY gm_development.file
    ADD CONSTRAINT file_pkey PRIMARY KEY (scope, name);
ALTER TABLE ONLY gm_development.heard
    ADD CONSTRAINT heard_pkey PRIMARY KEY (slot, origin);
ALTER TABLE ONLY gm_development.history
    ADD CONSTRAINT history_pkey PRIMARY KEY (id);
ALTER TABLE ONLY gm_development.hosts
    ADD CONSTRAINT hosts_pkey PRIMARY KEY (slot);
ALTER TABLE ONLY gm_development.large_block
    ADD CONSTRAINT large_block_pkey PRIMARY KEY (scope, block);
ALTER TABLE ONLY gm_development.large
    ADD CONSTRAINT large_pkey PRIMARY KEY (scope);
ALTER TABLE ONLY gm_development.large_word
    ADD CONSTRAINT large_word_pkey PRIMARY KEY (scope, term, block);
ALTER TABLE ONLY gm_development.leases
    ADD CONSTRAINT leases_pkey PRIMARY KEY (slot);
ALTER TABLE ONLY gm_development.link_codes
    ADD CONSTRAINT link_codes_pkey PRIMARY KEY (scope);
ALTER TABLE ONLY gm_development.link_items
    ADD CONSTRAINT link_items_pkey PRIMARY KEY (scope, kind, item);
ALTER TABLE ONLY gm_development.links
    ADD CONSTRAINT links_pkey PRIMARY KEY (scope);
ALTER TABLE ONLY gm_development.locks
    ADD CONSTRAINT locks_pkey PRIMARY KEY (folder);
ALTER TABLE ONLY gm_development.marks
    ADD CONSTRAINT marks_pkey PRIMARY KEY (scope, name);
ALTER TABLE ONLY gm_development.memories
    ADD CONSTRAINT memories_pkey PRIMARY KEY (scope, id);
ALTER TABLE ONLY gm_development.meta
    ADD CONSTRAINT meta_pkey PRIMARY KEY (key);
ALTER TABLE ONLY gm_development.migrations
    ADD CONSTRAINT migrations_pkey PRIMARY KEY (name);
ALTER TABLE ONLY gm_development.noticed
    ADD CONSTRAINT noticed_pkey PRIMARY KEY (scope, id);
ALTER TABLE ONLY gm_development.observations
    ADD CONSTRAINT observations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY gm_development.plans
    ADD CONSTRAINT plans_pkey PRIMARY KEY (id);
ALTER TABLE ONLY gm_development.receipts
    ADD CONSTRAINT receipts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY gm_development.record_files
    ADD CONSTRAINT record_files_pkey PRIMARY KEY (scope);
ALTER TABLE ONLY gm_development.removed
    ADD CONSTRAINT removed_pkey PRIMARY KEY (rowid);
ALTER TABLE ONLY gm_development.replies
    ADD CONSTRAINT replies_pkey PRIMARY KEY (turn);
ALTER TABLE ONLY gm_development.requests
    ADD CONSTRAINT requests_pkey PRIMARY KEY (call, caller, id);
ALTER TABLE ONLY gm_development.reviews
    ADD CONSTRAINT reviews_pkey PRIMARY KEY (scope, id);
ALTER TABLE ONLY gm_development."row"
    ADD CONSTRAINT row_pkey PRIMARY KEY (sequence);
ALTER TABLE ONLY gm_development."row"
    ADD CONSTRAINT row_scope_id_key UNIQUE (scope, id);
ALTER TABLE ONLY gm_development.saved_sessions
    ADD CONSTRAINT saved_sessions_pkey PRIMARY KEY (scope, session_id);
ALTER TABLE ONLY gm_development.scope
    ADD CONSTRAINT scope_key_key UNIQUE (key);
ALTER TABLE ONLY gm_development.scope
    ADD CONSTRAINT scope_pkey PRIMARY KEY (number);
ALTER TABLE ONLY gm_development.session_counts
    ADD CONSTRAINT session_counts_pkey PRIMARY KEY (name);
ALTER TABLE ONLY gm_development.session_logs
    ADD CONSTRAINT session_logs_pkey PRIMARY KEY (scope);
ALTER TABLE ONLY gm_development.session_memories
    ADD CONSTRAINT session_memories_pkey PRIMARY KEY (session_id, scope, memory);
ALTER TABLE ONLY gm_development.session_totals
    ADD CONSTRAINT session_totals_pkey PRIMARY KEY (name, shard);
ALTER TABLE ONLY gm_development.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (session_id);
ALTER TABLE ONLY gm_development.sources
    ADD CONSTRAINT sources_pkey PRIMARY KEY (origin);
ALTER TABLE ONLY gm_development.told
    ADD CONSTRAINT told_pkey PRIMARY KEY (session_id, origin);
ALTER TABLE ONLY gm_development.turns
    ADD CONSTRAINT turns_pkey PRIMARY KEY (id);
ALTER TABLE ONLY gm_development.unreadable
    ADD CONSTRAINT unreadable_pkey PRIMARY KEY (id);
ALTER TABLE ONLY gm_development.usage
    ADD CONSTRAINT usage_pkey PRIMARY KEY (day);
ALTER TABLE ONLY gm_development.uses
    ADD CONSTRAINT uses_pkey PRIMARY KEY (scope, memory, day);
ALTER TABLE ONLY gm_development.uses_read
    ADD CONSTRAINT uses_read_pkey PRIMARY KEY (scope);
ALTER TABLE ONLY gm_development.vector_2
    ADD CONSTRAINT vector_2_pkey PRIMARY KEY (sequence);
ALTER TABLE ONLY gm_development.vector
    ADD CONSTRAINT vector_pkey PRIMARY KEY (sequence);
CREATE INDEX changes_by_scope ON gm_development.changes USING btree (scope, receipt);
CREATE INDEX episode_pages_behind ON gm_development.episode_pages USING btree (scope, page) WHERE behind;
CREATE INDEX episodes_by_age ON ONLY gm_development.episodes USING brin (at);
CREATE INDEX episodes_0_at_idx ON gm_development.episodes_0 USING brin (at);
CREATE INDEX episodes_by_scope ON ONLY gm_development.episodes USING btree (scope, turn);
CREATE INDEX episodes_0_by_scope ON gm_development.episodes_0 USING btree (scope, turn);
CREATE INDEX episodes_by_session ON ONLY gm_development.episodes USING btree (scope, session_id, turn);
CREATE INDEX episodes_0_by_session ON gm_development.episodes_0 USING btree (scope, session_id, turn);
CREATE INDEX episodes_by_time ON ONLY gm_development.episodes USING btree (scope, at);
CREATE INDEX episodes_0_by_time ON gm_development.episodes_0 USING btree (scope, at);
CREATE INDEX episodes_unread ON ONLY gm_development.episodes USING btree (scope, at, turn) WHERE (unread = ANY (ARRAY['rules'::text, 'model'::text]));
CREATE INDEX episodes_0_scope_at_turn_idx ON gm_development.episodes_0 USING btree (scope, at, turn) WHERE (unread = ANY (ARRAY['rules'::text, 'model'::text]));
CREATE INDEX episodes_1_at_idx ON gm_development.episodes_1 USING brin (at);
CREATE INDEX episodes_1_scope_at_idx ON gm_development.episodes_1 USING btree (scope, at);
CREATE INDEX episodes_1_scope_at_turn_idx ON gm_development.episodes_1 USING btree (scope, at, turn) WHERE (unread = ANY (ARRAY['rules'::text, 'model'::text]));
CREATE INDEX episodes_1_scope_session_id_turn_idx ON gm_development.episodes_1 USING btree (scope, session_id, turn);
CREATE INDEX episodes_1_scope_turn_idx ON gm_development.episodes_1 USING btree (scope, turn);
CREATE INDEX episodes_rest_at_idx ON gm_development.episodes_rest USING brin (at);
CREATE INDEX episodes_rest_scope_at_idx ON gm_development.episodes_rest USING btree (scope, at);
CREATE INDEX episodes_rest_scope_at_turn_idx ON gm_development.episodes_rest USING btree (scope, at, turn) WHERE (unread = ANY (ARRAY['rules'::text, 'model'::text]));
CREATE INDEX episodes_rest_scope_session_id_turn_idx ON gm_development.episodes_rest USING btree (scope, session_id, turn);
CREATE INDEX episodes_rest_scope_turn_idx ON gm_development.episodes_rest USING btree (scope, turn);
CREATE INDEX events_by_plan ON gm_development.events USING btree (plan) WHERE (plan IS NOT NULL);
CREATE INDEX events_by_scope ON gm_development.events USING btree (scope, id);
CREATE INDEX history_by_memory ON gm_development.history USING btree (scope, memory, id);
CREATE INDEX large_word_of_block ON gm_development.large_word USING btree (scope, block);
CREATE INDEX link_tries_by_scope ON gm_development.link_tries USING btree (scope, at);
CREATE INDEX links_by_target ON gm_development.links USING btree (target);
CREATE INDEX marks_untold ON gm_development.marks USING btree (scope, name) WHERE (NOT told);
CREATE INDEX memories_by_expiry ON gm_development.memories USING btree (scope, expires) WHERE ((expires <> ''::text) AND (state = 'active'::text));
CREATE INDEX memories_by_turn ON gm_development.memories USING btree (scope, turn) WHERE (turn > 0);
CREATE INDEX memories_gone ON gm_development.memories USING btree (scope, state) WHERE (state <> 'active'::text);
CREATE INDEX memories_important ON gm_development.memories USING btree (scope) WHERE ((state = 'active'::text) AND (importance = 'high'::text) AND (file <> 'MEMORY.md'::text));
CREATE INDEX memories_outdating ON gm_development.memories USING btree (scope) WHERE (outdates <> ''::text);
CREATE INDEX observations_by_age ON gm_development.observations USING btree (at);
CREATE INDEX observations_by_scope ON gm_development.observations USING btree (scope, id);
CREATE INDEX observations_by_session ON gm_development.observations USING btree (session_id, id);
CREATE INDEX plans_by_slot ON gm_development.plans USING btree (slot, id);
CREATE INDEX receipts_by_scope ON gm_development.receipts USING btree (scope, id);
CREATE INDEX removed_revision ON gm_development.removed USING btree (scope, revision);
CREATE INDEX replies_by_scope ON gm_development.replies USING btree (scope, turn);
CREATE INDEX replies_by_session ON gm_development.replies USING btree (session_id, turn);
CREATE UNIQUE INDEX replies_by_turn_id ON gm_development.replies USING btree (scope, session_key, turn_id) WHERE (turn_id <> ''::text);
CREATE INDEX requests_by_scope ON gm_development.requests USING btree (scope);
CREATE INDEX requests_by_time ON gm_development.requests USING btree (at);
CREATE INDEX reviews_by_state ON gm_development.reviews USING btree (state, scope, at);
CREATE INDEX reviews_by_turn ON gm_development.reviews USING btree (scope, turn);
CREATE INDEX row_embedded ON gm_development."row" USING btree (embedded, sequence) WHERE (embedded > 0);
CREATE INDEX row_of_file ON gm_development."row" USING btree (scope, file);
CREATE INDEX row_of_scope ON gm_development."row" USING btree (scope, sequence);
CREATE INDEX row_of_time ON gm_development."row" USING btree (scope, at);
CREATE INDEX row_pending ON gm_development."row" USING btree (sequence) WHERE (embedded = 0);
CREATE INDEX row_revision ON gm_development."row" USING btree (scope, revision);
CREATE INDEX row_telling ON gm_development."row" USING btree (scope, importance) WHERE ((kind = 'episode'::text) AND (importance > (0.5)::double precision));
CREATE INDEX session_memories_by_memory ON gm_development.session_memories USING btree (scope, memory);
CREATE INDEX session_stages ON gm_development.session_memories USING btree (session_id) WHERE (type = 'S'::text);
CREATE INDEX sessions_by_key ON gm_development.sessions USING btree (key, scope, ended_at);
CREATE INDEX sessions_by_scope ON gm_development.sessions USING btree (scope);
CREATE UNIQUE INDEX sessions_open ON gm_development.sessions USING btree (key, scope) WHERE (ended_at IS NULL);
CREATE INDEX sessions_running ON gm_development.sessions USING btree (seen_at) WHERE (ended_at IS NULL);
CREATE INDEX sessions_unsaved ON gm_development.sessions USING btree (ended_at) WHERE (state = 'unsaved'::text);
CREATE INDEX turns_by_scope ON gm_development.turns USING btree (scope);
CREATE INDEX turns_by_session ON gm_development.turns USING btree (session_id, id);
CREATE INDEX turns_by_slot ON gm_development.turns USING btree (slot, stage, id);
CREATE INDEX unreadable_by_scope ON gm_development.unreadable USING btree (scope);
CREATE INDEX vector_2_revision ON gm_development.vector_2 USING btree (scope, revision);
CREATE INDEX vector_revision ON gm_development.vector USING btree (scope, revision);
CREATE INDEX withheld_records_by_scope ON gm_development.withheld_records USING btree (scope);
ALTER INDEX gm_development.episodes_by_age ATTACH PARTITION gm_development.episodes_0_at_idx;
ALTER INDEX gm_development.episodes_by_scope ATTACH PARTITION gm_development.episodes_0_by_scope;
ALTER INDEX gm_development.episodes_by_session ATTACH PARTITION gm_development.episodes_0_by_session;
ALTER INDEX gm_development.episodes_by_time ATTACH PARTITION gm_development.episodes_0_by_time;
ALTER INDEX gm_development.episodes_pkey ATTACH PARTITION gm_development.episodes_0_pkey;
ALTER INDEX gm_development.episodes_unread ATTACH PARTITION gm_development.episodes_0_scope_at_turn_idx;
ALTER INDEX gm_development.episodes_by_age ATTACH PARTITION gm_development.episodes_1_at_idx;
ALTER INDEX gm_development.episodes_pkey ATTACH PARTITION gm_development.episodes_1_pkey;
ALTER INDEX gm_development.episodes_by_time ATTACH PARTITION gm_development.episodes_1_scope_at_idx;
ALTER INDEX gm_development.episodes_unread ATTACH PARTITION gm_development.episodes_1_scope_at_turn_idx;
ALTER INDEX gm_development.episodes_by_session ATTACH PARTITION gm_development.episodes_1_scope_session_id_turn_idx;
ALTER INDEX gm_development.episodes_by_scope ATTACH PARTITION gm_development.episodes_1_scope_turn_idx;
ALTER INDEX gm_development.episodes_by_age ATTACH PARTITION gm_development.episodes_rest_at_idx;
ALTER INDEX gm_development.episodes_pkey ATTACH PARTITION gm_development.episodes_rest_pkey;
ALTER INDEX gm_development.episodes_by_time ATTACH PARTITION gm_development.episodes_rest_scope_at_idx;
ALTER INDEX gm_development.episodes_unread ATTACH PARTITION gm_development.episodes_rest_scope_at_turn_idx;
ALTER INDEX gm_development.episodes_by_session ATTACH PARTITION gm_development.episodes_rest_scope_session_id_turn_idx;
ALTER INDEX gm_development.episodes_by_scope ATTACH PARTITION gm_development.episodes_rest_scope_turn_idx;
CREATE TRIGGER counted AFTER UPDATE ON gm_development.saved_sessions FOR EACH ROW WHEN ((old.layer <> new.layer)) EXECUTE FUNCTION gm_development.count_changed_saved();
CREATE TRIGGER counted AFTER UPDATE ON gm_development.sessions FOR EACH ROW WHEN ((((((old.ended_at IS NULL) IS DISTINCT FROM (new.ended_at IS NULL)) OR (old.state IS DISTINCT FROM new.state)) OR (old.error IS DISTINCT FROM new.error)) OR (old.followups IS DISTINCT FROM new.followups))) EXECUTE FUNCTION gm_development.count_changed_session();
CREATE TRIGGER counted_gone AFTER DELETE ON gm_development.saved_sessions REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION gm_development.count_saved('-1');
CREATE TRIGGER counted_gone AFTER DELETE ON gm_development.sessions REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION gm_development.count_sessions('-1');
CREATE TRIGGER counted_new AFTER INSERT ON gm_development.saved_sessions REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION gm_development.count_saved('1');
CREATE TRIGGER counted_new AFTER INSERT ON gm_development.sessions REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION gm_development.count_sessions('1');
CREATE TRIGGER forgotten AFTER DELETE ON gm_development.large FOR EACH ROW EXECUTE FUNCTION gm_development.forget_large();
ALTER TABLE ONLY gm_development.file
    ADD CONSTRAINT file_of_scope FOREIGN KEY (scope) REFERENCES gm_development.scope(number) ON DELETE CASCADE;
ALTER TABLE ONLY gm_development.large
    ADD CONSTRAINT large_scope_fkey FOREIGN KEY (scope) REFERENCES gm_development.scope(number) ON DELETE CASCADE;
ALTER TABLE ONLY gm_development.vector_2
    ADD CONSTRAINT vector_2_sequence_fkey FOREIGN KEY (sequence) REFERENCES gm_development."row"(sequence) ON DELETE CASCADE;
ALTER TABLE gm_development.changes ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.documents ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.episode_pages ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.episodes ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.episodes_0 ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.episodes_1 ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.episodes_rest ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.events ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.feedback ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.file ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.history ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.large ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.large_block ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.large_word ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.link_codes ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.link_items ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.link_tries ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.links ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.marks ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.memories ENABLE ROW LEVEL SECURITY;
CREATE POLICY named ON gm_development.changes USING ((('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])) OR (scope = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[]))));
CREATE POLICY named ON gm_development.documents USING ((('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])) OR (('folder '::text || folder) = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[]))));
CREATE POLICY named ON gm_development.episode_pages USING ((('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])) OR (scope = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[]))));
CREATE POLICY named ON gm_development.episodes USING ((('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])) OR (scope = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[]))));
CREATE POLICY named ON gm_development.events USING ((('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])) OR (scope = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[]))));
CREATE POLICY named ON gm_development.feedback USING ((('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])) OR (scope = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[]))));
CREATE POLICY named ON gm_development.file USING ((('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])) OR (scope IN ( SELECT scope.number
   FROM gm_development.scope
  WHERE (scope.key = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[]))))));
CREATE POLICY named ON gm_development.history USING ((('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])) OR (scope = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[]))));
CREATE POLICY named ON gm_development.large USING ((('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])) OR (scope IN ( SELECT scope.number
   FROM gm_development.scope
  WHERE (scope.key = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[]))))));
CREATE POLICY named ON gm_development.large_block USING ((('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])) OR (scope IN ( SELECT scope.number
   FROM gm_development.scope
  WHERE (scope.key = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[]))))));
CREATE POLICY named ON gm_development.large_word USING ((('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])) OR (scope IN ( SELECT scope.number
   FROM gm_development.scope
  WHERE (scope.key = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[]))))));
CREATE POLICY named ON gm_development.link_codes USING ((('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])) OR (scope = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[]))));
CREATE POLICY named ON gm_development.link_items USING ((('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])) OR (scope = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[]))));
CREATE POLICY named ON gm_development.link_tries USING ((('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])) OR (scope = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[]))));
CREATE POLICY named ON gm_development.links USING ((('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])) OR (scope = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[]))));
CREATE POLICY named ON gm_development.marks USING ((('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])) OR (scope = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[]))));
CREATE POLICY named ON gm_development.memories USING ((('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])) OR (scope = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[]))));
CREATE POLICY named ON gm_development.noticed USING ((('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])) OR (scope = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[]))));
CREATE POLICY named ON gm_development.observations USING ((('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])) OR (scope = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[]))));
CREATE POLICY named ON gm_development.plans USING (('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])));
CREATE POLICY named ON gm_development.receipts USING ((('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])) OR (scope = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[]))));
CREATE POLICY named ON gm_development.record_files USING ((('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])) OR (scope = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[]))));
CREATE POLICY named ON gm_development.removed USING ((('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])) OR (scope IN ( SELECT scope.number
   FROM gm_development.scope
  WHERE (scope.key = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[]))))));
CREATE POLICY named ON gm_development.replies USING ((('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])) OR (scope = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[]))));
CREATE POLICY named ON gm_development.requests USING ((('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])) OR (scope = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[]))));
CREATE POLICY named ON gm_development.reviews USING ((('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])) OR (scope = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[]))));
CREATE POLICY named ON gm_development."row" USING ((('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])) OR (scope IN ( SELECT scope.number
   FROM gm_development.scope
  WHERE (scope.key = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[]))))));
CREATE POLICY named ON gm_development.saved_sessions USING ((('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])) OR (scope = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[]))));
CREATE POLICY named ON gm_development.session_logs USING ((('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])) OR (scope = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[]))));
CREATE POLICY named ON gm_development.session_memories USING ((('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])) OR (scope = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[]))));
CREATE POLICY named ON gm_development.turns USING ((('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])) OR (scope = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[]))));
CREATE POLICY named ON gm_development.unreadable USING ((('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])) OR (scope = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[]))));
CREATE POLICY named ON gm_development.uses USING ((('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])) OR (scope = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[]))));
CREATE POLICY named ON gm_development.uses_read USING ((('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])) OR (scope = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[]))));
CREATE POLICY named ON gm_development.vector USING ((('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])) OR (scope IN ( SELECT scope.number
   FROM gm_development.scope
  WHERE (scope.key = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[]))))));
CREATE POLICY named ON gm_development.vector_2 USING ((('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])) OR (scope IN ( SELECT scope.number
   FROM gm_development.scope
  WHERE (scope.key = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[]))))));
CREATE POLICY named ON gm_development.withheld_records USING ((('*'::text = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[])) OR (scope = ANY (( SELECT gm_development.named_scopes() AS named_scopes)::text[]))));
ALTER TABLE gm_development.noticed ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.observations ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.plans ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.receipts ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.record_files ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.removed ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.replies ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.requests ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.reviews ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development."row" ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.saved_sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.session_logs ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.session_memories ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.turns ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.unreadable ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.uses ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.uses_read ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.vector ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.vector_2 ENABLE ROW LEVEL SECURITY;
ALTER TABLE gm_development.withheld_records ENABLE ROW LEVEL SECURITY;
GRANT USAGE ON SCHEMA gm_development TO gateway_memory_app;
REVOKE ALL ON FUNCTION gm_development.add_episode_partitions(upto bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION gm_development.add_episode_partitions(upto bigint) TO gateway_memory_app;
REVOKE ALL ON FUNCTION gm_development.add_large_vectors(number bigint, dimension integer) FROM PUBLIC;
GRANT ALL ON FUNCTION gm_development.add_large_vectors(number bigint, dimension integer) TO gateway_memory_app;
GRANT ALL ON FUNCTION gm_development.add_session_totals(names text[], numbers bigint[]) TO gateway_memory_app;
REVOKE ALL ON FUNCTION gm_development.add_vector_graph(number bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION gm_development.add_vector_graph(number bigint) TO gateway_memory_app;
GRANT ALL ON FUNCTION gm_development.count_changed_saved() TO gateway_memory_app;
GRANT ALL ON FUNCTION gm_development.count_changed_session() TO gateway_memory_app;
GRANT ALL ON FUNCTION gm_development.count_saved() TO gateway_memory_app;
GRANT ALL ON FUNCTION gm_development.count_sessions() TO gateway_memory_app;
REVOKE ALL ON FUNCTION gm_development.expire_episodes(before double precision, page_turns integer) FROM PUBLIC;
GRANT ALL ON FUNCTION gm_development.expire_episodes(before double precision, page_turns integer) TO gateway_memory_app;
REVOKE ALL ON FUNCTION gm_development.forget_large() FROM PUBLIC;
GRANT ALL ON FUNCTION gm_development.forget_large() TO gateway_memory_app;
GRANT ALL ON FUNCTION gm_development.instr(text, text) TO gateway_memory_app;
GRANT ALL ON FUNCTION gm_development.json_extract(text, text) TO gateway_memory_app;
GRANT ALL ON FUNCTION gm_development.json_texts(text) TO gateway_memory_app;
GRANT ALL ON FUNCTION gm_development.json_valid(text) TO gateway_memory_app;
GRANT ALL ON FUNCTION gm_development.max(anycompatible, anycompatible) TO gateway_memory_app;
GRANT ALL ON FUNCTION gm_development.min(anycompatible, anycompatible) TO gateway_memory_app;
GRANT ALL ON FUNCTION gm_development.named_scopes() TO gateway_memory_app;
GRANT ALL ON FUNCTION gm_development.pgvector_schema() TO gateway_memory_app;
GRANT ALL ON FUNCTION gm_development.totals_of(ended_at double precision, state text, error text, followups integer) TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.changes TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.documents TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.episode_pages TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.episodes TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.episodes_0 TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.episodes_1 TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.episodes_rest TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.events TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.failures TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.feedback TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.file TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.heard TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.history TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.hosts TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.identity TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.large TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.large_block TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.large_word TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.leases TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.link_codes TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.link_items TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.link_tries TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.links TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.locks TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.marks TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.memories TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.meta TO gateway_memory_app;
GRANT SELECT ON TABLE gm_development.migrations TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.noticed TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.observations TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.plans TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.receipts TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.record_files TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.removed TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.replies TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.requests TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.reviews TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development."row" TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.saved_sessions TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.scope TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.session_counts TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.session_logs TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.session_memories TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.session_totals TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.sessions TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.sources TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.told TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.turns TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.unreadable TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.usage TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.uses TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.uses_read TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.vector TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.vector_2 TO gateway_memory_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE gm_development.withheld_records TO gateway_memory_app;
ALTER DEFAULT PRIVILEGES IN SCHEMA gm_development GRANT ALL ON FUNCTIONS  TO gateway_memory_app;
ALTER DEFAULT PRIVILEGES IN SCHEMA gm_development GRANT SELECT,INSERT,DELETE,UPDATE ON TABLES  TO gateway_memory_app;
