-- The journal's statements that take more than a line, each after a line with its name: module.purpose.

-- uses.most_used
SELECT memory, sum(recalled), sum(repeated), count(*)
FROM uses WHERE scope = ? GROUP BY memory HAVING sum(recalled + repeated) >= ? AND count(*) >= ?

-- uses.important
SELECT id FROM memories
WHERE scope = ? AND state = 'active' AND importance = 'high' AND file <> 'MEMORY.md'
ORDER BY at

-- uses.uses_of
SELECT coalesce(sum(recalled), 0), coalesce(sum(repeated), 0), count(*)
FROM uses WHERE scope = ? AND memory = ?

-- uses.add_uses
INSERT INTO uses VALUES (?, ?, ?, ?, ?)
ON CONFLICT (scope, memory, day) DO UPDATE
SET recalled = uses.recalled + excluded.recalled, repeated = uses.repeated + excluded.repeated

-- ledger.reserve
UPDATE usage SET extractions = extractions + 1, reserved_tokens = reserved_tokens + ?
WHERE day = ? AND extractions < ? AND input_tokens + output_tokens + reserved_tokens + ? <= ?

-- ledger.settle
UPDATE usage
SET reserved_tokens = max(0, reserved_tokens - ?), input_tokens = input_tokens + max(0, ?),
    output_tokens = output_tokens + max(0, ?)
WHERE day = ?

-- ledger.of_session
SELECT m.id FROM session_memories s JOIN memories m ON m.scope = s.scope AND m.id = s.memory
WHERE s.scope = ? AND s.session_id = ? AND m.state = 'active'

-- ledger.stages
SELECT m.id, coalesce(s.session_id, '') FROM memories m
LEFT JOIN session_memories s ON s.scope = m.scope AND s.memory = m.id
WHERE m.scope = ? AND m.type = 'S' AND m.state = 'active'

-- ledger.imported_past
SELECT m.id, n.text FROM memories m JOIN memories n ON n.scope = m.scope AND n.id = m.replaced_by
WHERE m.scope = ? AND m.state = 'superseded' AND n.state = 'active'
    AND EXISTS (SELECT 1 FROM history h WHERE h.scope = m.scope AND h.memory = m.id)
    AND NOT EXISTS (SELECT 1 FROM history h WHERE h.scope = m.scope AND h.memory = m.id AND h.event <> 'superseded')
ORDER BY m.at, m.id

-- ledger.receipts
SELECT id, scope, outcome, stage, at FROM receipts
WHERE id > ? AND (? = 0 OR EXISTS (SELECT 1 FROM json_each(CASE WHEN json_valid(turns) THEN turns ELSE '[]' END)
    WHERE CAST(value AS TEXT) = ?)) AND (? = '' OR scope = ?) AND at >= ? AND (? OR stage <> 'import')
ORDER BY id DESC LIMIT ?

-- ledger.coming
SELECT id FROM memories
WHERE scope = ? AND state = 'active' AND expires <> '' AND expires >= ? AND type <> 'S'
ORDER BY expires, at LIMIT ?

-- ledger.rated
SELECT turn, memory, CASE WHEN verdict = 'useful' THEN verdict ELSE 'wrong' END, at
FROM feedback
WHERE scope = ? AND at >= ? AND (? = '[]' OR turn IN (SELECT CAST(value AS BIGINT) FROM json_each(?)))
ORDER BY at, turn, memory

-- turns.add_unread
INSERT INTO turns (id, scope, session_key, session_id, "user", reply, at, accepted_at, stage, slot, imported)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- turns.outcomes
SELECT at, CASE WHEN json_valid(report) THEN json_extract(report, '$.outcome') END
FROM replies WHERE scope = ? AND report <> '' AND at >= ?
ORDER BY turn DESC LIMIT ?

-- turns.add_receipt
INSERT INTO receipts (scope, session_key, stage, turns, outcome, at) VALUES (?, ?, ?, ?, ?, ?)
RETURNING id

