-- What people and conversations are called on the page. No name tells who somebody is.
CREATE TABLE names (
    scope TEXT NOT NULL,
    session_key TEXT NOT NULL,             -- of the conversation; "" for the scope itself
    given INTEGER NOT NULL,                -- 1: by a person, on the page; 0: by the host, with a message
    name TEXT NOT NULL,
    PRIMARY KEY (scope, session_key, given)
) WITHOUT ROWID;
