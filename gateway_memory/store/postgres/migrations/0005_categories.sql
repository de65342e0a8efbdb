-- The openings of sessions read the newest memories of a few categories, which are rare among all.
CREATE INDEX row_of_category ON "row" (scope, category, at);
