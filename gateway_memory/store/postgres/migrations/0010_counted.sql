-- How sessions ended is counted as it changes, and what is looked for often has an index: nothing reads a whole table.

CREATE TABLE session_totals (     -- made by the triggers below; a number is the sum over its shards
    name TEXT NOT NULL,
    shard INTEGER NOT NULL,       -- so that two transactions seldom change the same row
    number BIGINT NOT NULL,
    PRIMARY KEY (name, shard)
) WITH (fillfactor = 50);

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

INSERT INTO session_totals
    SELECT t.name, 0, sum(t.number) FROM sessions s, totals_of(s.ended_at, s.state, s.error, s.followups) AS t
    GROUP BY t.name
    UNION ALL SELECT 'layer.' || layer, 0, count(*) FROM saved_sessions GROUP BY layer;

CREATE INDEX links_by_target ON links (target);

-- A page of exchanges that changed is behind until the index has it. Hosts of older versions say nothing of it.
ALTER TABLE episode_pages ADD COLUMN behind BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE episode_pages ALTER COLUMN behind SET DEFAULT TRUE;
CREATE INDEX episode_pages_behind ON episode_pages (scope, page) WHERE behind;
CREATE INDEX sessions_unsaved ON sessions (ended_at) WHERE state = 'unsaved';
CREATE INDEX session_stages ON session_memories (session_id) WHERE type = 'S';
CREATE INDEX marks_untold ON marks (scope, name) WHERE NOT told;