-- turns.queue
SELECT count(*) FILTER (WHERE stage = ?), count(*) FILTER (WHERE stage = ?), count(*) FILTER (WHERE stage < 0),
    count(*) FILTER (WHERE stage = ?), coalesce(min(CASE WHEN stage < ? THEN accepted_at END), 0),
    coalesce(min(CASE WHEN stage = ? THEN accepted_at END), 0), 0, 0, (SELECT count(*) FROM unreadable)
FROM turns

-- episodes.latest_session
SELECT session_id FROM episodes
WHERE scope = ? AND session_id <> ? AND unread = ''
ORDER BY at DESC, turn DESC LIMIT 1

-- episodes.session_of
SELECT session_id FROM episodes
WHERE scope = ? AND (session_id = ? OR session_key = ?)
ORDER BY at DESC, turn DESC LIMIT 1

-- episodes.new_turn
INSERT INTO turns (scope, session_key, session_id, "user", reply, at, accepted_at, slot)
VALUES (?, ?, '', '', '', 0, 0, -1) RETURNING id

-- episodes.known
SELECT 1 FROM episodes
WHERE scope = ? AND at = ? AND session_key = ? AND (("user" = ? AND "user" <> '') OR (reply = ? AND reply <> ''))

-- episodes.forgotten
SELECT 1 FROM memories
WHERE scope = ? AND state = 'forgotten' AND
    ((category = ? AND session_key = ? AND at = ?) OR (category = ? AND text = ? AND changed_at >= ?)) LIMIT 1

-- episodes.keep
INSERT INTO episodes (turn, scope, session_key, session_id, "user", reply, at, speaker)
SELECT id, scope, session_key, session_id, CASE WHEN "user" > '' THEN speaker_prefix || "user" ELSE '' END, reply, at, speaker
FROM turns
WHERE episode AND id IN (SELECT CAST(value AS BIGINT) FROM json_each(?)) ON CONFLICT DO NOTHING
RETURNING scope, turn

-- episodes.sources
SELECT turn, category FROM memories
WHERE scope = ? AND turn IN (SELECT CAST(value AS BIGINT) FROM json_each(?)) AND state <> 'active' AND state > ''
    AND (state IN ('forgotten', 'undone', 'deleted') OR (state = 'retracted' AND category = 'exchange'))

-- event_log.begin_slot
INSERT INTO heard SELECT ?, origin, max(number)
FROM (SELECT origin, number FROM heard UNION ALL SELECT origin, head FROM sources) AS known
GROUP BY origin

-- event_log.next_number
UPDATE sources SET head = head + 1, sent = CASE WHEN ? THEN sent ELSE head + 1 END
WHERE origin = ? RETURNING head, sent

-- event_log.completed
SELECT s.origin, coalesce(min(e.number) - 1, s.head)
FROM sources s LEFT JOIN events e ON e.origin = s.origin AND e.plan IS NOT NULL
GROUP BY s.origin, s.head

-- event_log.oldest
SELECT coalesce((SELECT min(number) FROM events WHERE origin = ?),
    (SELECT head FROM sources WHERE origin = ?) + 1, 1)

-- event_log.add_received
INSERT INTO events (origin, number, scope, kept_at, body) VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING

-- event_log.mark_received
INSERT INTO heard VALUES (?, ?, ?)
ON CONFLICT (slot, origin) DO UPDATE SET number = max(heard.number, excluded.number)

-- event_log.mark_delivered
INSERT INTO told (scope, session_id, origin, number) VALUES (?, ?, ?, ?)
ON CONFLICT (scope, session_id, origin) DO UPDATE SET number = max(told.number, excluded.number)

-- event_log.undelivered
SELECT e.origin, e.number, e.body FROM sessions s JOIN events e ON e.scope = ?
LEFT JOIN told t ON t.scope = s.scope AND t.session_id = s.session_id AND t.origin = e.origin
WHERE s.session_id = ? AND e.kept_at >= ? AND (e.number > t.number OR t.number IS NULL
    AND (e.kept_at >= s.opened_at OR EXISTS (SELECT 1 FROM told WHERE scope = s.scope AND session_id = s.session_id)))
