#!/bin/sh
# Makes the role that hosts connect as, at the first start of the database: see compose.yaml.
set -e
psql -v ON_ERROR_STOP=1 -U "$POSTGRES_USER" -d "$POSTGRES_DB" -v secret="$MEMORY_PASSWORD" <<'SQL'
CREATE ROLE memory LOGIN PASSWORD :'secret';
SQL
