-- What people and conversations are called on the page. No name tells who somebody is.
CREATE TABLE names (
    scope TEXT NOT NULL,
    session_key TEXT NOT NULL,
    given SMALLINT NOT NULL CONSTRAINT names_given CHECK (given IN (0, 1)),
    name TEXT NOT NULL,
    PRIMARY KEY (scope, session_key, given)
);
COMMENT ON TABLE names IS 'What people and conversations are called on the page';
COMMENT ON COLUMN names.session_key IS 'Of the conversation, "" for the scope itself';
COMMENT ON COLUMN names.given IS '1: by a person on the page; 0: by the host, with a message';
CREATE POLICY named ON names USING (
    '*' = ANY ((SELECT named_scopes())::text[]) OR scope = ANY ((SELECT named_scopes())::text[])
);
ALTER TABLE names ENABLE ROW LEVEL SECURITY;
