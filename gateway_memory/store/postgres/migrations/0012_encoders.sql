-- Vectors of two encoders at a time: while those of another one are made, by pages, the old ones go on serving the
-- hosts that have the old one. "row".embedded is the sum of 1 (a vector in `vector`) and 2 (one in `vector_2`); `meta`
-- has which encoder's they are. An older host reads and writes `vector`, and knows nothing of the other table.

CREATE TABLE vector_2 (
    sequence BIGINT PRIMARY KEY REFERENCES "row" (sequence) ON DELETE CASCADE,
    scope BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    vector BYTEA NOT NULL
);
CREATE INDEX vector_2_revision ON vector_2 (scope, revision);
CREATE INDEX row_embedded ON "row" (embedded, sequence) WHERE embedded > 0;

-- The graph of a large scope is made from the vectors of one encoder, which the others can't search by. FALSE while it
-- is made anew, for another one; the lists of words stay.
ALTER TABLE large ADD COLUMN graph BOOLEAN NOT NULL DEFAULT TRUE;

DO $$
DECLARE
    granted record;
BEGIN
    EXECUTE 'CREATE POLICY named ON vector_2 USING (''*'' = ANY ((SELECT named_scopes())::text[]) OR '
        'scope IN (SELECT number FROM scope WHERE key = ANY ((SELECT named_scopes())::text[])))';
    ALTER TABLE vector_2 ENABLE ROW LEVEL SECURITY;
    FOR granted IN
        SELECT DISTINCT g.grantee::regrole AS role FROM pg_class c, aclexplode(c.relacl) g
        WHERE c.oid = 'vector'::regclass AND g.grantee NOT IN (0, c.relowner)
    LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON vector_2 TO %s', granted.role);
    END LOOP;
END $$;
COMMENT ON TABLE vector_2 IS 'Vectors of the passages by a second encoder, while one takes the place of the other';
