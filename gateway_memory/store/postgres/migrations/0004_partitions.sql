-- Exchanges in partitions by the numbers of their turns, which grow with time: what is expired is dropped as a whole.
--
-- A partition holds four million turns. Two are kept ahead; what lies beyond them, which nothing should, is in
-- episodes_rest. A partition has no policy, so hosts see it through `episodes` alone. The functions run with the rights
-- of the owner, since hosts may not change tables.

ALTER TABLE episodes RENAME TO episodes_0;
ALTER INDEX episodes_pkey RENAME TO episodes_0_pkey;
ALTER INDEX episodes_by_scope RENAME TO episodes_0_by_scope;
ALTER INDEX episodes_by_session RENAME TO episodes_0_by_session;
ALTER INDEX episodes_by_time RENAME TO episodes_0_by_time;
DROP POLICY named ON episodes_0;

CREATE TABLE episodes (LIKE episodes_0 INCLUDING DEFAULTS, PRIMARY KEY (turn)) PARTITION BY RANGE (turn);
CREATE INDEX episodes_by_scope ON episodes (scope, turn);
CREATE INDEX episodes_by_session ON episodes (scope, session_id, turn);
CREATE INDEX episodes_by_time ON episodes (scope, at);
CREATE INDEX episodes_by_age ON episodes USING brin (at);
CREATE POLICY named ON episodes USING (
    '*' = ANY ((SELECT named_scopes())::text[]) OR scope = ANY ((SELECT named_scopes())::text[])
);
ALTER TABLE episodes ENABLE ROW LEVEL SECURITY;

-- Who may use the old table may use the new one.
DO $$
DECLARE
    granted record;
BEGIN
    FOR granted IN
        SELECT DISTINCT g.grantee::regrole AS role FROM pg_class c, aclexplode(c.relacl) g
        WHERE c.oid = 'episodes_0'::regclass AND g.grantee NOT IN (0, c.relowner)
    LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON episodes TO %s', granted.role);
    END LOOP;
END $$;

DO $$
DECLARE
    upto bigint := (greatest(
        (SELECT max(turn) FROM episodes_0), (SELECT max(id) FROM turns), (SELECT max(turn) FROM replies), 0
    ) / 4000000 + 1) * 4000000;
BEGIN
    EXECUTE format('ALTER TABLE episodes ATTACH PARTITION episodes_0 FOR VALUES FROM (MINVALUE) TO (%s)', upto);
END $$;
CREATE TABLE episodes_rest PARTITION OF episodes DEFAULT;
ALTER TABLE episodes_rest ENABLE ROW LEVEL SECURITY;

CREATE FUNCTION add_episode_partitions(upto bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    start bigint;
    highest bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('episodes'::regclass::oid::text));
    SELECT max((regexp_match(pg_get_expr(c.relpartbound, c.oid), 'TO \(''?(\d+)''?\)'))[1]::bigint) INTO highest
        FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'episodes'::regclass;
    FOR start IN SELECT generate_series(highest, upto + 4000000, 4000000) LOOP
        EXECUTE format(
            'CREATE TABLE episodes_%s PARTITION OF episodes FOR VALUES FROM (%s) TO (%s)',
            start / 4000000, start, start + 4000000
        );
        EXECUTE format('ALTER TABLE episodes_%s ENABLE ROW LEVEL SECURITY', start / 4000000);
    END LOOP;
EXCEPTION WHEN check_violation THEN
    NULL;  -- episodes_rest holds some of them already, and goes on doing so
END $$;
SELECT add_episode_partitions((SELECT coalesce(max(turn), 0) FROM episodes));

CREATE FUNCTION expire_episodes(before double precision, page_turns integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
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
