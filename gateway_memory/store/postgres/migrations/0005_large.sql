-- Scopes of very many rows are searched in the database, where it has pgvector: words by lists of rows for each term,
-- vectors by a graph in a table for each scope, large_vector_N. A host makes them from "row" and "vector", behind the
-- writers, and can make them again. They go with the row of `large`, and that goes with the scope.

CREATE TABLE large (
    scope BIGINT PRIMARY KEY REFERENCES scope (number) ON DELETE CASCADE,
    sequence BIGINT NOT NULL DEFAULT 0,     -- rows up to this one are in large_word
    revision BIGINT NOT NULL DEFAULT 0,     -- vectors up to this revision are in large_vector_N
    removals BIGINT NOT NULL,               -- and what was removed up to this one is not
    encoder TEXT NOT NULL,                  -- whose vectors they are
    dimension INTEGER NOT NULL,
    vectors BIGINT NOT NULL DEFAULT 0,
    vector_sum BYTEA NOT NULL DEFAULT '',   -- float32
    ready BOOLEAN NOT NULL DEFAULT FALSE
);
CREATE TABLE large_block (
    scope BIGINT NOT NULL,
    block BIGINT NOT NULL,                  -- the sequence of its last row
    rows INTEGER NOT NULL,
    length BIGINT NOT NULL,                 -- of all of them
    PRIMARY KEY (scope, block)
);
CREATE TABLE large_word (
    scope BIGINT NOT NULL,
    term BIGINT NOT NULL,
    block BIGINT NOT NULL,
    rows INTEGER NOT NULL,                  -- how many rows of the block have the term
    held BYTEA NOT NULL,                    -- for each of them: sequence, how often it has the term, length
    PRIMARY KEY (scope, term, block)
);
CREATE INDEX large_word_of_block ON large_word (scope, block);

DO $$
DECLARE
    walled text;
BEGIN
    FOREACH walled IN ARRAY ARRAY['large', 'large_block', 'large_word'] LOOP
        EXECUTE format(
            'CREATE POLICY named ON %I USING (''*'' = ANY ((SELECT named_scopes())::text[]) OR '
            'scope IN (SELECT number FROM scope WHERE key = ANY ((SELECT named_scopes())::text[])))', walled
        );
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', walled);
    END LOOP;
END $$;

-- These run with the rights of the owner, since hosts may not make tables.

-- Where pgvector is.
CREATE FUNCTION pgvector_schema() RETURNS text LANGUAGE sql STABLE
    AS $$ SELECT extnamespace::regnamespace::text FROM pg_extension WHERE extname = 'vector' $$;

CREATE FUNCTION add_large_vectors(number bigint, dimension integer) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    named text := 'large_vector_' || number;
    granted record;
BEGIN
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
CREATE FUNCTION add_vector_graph(number bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM set_config('maintenance_work_mem', '512MB', true);
    EXECUTE format(
        'CREATE INDEX IF NOT EXISTS %I ON %I USING hnsw (vector %s.halfvec_ip_ops)',
        'large_graph_' || number, 'large_vector_' || number, pgvector_schema()
    );
END $$;

CREATE FUNCTION forget_large() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    DELETE FROM large_block WHERE scope = OLD.scope;
    DELETE FROM large_word WHERE scope = OLD.scope;
    EXECUTE format('DROP TABLE IF EXISTS %I', 'large_vector_' || OLD.scope);
    RETURN NULL;
END $$;
CREATE TRIGGER forgotten AFTER DELETE ON large FOR EACH ROW EXECUTE FUNCTION forget_large();

-- Names are looked up in the temporary schema of a session last, and nobody but hosts may call what the owner does.
DO $$
DECLARE
    called record;
    granted record;
BEGIN
    FOR called IN
        SELECT p.oid::regprocedure AS name FROM pg_proc p
        WHERE p.pronamespace = current_schema()::regnamespace AND p.prosecdef
    LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', called.name, current_schema());
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', called.name);
        FOR granted IN
            SELECT DISTINCT g.grantee::regrole AS role FROM pg_class c, aclexplode(c.relacl) g
            WHERE c.oid = 'turns'::regclass AND g.grantee NOT IN (0, c.relowner)
        LOOP
            EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %s', called.name, granted.role);
        END LOOP;
    END LOOP;
END $$;