ORDER BY e.id DESC LIMIT ?

-- event_log.skip_deleted
UPDATE sources
SET sent = max(sent, coalesce((SELECT min(number) - 1 FROM events WHERE events.origin = sources.origin), head))

-- event_log.forget_delivered
DELETE FROM told
WHERE NOT EXISTS (SELECT 1 FROM sessions s
    WHERE s.scope = told.scope AND s.session_id = told.session_id AND s.ended_at IS NULL)

-- event_log.keep_former
INSERT INTO memories (scope, id, text, file, type, category, importance, confidence, entities, session_key, at, state,
    replaced_by, changed_at, turn, expires, quote, outdates)
SELECT scope, ?, text, file, type, category, importance, confidence, entities, session_key, at, 'superseded',
    id, ?, turn, '', quote, ''
FROM memories WHERE scope = ? AND id = ?
ON CONFLICT (scope, id) DO UPDATE SET state = excluded.state, replaced_by = excluded.replaced_by,
    changed_at = excluded.changed_at, quote = excluded.quote

-- event_log.note_edit
INSERT INTO noticed VALUES (?, ?, ?) ON CONFLICT (scope, id) DO UPDATE SET digest = excluded.digest
WHERE noticed.digest <> excluded.digest

-- sessions.mark_delivered
INSERT INTO told (scope, session_id, origin, number)
SELECT ?, ?, k.origin, min(max(k.number), coalesce((SELECT min(e.number) - 1 FROM events e
    WHERE e.origin = k.origin AND e.plan IS NOT NULL
        AND e.scope IN (SELECT value FROM json_each(?))), max(k.number)))
FROM (SELECT origin, number FROM heard WHERE slot = ? UNION ALL SELECT origin, head FROM sources) AS k
GROUP BY k.origin

-- sessions.open
INSERT INTO sessions (session_id, key, scope, opened_at, seen_at) VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING

-- sessions.observations
SELECT o.id, o.session_id, coalesce(s.key, ''), o.at, o.kind, o.tool, o.content
FROM observations o LEFT JOIN sessions s ON s.session_id = o.session_id
WHERE o.scope = ? AND NOT o.private AND o.content <> ''
ORDER BY o.id DESC LIMIT ?

-- sessions.observed_since_stage
SELECT count(*) FROM observations
WHERE session_id = ? AND scope = ?
    AND at > coalesce((SELECT max(at) FROM session_memories WHERE session_id = ? AND type = 'S'), 0)

-- sessions.close
UPDATE sessions
SET ended_at = ?, reason = ?, state = ?, error = ?, duration_ms = coalesce(?, max(0, round(1000 * (? - opened_at))))
WHERE session_id = ? AND ended_at IS NULL RETURNING opened_at

-- sessions.results
SELECT s.type, m.category, m.text FROM session_memories s
JOIN memories m ON m.scope = s.scope AND m.id = s.memory
WHERE s.session_id = ? AND s.scope = ? AND m.state = 'active'
ORDER BY s.at, m.changed_at

-- opened.register
INSERT INTO sessions (session_id, key, scope, opened_at, seen_at, joined)
VALUES (?, ?, 'owner', ?, ?, ?) ON CONFLICT DO NOTHING

-- opened.previous_switches
SELECT reason, switches FROM sessions
WHERE key = ? AND scope = ? AND ended_at IS NOT NULL
ORDER BY ended_at DESC LIMIT 1

-- opened.observe
INSERT INTO observations (scope, session_id, at, kind, tool, content, private, tags)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- opened.has_left_anything
SELECT 1 FROM session_memories s JOIN memories m ON m.scope = s.scope AND m.id = s.memory
WHERE s.session_id = ? AND s.scope = ? AND m.state = 'active' LIMIT 1

-- arrivals.add_replies
INSERT INTO replies (turn, scope, session_id, at, session_key, turn_id, recalled, report)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- arrivals.add_turn
INSERT INTO turns (scope, session_key, session_id, "user", reply, at, accepted_at, extract, episode, joined,
    speaker, speaker_prefix, slot)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id

