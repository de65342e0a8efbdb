-- How the processes are that have the memory open, and what failed in any of them: kinds, counts and times.

ALTER TABLE leases ADD COLUMN state TEXT NOT NULL DEFAULT '';
CREATE TABLE failures (
    place TEXT NOT NULL,
    error TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    count BIGINT NOT NULL,
    PRIMARY KEY (place, error)
);
