-- Statements for PostgreSQL that take more than a line, each after a line with its name: module.purpose.

-- rights.grants
GRANT USAGE ON SCHEMA {schema} TO {role};
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role};
ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {role};
REVOKE INSERT, UPDATE, DELETE ON migrations FROM {role};
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA {schema} TO {role};
ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT EXECUTE ON FUNCTIONS TO {role}

-- rights.missing_rights
SELECT 'USAGE', 'the schema ' || n.nspname FROM pg_namespace n
    WHERE n.nspname = %(schema)s AND NOT has_schema_privilege(%(role)s, n.oid, 'USAGE')
UNION ALL
SELECT string_agg(privilege, ', '), c.relname FROM pg_class c
    CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS privilege
    WHERE c.relnamespace = to_regnamespace(quote_ident(%(schema)s)) AND c.relkind IN ('r', 'p')
    AND NOT c.relispartition AND c.relname <> 'moving' AND (c.relname <> 'migrations' OR privilege = 'SELECT')
    AND NOT has_table_privilege(%(role)s, c.oid, privilege) GROUP BY c.relname
UNION ALL
SELECT 'EXECUTE', p.proname || '()' FROM pg_proc p WHERE p.pronamespace = to_regnamespace(quote_ident(%(schema)s))
    AND NOT has_function_privilege(%(role)s, p.oid, 'EXECUTE')

-- schema.is_made
SELECT EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relname = 'migrations')

-- schema.not_validated
SELECT r.relname, c.conname FROM pg_constraint c JOIN pg_class r ON r.oid = c.conrelid
JOIN pg_namespace n ON n.oid = r.relnamespace
WHERE n.nspname = %(schema)s AND NOT c.convalidated ORDER BY 1, 2

-- shards.is_used
SELECT 1 WHERE EXISTS (SELECT 1 FROM sessions) OR EXISTS (SELECT 1 FROM documents) OR EXISTS (SELECT 1 FROM scope)

-- status.wall between scopes
SELECT CASE WHEN row_security_active('memories') THEN 'holds for ' ELSE 'does not hold for ' END || current_user

-- status.hosts
SELECT count(*) FROM hosts WHERE until > now()

-- status.scopes
SELECT count(*) FROM scope

-- status.memories
SELECT count(*) FROM memories WHERE state = 'active'

-- status.episodes
SELECT count(*) FROM episodes

-- status.turns that wait
SELECT count(*) FROM turns

-- status.seconds that the oldest waits
SELECT coalesce(round(extract(epoch FROM now()) - min(accepted_at)), 0) FROM turns

-- status.rows without a vector
SELECT count(*) FROM "row" WHERE embedded = 0

-- status.scopes searched in the database
SELECT count(*) FILTER (WHERE ready)
    || CASE WHEN EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'vector') THEN '' ELSE ' (without pgvector)' END
FROM large

-- status.partitions of episodes
SELECT count(*) FROM pg_inherits WHERE inhparent = 'episodes'::regclass

-- status.size
SELECT pg_size_pretty(sum(pg_total_relation_size(c.oid))) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = current_schema() AND c.relkind = 'r'

-- events.next_number
WITH place AS (SELECT 'sources'::regclass::oid || ' ' || extract(epoch FROM pg_postmaster_start_time()) AS now),
noted AS (UPDATE hosts SET place = now FROM place WHERE slot = ? AND hosts.place <> now),
next AS (
    SELECT CASE WHEN EXISTS (SELECT 1 FROM hosts WHERE slot = ? AND hosts.place = now) THEN 1
        ELSE CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT) END AS least FROM place
)
INSERT INTO sources AS s SELECT ?, least, CASE WHEN ? THEN 0 ELSE least END FROM next
ON CONFLICT (origin) DO UPDATE SET head = greatest(s.head + 1, excluded.head),
    sent = CASE WHEN ? THEN s.sent ELSE greatest(s.head + 1, excluded.head) END
RETURNING head, sent

-- hosts.renew
WITH before AS (SELECT token FROM hosts WHERE slot = ?)
INSERT INTO hosts AS h (slot, token, until) VALUES (?, ?, now() + ? * interval '1 second')
ON CONFLICT (slot) DO UPDATE SET token = excluded.token, until = excluded.until
WHERE h.token = excluded.token OR h.until < now()
RETURNING (SELECT token FROM before), ARRAY(SELECT slot FROM hosts WHERE until > now())

-- scopes.tables
SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = to_regnamespace(%s) AND c.relkind IN ('r', 'p') AND NOT c.relispartition
AND a.attname = 'scope' ORDER BY c.relname

-- scopes.graphs
SELECT relname FROM pg_class JOIN large ON relname = 'large_vector_' || large.number
WHERE scope = ANY(%s) AND relnamespace = to_regnamespace(%s)

-- side.all_tables
SELECT relname FROM pg_class
WHERE relnamespace = to_regnamespace(?) AND relkind IN ('r', 'p') AND NOT relispartition

-- side.numbered
SELECT t.relname, a.attname, s.relname FROM pg_class s
JOIN pg_depend d ON d.objid = s.oid AND d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.deptype = 'i'
JOIN pg_class t ON t.oid = d.refobjid
JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = d.refobjsubid
JOIN pg_namespace n ON n.oid = s.relnamespace
WHERE s.relkind = 'S' AND n.nspname = ?