-- unlinking.forgotten_turns
SELECT id FROM memories
WHERE scope = ? AND (
    (category = ? AND turn IN (SELECT CAST(item AS BIGINT) FROM link_items WHERE scope = ? AND kind = 'turn'))
    OR (category = ? AND text IN (SELECT item FROM link_items WHERE scope = ? AND kind = 'record'))
)

-- unlinking.delete_records
DELETE FROM withheld_records
WHERE scope = ? AND CASE WHEN json_valid(whole) THEN json_extract(whole, '$.session_id') END IN
    (SELECT item FROM link_items WHERE scope = ? AND kind = 'record')

-- links.has_own
SELECT EXISTS (SELECT 1 FROM episodes WHERE scope = ?) OR EXISTS (SELECT 1 FROM turns WHERE scope = ?)
    OR EXISTS (SELECT 1 FROM reviews WHERE scope = ?)
    OR EXISTS (SELECT 1 FROM memories WHERE scope = ? AND state = 'active')

-- records.count_double
INSERT INTO session_counts VALUES ('doubles_prevented', 1)
ON CONFLICT (name) DO UPDATE SET number = session_counts.number + 1

-- reviews.due
SELECT id FROM reviews
WHERE scope = ? AND state = 'waiting' AND (at < ? OR (expires <> '' AND expires < ?))
ORDER BY at, rowid

-- reviews.add
INSERT INTO reviews (scope, id, state, reason, at, text, turn, expires, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING

-- health.add_failures
INSERT INTO failures (place, error, at, count) VALUES (?, ?, ?, ?)
ON CONFLICT (place, error) DO UPDATE SET count = failures.count + excluded.count, at = excluded.at

-- health.delete_old
DELETE FROM failures
WHERE at < ? OR at < (SELECT min(at) FROM (SELECT at FROM failures ORDER BY at DESC LIMIT ?) AS newest)

-- withheld.removed
SELECT id, text, quote, changed_at, category, turn
FROM memories
WHERE scope = ? AND type <> 'S' AND state <> 'active' AND state > ''
    AND (state IN ('forgotten', 'deleted') OR (state = 'undone' AND ?))
ORDER BY changed_at DESC LIMIT ?

-- withheld.replacements
SELECT h.memory, m.text FROM history h
JOIN memories m ON m.scope = h.scope AND m.id = h.other AND m.state = 'active'
WHERE h.scope = ? AND h.event = 'added' AND h.memory IN (SELECT value FROM json_each(?))

-- withheld.lapsed
SELECT * FROM (
    SELECT CASE m.state WHEN 'superseded' THEN 'replaced' ELSE 'over' END AS fate, '' AS id, m.text, m.quote,
        m.changed_at AS at, '' AS ends, coalesce(n.text, '') AS newer
    FROM memories m LEFT JOIN memories n ON n.scope = m.scope AND n.id = m.replaced_by
    WHERE m.scope = ? AND m.type <> 'S' AND m.category NOT IN ('said', 'exchange', 'talk') AND m.state <> 'active'
        AND m.state > '' AND m.state IN ('superseded', 'expired')
    ORDER BY m.changed_at DESC LIMIT ?
) AS gone
UNION ALL
SELECT 'over', id, text, quote, at, expires, ''
FROM memories WHERE scope = ? AND state = 'active' AND expires <> '' AND expires < ?
UNION ALL
SELECT 'doubted', n.outdates, coalesce((SELECT m.text FROM memories m WHERE m.scope = n.scope AND m.id = n.outdates), ''),
    coalesce((SELECT m.quote FROM memories m WHERE m.scope = n.scope AND m.id = n.outdates), ''), n.at, '', n.text
FROM (
    SELECT scope, outdates, at, text FROM memories
    WHERE scope = ? AND outdates <> '' AND state = 'active' ORDER BY at
) AS n
UNION ALL
SELECT 'pending', '', text, body, 1e18, '', ''
FROM reviews WHERE scope = ? AND state = 'waiting'
