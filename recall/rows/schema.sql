-- scope.forgotten: up to which revision it is no longer known what was removed. row.added: the revision that inserted
-- it. row.revision: the last one that changed it, its vector aside. row.embedded: the sum of 1 (a vector in
-- `vector`) and 2 (one in `vector_2`, of a second encoder, while one takes the place of the other).
create table meta (key text primary key, value text not null) without rowid;
create table scope (
    key text primary key, revision integer not null default 0, forgotten integer not null default 0
) without rowid;
create table file (
    scope text not null, name text not null, mtime_ns integer not null, size integer not null, digest text not null,
    primary key (scope, name)
) without rowid;
create table row (
    sequence integer primary key autoincrement, added integer not null, revision integer not null,
    scope text not null, file text not null,
    id text not null, text text not null, at real not null, kind text not null, type text not null,
    category text not null, importance real not null, confidence real not null, session text not null,
    heading text not null, speaker text not null, reply text not null, until text not null, turn integer not null,
    traits integer not null, speaker_term integer not null, length integer not null, terms blob not null,
    embedded integer not null default 0,
    unique (scope, id)
);
create index row_of_scope on row (scope, sequence);
create index row_of_time on row (scope, at);
create index row_telling on row (scope, importance) where kind = 'episode' and importance > 0.5;
create index if not exists row_of_category on row (scope, category, at);  -- of a later version: older files get it
create index if not exists row_dated on row (scope, until) where until <> '';
create index row_of_file on row (scope, file);
create index row_revision on row (scope, revision);
create index row_pending on row (sequence) where embedded = 0;
create index row_embedded on row (embedded, sequence) where embedded > 0;
create table vector (
    scope text not null, sequence integer not null, revision integer not null, vector blob not null,
    primary key (scope, sequence)
) without rowid;
create index vector_revision on vector (scope, revision);
create table vector_2 (
    scope text not null, sequence integer not null, revision integer not null, vector blob not null,
    primary key (scope, sequence)
) without rowid;
create index vector_2_revision on vector_2 (scope, revision);
create table removed (revision integer not null, scope text not null, sequence integer not null);
create index removed_revision on removed (scope, revision);
