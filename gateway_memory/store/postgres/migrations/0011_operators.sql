-- What whoever runs the database expects: limits, constraints, and tables that say what they hold.

-- A text that is no JSON of the shape that is looked for has no members and no values, whatever is in it: one row must
-- not stop a statement over all of them. PostgreSQL allows no caught error in a parallel worker.
CREATE OR REPLACE FUNCTION json_valid(text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE AS $$
BEGIN
    PERFORM $1::json;
    RETURN true;
EXCEPTION WHEN others THEN
    RETURN false;
END $$;
CREATE OR REPLACE FUNCTION json_extract(text, text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE AS $$
BEGIN
    -- An escaped NUL is JSON, and no text of PostgreSQL.
    RETURN replace($1, '\u0000', '\ufffd')::json ->> substr($2, 3);
EXCEPTION WHEN others THEN
    RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION json_texts(text) RETURNS TABLE (value text)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT value FROM json_array_elements_text(CASE json_typeof($1::json) WHEN 'array' THEN $1::json ELSE '[]' END)
$$;

-- Tables that hosts may have made, by functions that run with the rights of the owner, are as many as memories need.

-- Partitions for the numbers that turns have, and for those that come next. Hosts can't move the counter of turns.
CREATE OR REPLACE FUNCTION add_episode_partitions(upto bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
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

-- One table of vectors for each scope that is searched in the database.
CREATE OR REPLACE FUNCTION add_large_vectors(number bigint, dimension integer) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
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

-- A new body of a function has the settings of this step; see 0005_large.
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION add_episode_partitions(bigint) SET search_path = %I, pg_temp', current_schema());
    EXECUTE format('ALTER FUNCTION add_large_vectors(bigint, integer) SET search_path = %I, pg_temp', current_schema());
END $$;

-- A person is deleted by the scope, from each table that has one.
CREATE INDEX IF NOT EXISTS requests_by_scope ON requests (scope);

-- New rows are checked from now on; `db migrate` looks at the standing ones afterwards, without stopping anybody.
ALTER TABLE file ADD CONSTRAINT file_of_scope FOREIGN KEY (scope) REFERENCES scope (number) ON DELETE CASCADE NOT VALID;
ALTER TABLE scope ADD CONSTRAINT scope_revision CHECK (revision >= 0 AND forgotten >= 0) NOT VALID;
ALTER TABLE "row" ADD CONSTRAINT row_length CHECK (length >= 0) NOT VALID;
ALTER TABLE large ADD CONSTRAINT large_dimension CHECK (dimension > 0) NOT VALID;
ALTER TABLE hosts ADD CONSTRAINT hosts_slot CHECK (slot >= 0) NOT VALID;
ALTER TABLE feedback ADD CONSTRAINT feedback_verdict CHECK (verdict IN ('useful', 'wrong')) NOT VALID;
ALTER TABLE reviews ADD CONSTRAINT reviews_state CHECK (
    state IN ('waiting', 'approved', 'rejected', 'never', 'expired', 'replaced', 'forgotten')
) NOT VALID;
ALTER TABLE link_items ADD CONSTRAINT link_items_kind CHECK (kind IN ('memory', 'record', 'turn', 'review')) NOT VALID;
ALTER TABLE usage ADD CONSTRAINT usage_counts CHECK (
    extractions >= 0 AND input_tokens >= 0 AND output_tokens >= 0
) NOT VALID;

COMMENT ON TABLE migrations IS 'Steps of this schema that were applied. Hosts read it and may not write it';
COMMENT ON COLUMN migrations.ends_older IS 'Whether versions that do not know the step refuse to start';
COMMENT ON TABLE hosts IS 'Processes that have the memory open, by slot, each with a lease that it renews';
COMMENT ON TABLE leases IS 'Who works for a slot: a host whose token is another records nothing any more; state: its health as JSON';
COMMENT ON TABLE locks IS 'Who writes documents of a scope just now. Unlogged: empty after a crash';
COMMENT ON TABLE failures IS 'What failed in any process: place, class of the error, last time, how often';
COMMENT ON TABLE documents IS 'MEMORY.md and the days of each scope, as Markdown; what people edit';
COMMENT ON COLUMN documents.folder IS 'Empty for the owner, people/NAME or rooms/NAME for others';
COMMENT ON COLUMN documents.saved IS 'Nanoseconds since 1970; rises with each change';
COMMENT ON TABLE record_files IS 'Records of saved sessions of a scope, as lines of JSON';
COMMENT ON TABLE sessions IS 'Sessions by id, with key, scope and times; no words. Outside row-level security: looked up by key before a scope is known';
COMMENT ON COLUMN sessions.slot IS 'The host that works on its turns; -1 for none';
COMMENT ON COLUMN sessions.switches IS 'What the person has switched, as JSON; empty for nothing';
COMMENT ON TABLE turns IS 'Exchanges whose processing is not complete; gone once they are worked off';
COMMENT ON COLUMN turns.id IS 'The number of the exchange, by which replies, episodes and receipts refer to it';
COMMENT ON COLUMN turns.stage IS '0 accepted, 1 read by the rules, 2 failed; 100 less where it is parked';
COMMENT ON TABLE replies IS 'What each reply recalled, and why, for questions such as /memory why';
COMMENT ON COLUMN replies.turn_id IS 'The id that the gateway gave the exchange: the same one again is not stored twice';
COMMENT ON TABLE episodes IS 'Exchanges as they were said, in partitions of four million numbers';
COMMENT ON COLUMN episodes.unread IS 'Who has still to read an imported exchange: rules or model';
COMMENT ON TABLE episode_pages IS 'A token for each page of exchanges of a scope; the index follows where it changes';
COMMENT ON TABLE plans IS 'Changes to documents that were decided and are being written; gone once they are';
COMMENT ON TABLE memories IS 'Each memory with its state and origin; the documents hold its text as well';
COMMENT ON COLUMN memories.state IS 'active, or how it ended: superseded, forgotten, undone, deleted, expired, retracted';
COMMENT ON COLUMN memories.turn IS 'The exchange from which it comes; 0 for none';
COMMENT ON TABLE receipts IS 'What came of exchanges: outcomes as JSON';
COMMENT ON TABLE history IS 'Events of each memory';
COMMENT ON TABLE changes IS 'What undoes a receipt';
COMMENT ON TABLE feedback IS 'What people said of recalled memories';
COMMENT ON TABLE reviews IS 'Memories that wait for a person to decide, and what was decided';
COMMENT ON TABLE marks IS 'One-time hints to a person, and whether they were given';
COMMENT ON TABLE usage IS 'Calls and tokens of models, by day';
COMMENT ON TABLE uses IS 'How often a memory was recalled and repeated, by day';
COMMENT ON TABLE uses_read IS 'Up to which reply and receipt uses are counted';
COMMENT ON TABLE observations IS 'The log of open sessions: what was said, what tools returned, shortened';
COMMENT ON TABLE session_memories IS 'Memories that came up in a session';
COMMENT ON TABLE saved_sessions IS 'Sessions that have a record';
COMMENT ON TABLE session_logs IS 'How far the records of a scope are indexed';
COMMENT ON TABLE session_counts IS 'Counts over all ended sessions';
COMMENT ON TABLE session_totals IS 'Counts of sessions by how they ended, made by triggers; a number is the sum over its shards';
COMMENT ON TABLE withheld_records IS 'Records as they were before forgotten words were taken out';
COMMENT ON TABLE unreadable IS 'Rows that could not be decoded, set aside so that they stop nothing';
COMMENT ON TABLE identity IS 'The id of this memory, kept by a move';
COMMENT ON TABLE sources IS 'Processes that made events, with their last numbers';
COMMENT ON TABLE events IS 'What changed in a scope, for the other sessions and hosts';
COMMENT ON TABLE heard IS 'Up to which event a host has heard of each source';
COMMENT ON TABLE told IS 'Up to which event a session was told of each source; numbers, no words. Outside row-level security';
COMMENT ON TABLE noticed IS 'Digests of memories as they stand in documents, to notice edits by hand';
COMMENT ON TABLE links IS 'Scopes that are one person: scope is kept in target';
COMMENT ON TABLE link_items IS 'What a link has brought, so that it can be taken back';
COMMENT ON TABLE link_codes IS 'Digests of codes for a link, until they end';
COMMENT ON TABLE link_tries IS 'Wrong codes, by time';
COMMENT ON TABLE requests IS 'Answers to calls by the id of the caller, so that a call that is repeated does nothing twice';
COMMENT ON TABLE meta IS 'Encoder and version of the index';
COMMENT ON TABLE scope IS 'Scopes of the index: number, key, revision. Outside row-level security: looked up by key';
COMMENT ON TABLE file IS 'Documents as the index knows them';
COMMENT ON TABLE "row" IS 'Passages of the index, with their terms. Made again from documents and exchanges';
COMMENT ON COLUMN "row".embedded IS '0 while the row waits for its vector';
COMMENT ON TABLE vector IS 'Vectors of the passages';
COMMENT ON TABLE removed IS 'Passages that are gone, for the hosts that have them in memory';
COMMENT ON TABLE large IS 'Scopes that are searched in the database, by pgvector';
COMMENT ON TABLE large_block IS 'Blocks of passages of a large scope';
COMMENT ON TABLE large_word IS 'Passages of a block that have a term';
