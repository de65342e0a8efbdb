-- Scopes of very many rows are searched in the database, where it has pgvector: words by lists of rows for each term,
-- vectors by a graph for each scope. A host makes both from "row" and "vector", behind the writers, and can make them
-- again.

CREATE TABLE large (
    scope BIGINT PRIMARY KEY,
    sequence BIGINT NOT NULL DEFAULT 0,     -- rows up to this one are in large_word
    revision BIGINT NOT NULL DEFAULT 0,     -- vectors up to this revision are in large_vector
    removals BIGINT NOT NULL,               -- and what was removed up to this one is not
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

CREATE FUNCTION add_large_vectors() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    granted record;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('large'::regclass::oid::text));
    IF to_regclass('large_vector') IS NULL THEN
        EXECUTE format(
            'CREATE TABLE large_vector (sequence bigint PRIMARY KEY, scope bigint NOT NULL, vector %s.halfvec NOT NULL)',
            pgvector_schema()
        );
        CREATE POLICY named ON large_vector USING (
            '*' = ANY ((SELECT named_scopes())::text[])
            OR scope IN (SELECT s.number FROM scope s WHERE s.key = ANY ((SELECT named_scopes())::text[]))
        );
        ALTER TABLE large_vector ENABLE ROW LEVEL SECURITY;
        FOR granted IN
            SELECT DISTINCT g.grantee::regrole AS role FROM pg_class c, aclexplode(c.relacl) g
            WHERE c.oid = 'large'::regclass AND g.grantee NOT IN (0, c.relowner)
        LOOP
            EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON large_vector TO %s', granted.role);
        END LOOP;
    END IF;
END $$;

-- Made once the vectors are there, which takes a fraction of the time. Meanwhile no vectors are put for other scopes.
CREATE FUNCTION add_vector_graph(number bigint, dimension integer) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    home text := pgvector_schema();
BEGIN
    PERFORM set_config('maintenance_work_mem', '512MB', true);
    EXECUTE format(
        'CREATE INDEX IF NOT EXISTS large_vector_%s ON large_vector '
        'USING hnsw ((vector::%s.halfvec(%s)) %s.halfvec_ip_ops) WHERE scope = %s',
        number, home, dimension, home, number
    );
END $$;

-- A scope is deleted.
CREATE FUNCTION forget_large(number bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    DELETE FROM large WHERE scope = number;
    DELETE FROM large_block WHERE scope = number;
    DELETE FROM large_word WHERE scope = number;
    IF to_regclass('large_vector') IS NOT NULL THEN
        DELETE FROM large_vector WHERE scope = number;
        EXECUTE format('DROP INDEX IF EXISTS large_vector_%s', number);
    END IF;
END $$;

-- Vectors of another encoder are to come.
CREATE FUNCTION drop_vector_graphs() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    DROP TABLE IF EXISTS large_vector;
    UPDATE large SET revision = 0, vectors = 0, vector_sum = '', ready = FALSE;
END $$;
