-- How much each passage tells of its user is in its importance: all passages are indexed again.

DELETE FROM file WHERE name LIKE 'episodes/%';
CREATE INDEX row_telling ON "row" (scope, importance) WHERE kind = 'episode' AND importance > 0.5;
-- A row knows whether it has Chinese, Japanese or Korean in it (`topics.WIDE`).
UPDATE "row" SET traits = traits | 65536 WHERE text ~ '[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]';
