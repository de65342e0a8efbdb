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
