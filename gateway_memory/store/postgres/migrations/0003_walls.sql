-- Walls between scopes: a role that does not own the tables sees the rows of the scopes that its transaction names.
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
    FOREACH walled IN ARRAY ARRAY['row', 'vector', 'removed', 'file'] LOOP
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
