-- Every row of a scope says whose it is; the same request of two scopes is two.
ALTER TABLE plans ADD COLUMN scope TEXT NOT NULL DEFAULT '';
UPDATE plans SET scope = coalesce(CASE WHEN json_valid(body) THEN json_extract(body, '$.scope') END, '');

CREATE TABLE told_of_scope (
    scope TEXT NOT NULL,
    session_id TEXT NOT NULL,
    origin TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (scope, session_id, origin)
) WITHOUT ROWID;
INSERT INTO told_of_scope SELECT s.scope, t.session_id, t.origin, t.number FROM told t
    JOIN sessions s ON s.session_id = t.session_id;
DROP TABLE told;
ALTER TABLE told_of_scope RENAME TO told;

CREATE TABLE requests_of_scope (
    scope TEXT NOT NULL,
    call TEXT NOT NULL,
    caller TEXT NOT NULL,
    id TEXT NOT NULL,                      -- made by the caller
    at REAL NOT NULL,
    answer TEXT NOT NULL DEFAULT '',       -- '': it began, and was not answered
    PRIMARY KEY (scope, call, caller, id)
) WITHOUT ROWID;
INSERT INTO requests_of_scope SELECT scope, call, caller, id, at, answer FROM requests;
DROP TABLE requests;
ALTER TABLE requests_of_scope RENAME TO requests;
CREATE INDEX requests_by_time ON requests (at);
