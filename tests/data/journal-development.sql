BEGIN TRANSACTION;
CREATE TABLE changes (        -- what a receipt's undo needs
            receipt INTEGER PRIMARY KEY,
            scope TEXT NOT NULL,
            plan TEXT NOT NULL,
            patches TEXT NOT NULL
        );
INSERT INTO "changes" VALUES(1,'owner','{"scope": "owner", "folder": "", "stage": "rules", "at": 1795165800.0, "turns": [1, 2, 3, 4, 5], "added": [{"id": "s2zg6n65", "text": "the staging port is 8443", "file": "MEMORY.md", "at": 1795165320.0, "session_key": "agent:main:telegram:direct:7", "session_id": "343e953213dce58c", "type": "W", "category": "fact", "importance": "high", "confidence": 0.95, "entities": [], "turn": 1, "expires": "", "quote": ""}, {"id": "qd5kxord", "text": "I''m allergic to peanuts", "file": "MEMORY.md", "at": 1795165440.0, "session_key": "agent:main:telegram:direct:7", "session_id": "343e953213dce58c", "type": "B", "category": "fact", "importance": "high", "confidence": 0.92, "entities": [], "turn": 2, "expires": "", "quote": ""}, {"id": "akh6ur3q", "text": "我喜欢用 Python", "file": "MEMORY.md", "at": 1795165560.0, "session_key": "agent:main:telegram:direct:7", "session_id": "343e953213dce58c", "type": "O", "category": "preference", "importance": "high", "confidence": 0.88, "entities": ["Python"], "turn": 3, "expires": "", "quote": ""}, {"id": "zzn6gumc", "text": "我们决定订单系统用 PostgreSQL，不用 MongoDB", "file": "MEMORY.md", "at": 1795165680.0, "session_key": "agent:main:telegram:direct:7", "session_id": "343e953213dce58c", "type": "W", "category": "decision", "importance": "high", "confidence": 0.88, "entities": ["PostgreSQL", "MongoDB"], "turn": 4, "expires": "", "quote": ""}, {"id": "7riqq7d3", "text": "the cat is called Tigger", "file": "MEMORY.md", "at": 1795165800.0, "session_key": "agent:main:telegram:direct:7", "session_id": "343e953213dce58c", "type": "W", "category": "fact", "importance": "high", "confidence": 0.95, "entities": ["Tigger"], "turn": 5, "expires": "", "quote": ""}], "retired": [], "outcomes": [{"turn": 1, "action": "add", "reason": "new", "id": "s2zg6n65", "text": ""}, {"turn": 2, "action": "add", "reason": "new", "id": "qd5kxord", "text": ""}, {"turn": 3, "action": "add", "reason": "new", "id": "akh6ur3q", "text": ""}, {"turn": 4, "action": "add", "reason": "new", "id": "zzn6gumc", "text": ""}, {"turn": 5, "action": "add", "reason": "new", "id": "7riqq7d3", "text": ""}], "moved": [], "failed": false, "restores": []}','[{"file": "MEMORY.md", "made": true, "digest": "bf3bd32ed3238fbfc254f8224676f6b2", "hunks": [{"at": 0, "before": [], "after": ["# Memory"]}, {"at": 2, "before": [], "after": ["- the staging port is 8443 <!-- gm:s2zg6n65 0.95 -->", "- I''m allergic to peanuts <!-- gm:qd5kxord B 0.92 -->", "- \u6211\u559c\u6b22\u7528 Python <!-- gm:akh6ur3q O 0.88 -->", "- \u6211\u4eec\u51b3\u5b9a\u8ba2\u5355\u7cfb\u7edf\u7528 PostgreSQL\uff0c\u4e0d\u7528 MongoDB <!-- gm:zzn6gumc 0.88 -->", "- the cat is called Tigger <!-- gm:7riqq7d3 0.95 -->", ""]}]}]');
INSERT INTO "changes" VALUES(3,'owner','{"scope": "owner", "folder": "", "stage": "command", "at": 1795165800.0, "turns": [], "added": [], "retired": [{"memory": {"id": "7riqq7d3", "text": "the cat is called Tigger", "file": "MEMORY.md", "at": 1795165800.0, "session_key": "agent:main:telegram:direct:7", "session_id": "", "type": "W", "category": "fact", "importance": "high", "confidence": 0.95, "entities": ["Tigger"], "turn": 5, "expires": "", "quote": ""}, "state": "forgotten", "replaced_by": ""}], "outcomes": [{"turn": 0, "action": "forgotten", "reason": "asked", "id": "7riqq7d3", "text": ""}], "moved": [], "failed": false, "restores": []}','[{"file": "MEMORY.md", "made": false, "digest": "0907fbec79c5ecdaaa78064b74e986b9", "hunks": [{"at": 6, "before": ["- the cat is called Tigger <!-- gm:7riqq7d3 0.95 -->"], "after": []}]}]');
INSERT INTO "changes" VALUES(4,'user:zoe','{"scope": "user:zoe", "folder": "people/zoe-a87eb1f6a7", "stage": "rules", "at": 1795165800.0, "turns": [6], "added": [{"id": "wgqsqm3t", "text": "My name is Zoe", "file": "MEMORY.md", "at": 1795165800.0, "session_key": "agent:main:discord:direct:zoe", "session_id": "0b8cf77ac8b9b89a", "type": "B", "category": "fact", "importance": "high", "confidence": 0.92, "entities": ["Zoe"], "turn": 6, "expires": "", "quote": ""}, {"id": "g6trzzie", "text": "I live in Oslo", "file": "MEMORY.md", "at": 1795165800.0, "session_key": "agent:main:discord:direct:zoe", "session_id": "0b8cf77ac8b9b89a", "type": "B", "category": "fact", "importance": "high", "confidence": 0.9, "entities": ["Oslo"], "turn": 6, "expires": "", "quote": ""}], "retired": [], "outcomes": [{"turn": 6, "action": "add", "reason": "new", "id": "wgqsqm3t", "text": ""}, {"turn": 6, "action": "add", "reason": "new", "id": "g6trzzie", "text": ""}], "moved": [], "failed": false, "restores": []}','[{"file": "MEMORY.md", "made": true, "digest": "35cc38746f95f46c3ff1a897f7419a9a", "hunks": [{"at": 0, "before": [], "after": ["# Memory"]}, {"at": 2, "before": [], "after": ["- My name is Zoe <!-- gm:wgqsqm3t B 0.92 -->", "- I live in Oslo <!-- gm:g6trzzie B 0.9 -->", ""]}]}]');
INSERT INTO "changes" VALUES(6,'room:discord-5','{"scope": "room:discord-5", "folder": "rooms/discord-5-4498e6b649", "stage": "save", "at": 1795165800.0, "turns": [], "added": [{"id": "5arnhwok", "text": "The club meets on Thursdays at seven", "file": "memory/2026-11-20.md", "at": 1795165800.0, "session_key": "agent:main:discord:group:5", "session_id": "7450f23c4a49c176", "type": "W", "category": "fact", "importance": "normal", "confidence": 0.9, "entities": [], "turn": 0, "expires": "", "quote": ""}], "retired": [], "outcomes": [{"turn": 0, "action": "add", "reason": "new", "id": "5arnhwok", "text": ""}], "moved": [], "failed": false, "restores": []}','[{"file": "memory/2026-11-20.md", "made": true, "digest": "3be9d2d9a8fb03b4e8ff8f1dc179f2c6", "hunks": [{"at": 0, "before": [], "after": ["# 2026-11-20"]}, {"at": 2, "before": [], "after": ["- The club meets on Thursdays at seven <!-- gm:5arnhwok 0.9 -->", ""]}]}]');
CREATE TABLE episode_pages (      -- a token for each page, which changes with its episodes
        scope TEXT NOT NULL,
        page INTEGER NOT NULL,
        token TEXT NOT NULL, behind INTEGER NOT NULL DEFAULT 1,
        PRIMARY KEY (scope, page)
    ) WITHOUT ROWID;
INSERT INTO "episode_pages" VALUES('owner',0,'0123456789ab',1);
CREATE TABLE episodes (           -- what was said in processed turns
        turn INTEGER PRIMARY KEY,
        scope TEXT NOT NULL,
        session_key TEXT NOT NULL,
        session_id TEXT NOT NULL,
        user TEXT NOT NULL,
        reply TEXT NOT NULL,
        at REAL NOT NULL
    , unread TEXT NOT NULL DEFAULT '');
INSERT INTO "episodes" VALUES(1,'owner','agent:main:telegram:direct:7','343e953213dce58c','Remember that the staging port is 8443.','OK',1795165320.0,'');
INSERT INTO "episodes" VALUES(90,'owner','chatgpt:g1','g1','How do tomatoes grow?','In the sun.',1795165800.0,'rules');
CREATE TABLE events (         -- the last of each origin: to be sent, sent again, or told to sessions
            id INTEGER PRIMARY KEY,
            origin TEXT NOT NULL,
            number INTEGER NOT NULL,
            scope TEXT NOT NULL,
            kept_at REAL NOT NULL,
            body TEXT NOT NULL,
            plan INTEGER,             -- by which it comes about, until that is carried out
            UNIQUE (origin, number)
        );
INSERT INTO "events" VALUES(1,'5c1b4a88cac74f6b.0',1,'owner',1795165800.0,'{"scope":"owner","at":1795165800.0,"changes":[{"id":"s2zg6n65","text":"the staging port is 8443","at":1795165320.0,"source":"agent:main:telegram:direct:7","action":"added","replaces":"","by_hand":false},{"id":"qd5kxord","text":"I''m allergic to peanuts","at":1795165440.0,"source":"agent:main:telegram:direct:7","action":"added","replaces":"","by_hand":false},{"id":"akh6ur3q","text":"我喜欢用 Python","at":1795165560.0,"source":"agent:main:telegram:direct:7","action":"added","replaces":"","by_hand":false},{"id":"zzn6gumc","text":"我们决定订单系统用 PostgreSQL，不用 MongoDB","at":1795165680.0,"source":"agent:main:telegram:direct:7","action":"added","replaces":"","by_hand":false},{"id":"7riqq7d3","text":"the cat is called Tigger","at":1795165800.0,"source":"agent:main:telegram:direct:7","action":"added","replaces":"","by_hand":false}]}',NULL);
INSERT INTO "events" VALUES(2,'5c1b4a88cac74f6b.0',2,'owner',1795165800.0,'{"scope":"owner","at":1795165800.0,"changes":[{"id":"7riqq7d3","text":"the cat is called Tigger","at":1795165800.0,"source":"","action":"removed","replaces":"","by_hand":false}]}',NULL);
INSERT INTO "events" VALUES(3,'5c1b4a88cac74f6b.0',3,'user:zoe',1795165800.0,'{"scope":"user:zoe","at":1795165800.0,"changes":[{"id":"wgqsqm3t","text":"My name is Zoe","at":1795165800.0,"source":"agent:main:discord:direct:zoe","action":"added","replaces":"","by_hand":false},{"id":"g6trzzie","text":"I live in Oslo","at":1795165800.0,"source":"agent:main:discord:direct:zoe","action":"added","replaces":"","by_hand":false}]}',NULL);
INSERT INTO "events" VALUES(4,'5c1b4a88cac74f6b.0',4,'room:discord-5',1795165800.0,'{"scope":"room:discord-5","at":1795165800.0,"changes":[{"id":"5arnhwok","text":"The club meets on Thursdays at seven","at":1795165800.0,"source":"agent:main:discord:group:5","action":"added","replaces":"","by_hand":false}]}',NULL);
CREATE TABLE failures (           -- what failed in any process, by kind
        place TEXT NOT NULL,
        error TEXT NOT NULL,          -- the class of the error
        at REAL NOT NULL,             -- when it came last
        count INTEGER NOT NULL,
        PRIMARY KEY (place, error)
    ) WITHOUT ROWID;
INSERT INTO "failures" VALUES('worker','ValueError',1795165800.0,2);
CREATE TABLE feedback (           -- what a person says of a memory in a reply
        scope TEXT NOT NULL,
        turn INTEGER NOT NULL,
        memory TEXT NOT NULL,         -- '' for the reply as a whole
        verdict TEXT NOT NULL,        -- useful, wrong
        at REAL NOT NULL,
        PRIMARY KEY (scope, turn, memory)
    ) WITHOUT ROWID;
INSERT INTO "feedback" VALUES('owner',1,'s2zg6n65','useful',1795165800.0);
CREATE TABLE heard (          -- up to which number a process has had an origin's events
            slot INTEGER NOT NULL,
            origin TEXT NOT NULL,
            number INTEGER NOT NULL,
            PRIMARY KEY (slot, origin)
        ) WITHOUT ROWID;
INSERT INTO "heard" VALUES(0,'5c1b4a88cac74f6b.0',0);
CREATE TABLE history (        -- what became of each memory
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            scope TEXT NOT NULL,
            memory TEXT NOT NULL,
            at REAL NOT NULL,
            event TEXT NOT NULL,      -- added, superseded, forgotten, expired, undone, restored
            other TEXT NOT NULL       -- the memory that it replaced, or that replaced it
        );
INSERT INTO "history" VALUES(1,'owner','s2zg6n65',1795165800.0,'added','');
INSERT INTO "history" VALUES(2,'owner','qd5kxord',1795165800.0,'added','');
INSERT INTO "history" VALUES(3,'owner','akh6ur3q',1795165800.0,'added','');
INSERT INTO "history" VALUES(4,'owner','zzn6gumc',1795165800.0,'added','');
INSERT INTO "history" VALUES(5,'owner','7riqq7d3',1795165800.0,'added','');
INSERT INTO "history" VALUES(6,'owner','7riqq7d3',1795165800.0,'forgotten','');
INSERT INTO "history" VALUES(7,'user:zoe','wgqsqm3t',1795165800.0,'added','');
INSERT INTO "history" VALUES(8,'user:zoe','g6trzzie',1795165800.0,'added','');
INSERT INTO "history" VALUES(9,'room:discord-5','5arnhwok',1795165800.0,'added','');
INSERT INTO "history" VALUES(10,'owner','s6dxxz3b',1795165800.0,'added','');
CREATE TABLE identity (journal TEXT NOT NULL);
INSERT INTO "identity" VALUES('5c1b4a88cac74f6b');
CREATE TABLE leases (             -- the process that holds each slot; a commit with another token is refused
        slot INTEGER PRIMARY KEY,
        token TEXT NOT NULL
    , state TEXT NOT NULL DEFAULT '');
INSERT INTO "leases" VALUES(0,'a token','{}');
CREATE TABLE link_codes (         -- the digest of each scope's last code
        scope TEXT PRIMARY KEY,
        digest TEXT NOT NULL,
        until REAL NOT NULL
    ) WITHOUT ROWID;
INSERT INTO "link_codes" VALUES('user:amy','a digest',1795165800.0);
CREATE TABLE link_items (         -- what a linked scope has brought, and gets back
        scope TEXT NOT NULL,
        kind TEXT NOT NULL,           -- memory, record, turn
        item TEXT NOT NULL,
        body TEXT NOT NULL,           -- of a memory: its record
        PRIMARY KEY (scope, kind, item)
    ) WITHOUT ROWID;
INSERT INTO "link_items" VALUES('user:amy','memory','s2zg6n65','{}');
CREATE TABLE link_tries (         -- wrong codes
        scope TEXT NOT NULL,
        at REAL NOT NULL
    );
INSERT INTO "link_tries" VALUES('user:amy',1795165800.0);
CREATE TABLE links (              -- scopes whose memory is in another scope: one person with several identities
        scope TEXT PRIMARY KEY,
        target TEXT NOT NULL,
        at REAL NOT NULL
    ) WITHOUT ROWID;
INSERT INTO "links" VALUES('user:amy','owner',1795165800.0);
CREATE TABLE marks (          -- what was noticed of a scope, until it was told once
            scope TEXT NOT NULL,
            name TEXT NOT NULL,
            told INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (scope, name)
        ) WITHOUT ROWID;
INSERT INTO "marks" VALUES('owner','a hint',1);
CREATE TABLE memories (       -- what a line of Markdown can't carry, and the lines that left it
            scope TEXT NOT NULL,
            id TEXT NOT NULL,
            text TEXT NOT NULL,
            file TEXT NOT NULL,
            type TEXT NOT NULL,
            category TEXT NOT NULL,
            importance TEXT NOT NULL,
            confidence REAL NOT NULL,
            entities TEXT NOT NULL,
            session_key TEXT NOT NULL,
            at REAL NOT NULL,
            state TEXT NOT NULL,      -- active, superseded, forgotten
            replaced_by TEXT,
            changed_at REAL NOT NULL, turn INTEGER NOT NULL DEFAULT 0, expires TEXT NOT NULL DEFAULT '', quote TEXT NOT NULL DEFAULT '', outdates TEXT NOT NULL DEFAULT '',
            PRIMARY KEY (scope, id)
        ) WITHOUT ROWID;
INSERT INTO "memories" VALUES('owner','7riqq7d3','the cat is called Tigger','MEMORY.md','W','fact','high',0.95,'["Tigger"]','agent:main:telegram:direct:7',1795165800.0,'forgotten','',1795165800.0,5,'','','');
INSERT INTO "memories" VALUES('owner','akh6ur3q','我喜欢用 Python','MEMORY.md','O','preference','high',0.88,'["Python"]','agent:main:telegram:direct:7',1795165560.0,'active','',1795165800.0,3,'','','');
INSERT INTO "memories" VALUES('owner','qd5kxord','I''m allergic to peanuts','MEMORY.md','B','fact','high',0.92,'[]','agent:main:telegram:direct:7',1795165440.0,'active','',1795165800.0,2,'','','');
INSERT INTO "memories" VALUES('owner','s2zg6n65','the staging port is 8443','MEMORY.md','W','fact','high',0.95,'[]','agent:main:telegram:direct:7',1795165320.0,'active','',1795165800.0,1,'','','');
INSERT INTO "memories" VALUES('owner','s6dxxz3b','Half of the migration is done','memory/2026-11-20.md','S','','normal',1.0,'[]','agent:main:laptop:direct:7',1795165800.0,'active','',1795165800.0,0,'','','');
INSERT INTO "memories" VALUES('owner','zzn6gumc','我们决定订单系统用 PostgreSQL，不用 MongoDB','MEMORY.md','W','decision','high',0.88,'["PostgreSQL", "MongoDB"]','agent:main:telegram:direct:7',1795165680.0,'active','',1795165800.0,4,'','','');
INSERT INTO "memories" VALUES('room:discord-5','5arnhwok','The club meets on Thursdays at seven','memory/2026-11-20.md','W','fact','normal',0.9,'[]','agent:main:discord:group:5',1795165800.0,'active','',1795165800.0,0,'','','');
INSERT INTO "memories" VALUES('user:zoe','g6trzzie','I live in Oslo','MEMORY.md','B','fact','high',0.9,'["Oslo"]','agent:main:discord:direct:zoe',1795165800.0,'active','',1795165800.0,6,'','','');
INSERT INTO "memories" VALUES('user:zoe','wgqsqm3t','My name is Zoe','MEMORY.md','B','fact','high',0.92,'["Zoe"]','agent:main:discord:direct:zoe',1795165800.0,'active','',1795165800.0,6,'','','');
CREATE TABLE migrations (name TEXT PRIMARY KEY, at REAL NOT NULL);
INSERT INTO "migrations" VALUES('0001_spine',1795165800.0);
INSERT INTO "migrations" VALUES('0002_extraction',1795165800.0);
INSERT INTO "migrations" VALUES('0003_events',1795165800.0);
INSERT INTO "migrations" VALUES('0004_sessions',1795165800.0);
INSERT INTO "migrations" VALUES('0005_distillation',1795165800.0);
INSERT INTO "migrations" VALUES('0006_session_ends',1795165800.0);
INSERT INTO "migrations" VALUES('0007_switches',1795165800.0);
INSERT INTO "migrations" VALUES('0008_unreadable',1795165800.0);
INSERT INTO "migrations" VALUES('0009_withheld',1795165800.0);
INSERT INTO "migrations" VALUES('0010_leases',1795165800.0);
INSERT INTO "migrations" VALUES('0011_episodes',1795165800.0);
INSERT INTO "migrations" VALUES('0012_transcripts',1795165800.0);
INSERT INTO "migrations" VALUES('0013_shown',1795165800.0);
INSERT INTO "migrations" VALUES('0014_links',1795165800.0);
INSERT INTO "migrations" VALUES('0015_requests',1795165800.0);
INSERT INTO "migrations" VALUES('0016_reviews',1795165800.0);
INSERT INTO "migrations" VALUES('0017_reports',1795165800.0);
INSERT INTO "migrations" VALUES('0018_gone',1795165800.0);
INSERT INTO "migrations" VALUES('0019_health',1795165800.0);
INSERT INTO "migrations" VALUES('0020_unread',1795165800.0);
INSERT INTO "migrations" VALUES('0021_outdated',1795165800.0);
INSERT INTO "migrations" VALUES('0022_counted',1795165800.0);
CREATE TABLE noticed (        -- lines that a person or a tool wrote, announced once by whoever saw them first
            scope TEXT NOT NULL,
            id TEXT NOT NULL,
            digest TEXT NOT NULL,
            PRIMARY KEY (scope, id)
        ) WITHOUT ROWID;
INSERT INTO "noticed" VALUES('owner','s2zg6n65','a digest');
CREATE TABLE observations (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            scope TEXT NOT NULL,
            session_id TEXT NOT NULL,
            at REAL NOT NULL,
            kind TEXT NOT NULL,
            tool TEXT NOT NULL,
            content TEXT NOT NULL,
            private INTEGER NOT NULL
        , tags TEXT NOT NULL DEFAULT '');
INSERT INTO "observations" VALUES(1,'owner','343e953213dce58c',1795165320.0,'user','','Remember that the staging port is 8443.',0,'');
INSERT INTO "observations" VALUES(2,'owner','343e953213dce58c',1795165320.0,'assistant','','OK',0,'');
INSERT INTO "observations" VALUES(3,'owner','343e953213dce58c',1795165440.0,'user','','I''m allergic to peanuts.',0,'');
INSERT INTO "observations" VALUES(4,'owner','343e953213dce58c',1795165440.0,'assistant','','Noted',0,'');
INSERT INTO "observations" VALUES(5,'owner','343e953213dce58c',1795165560.0,'user','','我喜欢用 Python',0,'');
INSERT INTO "observations" VALUES(6,'owner','343e953213dce58c',1795165560.0,'assistant','','好的',0,'');
INSERT INTO "observations" VALUES(7,'owner','343e953213dce58c',1795165680.0,'user','','我们决定订单系统用 PostgreSQL，不用 MongoDB',0,'');
INSERT INTO "observations" VALUES(8,'owner','343e953213dce58c',1795165680.0,'assistant','','好',0,'');
INSERT INTO "observations" VALUES(9,'owner','343e953213dce58c',1795165800.0,'user','','Remember that the cat is called Tigger.',0,'');
INSERT INTO "observations" VALUES(10,'owner','343e953213dce58c',1795165800.0,'assistant','','OK',0,'');
INSERT INTO "observations" VALUES(11,'owner','343e953213dce58c',1795165800.0,'tool','bash','deployed build 42 to staging',0,'');
INSERT INTO "observations" VALUES(12,'user:zoe','0b8cf77ac8b9b89a',1795165800.0,'user','','My name is Zoe and I live in Oslo.',0,'');
INSERT INTO "observations" VALUES(13,'user:zoe','0b8cf77ac8b9b89a',1795165800.0,'assistant','','Hello',0,'');
CREATE TABLE plans (          -- decided and not yet known to be written
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            slot INTEGER NOT NULL,
            body TEXT NOT NULL
        );
INSERT INTO "plans" VALUES(1,0,'{"scope": "owner", "folder": "", "stage": "command", "at": 1795165800.0, "turns": [], "added": [], "retired": [], "outcomes": [], "moved": [], "failed": false, "imported": false, "restores": [], "reviews": [], "settled": [], "rated": []}');
CREATE TABLE receipts (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            scope TEXT NOT NULL,
            session_key TEXT NOT NULL,
            stage TEXT NOT NULL,      -- rules, batch, command
            turns TEXT NOT NULL,
            outcome TEXT NOT NULL,
            at REAL NOT NULL
        );
INSERT INTO "receipts" VALUES(1,'owner','agent:main:telegram:direct:7','rules','[1, 2, 3, 4, 5]','[[1, "add", "new", "s2zg6n65"], [2, "add", "new", "qd5kxord"], [3, "add", "new", "akh6ur3q"], [4, "add", "new", "zzn6gumc"], [5, "add", "new", "7riqq7d3"]]',1795165800.0);
INSERT INTO "receipts" VALUES(2,'owner','','batch','[1, 2, 3, 4, 5]','[[1, "skipped", "rules_only", ""], [2, "skipped", "rules_only", ""], [3, "skipped", "rules_only", ""], [4, "skipped", "rules_only", ""], [5, "skipped", "rules_only", ""]]',1795165800.0);
INSERT INTO "receipts" VALUES(3,'owner','agent:main:telegram:direct:7','command','[]','[[0, "forgotten", "asked", "7riqq7d3"]]',1795165800.0);
INSERT INTO "receipts" VALUES(4,'user:zoe','agent:main:discord:direct:zoe','rules','[6]','[[6, "add", "new", "wgqsqm3t"], [6, "add", "new", "g6trzzie"]]',1795165800.0);
INSERT INTO "receipts" VALUES(5,'user:zoe','','batch','[6]','[[6, "skipped", "rules_only", ""]]',1795165800.0);
INSERT INTO "receipts" VALUES(6,'room:discord-5','agent:main:discord:group:5','save','[]','[[0, "add", "new", "5arnhwok"]]',1795165800.0);
INSERT INTO "receipts" VALUES(7,'owner','agent:main:laptop:direct:7','summary','[]','[[0, "add", "summary", "s6dxxz3b"]]',1795165800.0);
CREATE TABLE replies (        -- what was recalled for the reply of a turn
            turn INTEGER PRIMARY KEY,
            scope TEXT NOT NULL,
            session_id TEXT NOT NULL,
            at REAL NOT NULL,
            recalled TEXT NOT NULL
        , session_key TEXT NOT NULL DEFAULT '', turn_id TEXT NOT NULL DEFAULT '', report TEXT NOT NULL DEFAULT '');
INSERT INTO "replies" VALUES(1,'owner','343e953213dce58c',1795165320.0,'[]','','','');
INSERT INTO "replies" VALUES(2,'owner','343e953213dce58c',1795165440.0,'[]','','','');
INSERT INTO "replies" VALUES(3,'owner','343e953213dce58c',1795165560.0,'[]','','','');
INSERT INTO "replies" VALUES(4,'owner','343e953213dce58c',1795165680.0,'[]','','','');
INSERT INTO "replies" VALUES(5,'owner','343e953213dce58c',1795165800.0,'[]','','','');
INSERT INTO "replies" VALUES(6,'user:zoe','0b8cf77ac8b9b89a',1795165800.0,'[]','','','');
INSERT INTO "replies" VALUES(7,'owner','674df4733ceccbe8',1795165920.0,'[]','','','');
CREATE TABLE requests (           -- writes that a caller may repeat
        call TEXT NOT NULL,
        caller TEXT NOT NULL,
        id TEXT NOT NULL,             -- made by the caller
        scope TEXT NOT NULL,
        at REAL NOT NULL,
        answer TEXT NOT NULL DEFAULT '',  -- '': it began, and was not answered
        PRIMARY KEY (call, caller, id)
    ) WITHOUT ROWID;
INSERT INTO "requests" VALUES('save_fact','agent','r1','owner',1795165800.0,'{}');
CREATE TABLE reviews (            -- candidates that wait for a person, and what became of them
        scope TEXT NOT NULL,
        id TEXT NOT NULL,
        state TEXT NOT NULL,          -- waiting, approved, rejected, never, expired, replaced, forgotten
        reason TEXT NOT NULL,         -- why it waits
        at REAL NOT NULL,
        text TEXT NOT NULL,
        turn INTEGER NOT NULL,
        expires TEXT NOT NULL,
        body TEXT NOT NULL,           -- the memory that it would be, and what it would replace
        PRIMARY KEY (scope, id)
    );
INSERT INTO "reviews" VALUES('owner','r2v4w6x8','rejected','low_confidence',1795165800.0,'the shed is green',2,'','{}');
CREATE TABLE saved_sessions (     -- the ids in sessions.jsonl, also of records that were let go
        scope TEXT NOT NULL,
        session_id TEXT NOT NULL,
        layer TEXT NOT NULL,          -- agent, followup, end, imported
        at REAL NOT NULL,
        PRIMARY KEY (scope, session_id)
    ) WITHOUT ROWID;
INSERT INTO "saved_sessions" VALUES('owner','343e953213dce58c','end',1795165800.0);
CREATE TABLE session_counts (
        name TEXT PRIMARY KEY,
        number INTEGER NOT NULL
    ) WITHOUT ROWID;
INSERT INTO "session_counts" VALUES('starts',4);
CREATE TABLE session_logs (       -- how far a scope's sessions.jsonl has been read into saved_sessions
        scope TEXT PRIMARY KEY,
        size INTEGER NOT NULL,
        tail BLOB NOT NULL,           -- the bytes before that place, by which another file is told
        records INTEGER NOT NULL,
        damaged INTEGER NOT NULL
    ) WITHOUT ROWID;
INSERT INTO "session_logs" VALUES('owner',1104,X'20226175746F5F67656E657261746564223A20747275652C20226C61796572223A2022656E64222C2022726561736F6E223A2022636F6D706C65746564227D0A',1,0);
CREATE TABLE session_memories (   -- which memories a session has left; type S: its stage summaries
        session_id TEXT NOT NULL,
        scope TEXT NOT NULL,
        memory TEXT NOT NULL,
        type TEXT NOT NULL,
        at REAL NOT NULL,
        PRIMARY KEY (session_id, scope, memory)
    ) WITHOUT ROWID;
INSERT INTO "session_memories" VALUES('0b8cf77ac8b9b89a','user:zoe','g6trzzie','B',1795165800.0);
INSERT INTO "session_memories" VALUES('0b8cf77ac8b9b89a','user:zoe','wgqsqm3t','B',1795165800.0);
INSERT INTO "session_memories" VALUES('343e953213dce58c','owner','7riqq7d3','W',1795165800.0);
INSERT INTO "session_memories" VALUES('343e953213dce58c','owner','akh6ur3q','O',1795165560.0);
INSERT INTO "session_memories" VALUES('343e953213dce58c','owner','qd5kxord','B',1795165440.0);
INSERT INTO "session_memories" VALUES('343e953213dce58c','owner','s2zg6n65','W',1795165320.0);
INSERT INTO "session_memories" VALUES('343e953213dce58c','owner','zzn6gumc','W',1795165680.0);
INSERT INTO "session_memories" VALUES('674df4733ceccbe8','owner','s6dxxz3b','S',1795165800.0);
INSERT INTO "session_memories" VALUES('7450f23c4a49c176','room:discord-5','5arnhwok','W',1795165800.0);
CREATE TABLE session_totals (     -- how sessions ended; made by the triggers below
        name TEXT NOT NULL,
        shard INTEGER NOT NULL,       -- 0; a server has several
        number INTEGER NOT NULL,
        PRIMARY KEY (name, shard)
    ) WITHOUT ROWID;
INSERT INTO "session_totals" VALUES('ended',0,1);
INSERT INTO "session_totals" VALUES('layer.end',0,1);
INSERT INTO "session_totals" VALUES('open',0,3);
INSERT INTO "session_totals" VALUES('state.saved',0,1);
CREATE TABLE sessions (
            session_id TEXT PRIMARY KEY,
            key TEXT NOT NULL,
            scope TEXT NOT NULL,
            opened_at REAL NOT NULL,
            ended_at REAL,
            reason TEXT
        , seen_at REAL NOT NULL DEFAULT 0, slot INTEGER NOT NULL DEFAULT -1, state TEXT NOT NULL DEFAULT '', followups INTEGER NOT NULL DEFAULT 0, error TEXT NOT NULL DEFAULT '', duration_ms INTEGER, switches TEXT NOT NULL DEFAULT '', stops INTEGER NOT NULL DEFAULT 0);
INSERT INTO "sessions" VALUES('343e953213dce58c','agent:main:telegram:direct:7','owner',1795165200.0,1795165800.0,'completed',1795165800.0,0,'saved',0,'',600000,'',0);
INSERT INTO "sessions" VALUES('0b8cf77ac8b9b89a','agent:main:discord:direct:zoe','user:zoe',1795165800.0,NULL,NULL,1795165800.0,0,'',0,'',NULL,'',0);
INSERT INTO "sessions" VALUES('7450f23c4a49c176','agent:main:discord:group:5','room:discord-5',1795165800.0,NULL,NULL,1795165800.0,0,'',0,'',NULL,'',0);
INSERT INTO "sessions" VALUES('674df4733ceccbe8','agent:main:laptop:direct:7','owner',1795165800.0,NULL,NULL,1795165920.0,0,'',0,'',NULL,'{"observations": false}',0);
CREATE TABLE shown_memories (     -- the memories that an editor's session was told, by the digest of their text
        session_id TEXT NOT NULL,
        memory TEXT NOT NULL,
        digest INTEGER NOT NULL,
        PRIMARY KEY (session_id, memory, digest)
    ) WITHOUT ROWID;
INSERT INTO "shown_memories" VALUES('343e953213dce58c','s2zg6n65',42);
CREATE TABLE sources (        -- the instances of this journal: how far they have come
            origin TEXT PRIMARY KEY,
            head INTEGER NOT NULL,
            sent INTEGER NOT NULL
        ) WITHOUT ROWID;
INSERT INTO "sources" VALUES('5c1b4a88cac74f6b.0',4,4);
CREATE TABLE told (           -- up to which number a session was told of them
            session_id TEXT NOT NULL,
            origin TEXT NOT NULL,
            number INTEGER NOT NULL,
            PRIMARY KEY (session_id, origin)
        ) WITHOUT ROWID;
INSERT INTO "told" VALUES('0b8cf77ac8b9b89a','5c1b4a88cac74f6b.0',3);
CREATE TABLE transcript_messages (  -- the messages of users in editors' transcripts that were read
        id TEXT PRIMARY KEY,
        session_id TEXT NOT NULL
    ) WITHOUT ROWID;
INSERT INTO "transcript_messages" VALUES('m1','343e953213dce58c');
CREATE TABLE turns (          -- accepted and not yet done; a row leaves when its last stage is over
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            scope TEXT NOT NULL,
            session_key TEXT NOT NULL,
            session_id TEXT NOT NULL,
            user TEXT NOT NULL,
            reply TEXT NOT NULL,
            at REAL NOT NULL,
            accepted_at REAL NOT NULL,
            stage INTEGER NOT NULL DEFAULT 0,   -- 0 accepted, 1 rules done
            slot INTEGER NOT NULL
        , extract INTEGER NOT NULL DEFAULT 1, episode INTEGER NOT NULL DEFAULT 0, imported INTEGER NOT NULL DEFAULT 0);
INSERT INTO "turns" VALUES(7,'owner','agent:main:laptop:direct:7','674df4733ceccbe8','Remember that the printer is on the second floor.','OK',1795165920.0,1795165920.0,0,0,1,0,0);
CREATE TABLE unreadable (         -- rows whose body could not be decoded, as they were
        id INTEGER PRIMARY KEY,
        scope TEXT NOT NULL,          -- '' where even that could not be read
        place TEXT NOT NULL,          -- the table that they stood in
        body TEXT NOT NULL
    );
INSERT INTO "unreadable" VALUES(1,'owner','turns','{');
CREATE TABLE usage (
            day TEXT PRIMARY KEY,
            extractions INTEGER NOT NULL DEFAULT 0
        , input_tokens INTEGER NOT NULL DEFAULT 0, output_tokens INTEGER NOT NULL DEFAULT 0, reserved_tokens INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
INSERT INTO "usage" VALUES('2026-11-20',3,400,50,0);
CREATE TABLE uses (               -- on which days a memory was recalled for a reply, or said again
        scope TEXT NOT NULL,
        memory TEXT NOT NULL,
        day TEXT NOT NULL,
        recalled INTEGER NOT NULL,
        repeated INTEGER NOT NULL,
        PRIMARY KEY (scope, memory, day)
    ) WITHOUT ROWID;
INSERT INTO "uses" VALUES('owner','s2zg6n65','2026-11-20',1,0);
CREATE TABLE uses_read (          -- up to which reply and receipt they were counted
        scope TEXT PRIMARY KEY,
        reply INTEGER NOT NULL,
        receipt INTEGER NOT NULL
    ) WITHOUT ROWID;
INSERT INTO "uses_read" VALUES('owner',5,3);
CREATE TABLE withheld_records (   -- session records of which something is not shown since it was forgotten
        scope TEXT NOT NULL,
        shown TEXT NOT NULL,
        whole TEXT NOT NULL,
        PRIMARY KEY (scope, shown)
    ) WITHOUT ROWID;
INSERT INTO "withheld_records" VALUES('owner','{"auto_generated": true, "brief": "- \u7528\u6237\u76ee\u6807\uff1a\n  - Remember that the staging port is 8443.\n  - I''m allergic to peanuts.\n  - \u6211\u559c\u6b22\u7528 Python\n  - \u6211\u4eec\u51b3\u5b9a\u8ba2\u5355\u7cfb\u7edf\u7528 PostgreSQL\uff0c\u4e0d\u7528 MongoDB\n- \u5df2\u5b8c\u6210\uff1a\n  - \u6211\u4eec\u51b3\u5b9a\u8ba2\u5355\u7cfb\u7edf\u7528 PostgreSQL\uff0c\u4e0d\u7528 MongoDB\n  - the staging port is 8443\n  - I''m allergic to peanuts\n  - \u6211\u559c\u6b22\u7528 Python\n  - OK\n  - bash: deployed build 42 to staging", "decisions": ["\u6211\u4eec\u51b3\u5b9a\u8ba2\u5355\u7cfb\u7edf\u7528 PostgreSQL\uff0c\u4e0d\u7528 MongoDB"], "id": "sum-091000000-9033", "layer": "end", "reason": "completed", "session_id": "343e953213dce58c", "summary": "- \u7528\u6237\u76ee\u6807\uff1a\n  - Remember that the staging port is 8443.\n  - I''m allergic to peanuts.\n  - \u6211\u559c\u6b22\u7528 Python\n  - \u6211\u4eec\u51b3\u5b9a\u8ba2\u5355\u7cfb\u7edf\u7528 PostgreSQL\uff0c\u4e0d\u7528 MongoDB\n- \u5df2\u5b8c\u6210\uff1a\n  - \u6211\u4eec\u51b3\u5b9a\u8ba2\u5355\u7cfb\u7edf\u7528 PostgreSQL\uff0c\u4e0d\u7528 MongoDB\n  - the staging port is 8443\n  - I''m allergic to peanuts\n  - \u6211\u559c\u6b22\u7528 Python\n  - OK\n  - bash: deployed build 42 to staging", "timestamp": "2026-11-20T09:10:00Z", "todos": [], "topic": "Remember that the staging port is 8443."}','{"id": "sum-091000000-9033", "session_id": "343e953213dce58c", "topic": "Remember that the staging port is 8443.", "summary": "- \u7528\u6237\u76ee\u6807\uff1a\n  - Remember that the staging port is 8443.\n  - I''m allergic to peanuts.\n  - \u6211\u559c\u6b22\u7528 Python\n  - \u6211\u4eec\u51b3\u5b9a\u8ba2\u5355\u7cfb\u7edf\u7528 PostgreSQL\uff0c\u4e0d\u7528 MongoDB\n- \u5df2\u5b8c\u6210\uff1a\n  - \u6211\u4eec\u51b3\u5b9a\u8ba2\u5355\u7cfb\u7edf\u7528 PostgreSQL\uff0c\u4e0d\u7528 MongoDB\n  - the staging port is 8443\n  - I''m allergic to peanuts\n  - \u6211\u559c\u6b22\u7528 Python\n  - OK\n  - bash: deployed build 42 to staging", "timestamp": "2026-11-20T09:10:00Z", "decisions": ["\u6211\u4eec\u51b3\u5b9a\u8ba2\u5355\u7cfb\u7edf\u7528 PostgreSQL\uff0c\u4e0d\u7528 MongoDB"], "todos": [], "brief": "- \u7528\u6237\u76ee\u6807\uff1a\n  - Remember that the staging port is 8443.\n  - I''m allergic to peanuts.\n  - \u6211\u559c\u6b22\u7528 Python\n  - \u6211\u4eec\u51b3\u5b9a\u8ba2\u5355\u7cfb\u7edf\u7528 PostgreSQL\uff0c\u4e0d\u7528 MongoDB\n- \u5df2\u5b8c\u6210\uff1a\n  - \u6211\u4eec\u51b3\u5b9a\u8ba2\u5355\u7cfb\u7edf\u7528 PostgreSQL\uff0c\u4e0d\u7528 MongoDB\n  - the staging port is 8443\n  - I''m allergic to peanuts\n  - \u6211\u559c\u6b22\u7528 Python\n  - OK\n  - bash: deployed build 42 to staging", "auto_generated": true, "layer": "end", "reason": "completed"}');
CREATE UNIQUE INDEX sessions_open ON sessions (key, scope) WHERE ended_at IS NULL;
CREATE INDEX turns_by_slot ON turns (slot, stage, id);
CREATE INDEX observations_by_session ON observations (session_id, id);
CREATE INDEX observations_by_age ON observations (at);
CREATE INDEX memories_by_turn ON memories (scope, turn) WHERE turn > 0;
CREATE INDEX memories_by_expiry ON memories (scope, expires) WHERE expires <> '' AND state = 'active';
CREATE INDEX replies_by_session ON replies (session_id, turn);
CREATE INDEX history_by_memory ON history (scope, memory, id);
CREATE INDEX changes_by_scope ON changes (scope, receipt);
CREATE INDEX events_by_scope ON events (scope, id);
CREATE INDEX events_by_plan ON events (plan) WHERE plan IS NOT NULL;
CREATE INDEX sessions_running ON sessions (seen_at) WHERE ended_at IS NULL;
CREATE INDEX memories_important ON memories (scope)
        WHERE state = 'active' AND importance = 'high' AND file <> 'MEMORY.md';
CREATE INDEX sessions_by_key ON sessions (key, scope, ended_at);
CREATE INDEX unreadable_by_scope ON unreadable (scope);
CREATE UNIQUE INDEX replies_by_turn_id ON replies (scope, session_key, turn_id) WHERE turn_id <> '';
CREATE INDEX episodes_by_scope ON episodes (scope, turn);
CREATE INDEX episodes_by_session ON episodes (scope, session_id, turn);
CREATE INDEX episodes_by_time ON episodes (scope, at);
CREATE INDEX transcript_messages_by_session ON transcript_messages (session_id);
CREATE INDEX requests_by_time ON requests (at);
CREATE INDEX reviews_by_state ON reviews (state, scope, at);
CREATE INDEX reviews_by_turn ON reviews (scope, turn);
CREATE INDEX memories_gone ON memories (scope, state) WHERE state <> 'active';
CREATE INDEX episodes_unread ON episodes (scope, at, turn) WHERE unread IN ('rules', 'model');
CREATE INDEX memories_outdating ON memories (scope) WHERE outdates <> '';
CREATE INDEX sessions_by_scope ON sessions (scope);
CREATE INDEX receipts_by_scope ON receipts (scope, id);
CREATE INDEX replies_by_scope ON replies (scope, turn);
CREATE INDEX links_by_target ON links (target);
CREATE INDEX episode_pages_behind ON episode_pages (scope, page) WHERE behind;
CREATE INDEX sessions_unsaved ON sessions (ended_at) WHERE state = 'unsaved';
CREATE INDEX session_stages ON session_memories (session_id) WHERE type = 'S';
CREATE INDEX marks_untold ON marks (scope, name) WHERE NOT told;
CREATE VIEW session_names AS      -- what each session counts as
        SELECT session_id, CASE WHEN ended_at IS NULL THEN 'open' ELSE 'ended' END AS name, 1 AS number FROM sessions
        UNION ALL SELECT session_id, 'state.' || state, 1 FROM sessions WHERE ended_at IS NOT NULL AND state <> ''
        UNION ALL SELECT session_id, 'errors', 1 FROM sessions WHERE error <> ''
        UNION ALL SELECT session_id, 'followups', followups FROM sessions WHERE followups <> 0;
CREATE TRIGGER sessions_new AFTER INSERT ON sessions BEGIN
        INSERT INTO session_totals SELECT name, 0, number FROM session_names WHERE session_id = NEW.session_id
            ON CONFLICT (name, shard) DO UPDATE SET number = number + excluded.number;
    END;
CREATE TRIGGER sessions_gone BEFORE DELETE ON sessions BEGIN
        INSERT INTO session_totals SELECT name, 0, -number FROM session_names WHERE session_id = OLD.session_id
            ON CONFLICT (name, shard) DO UPDATE SET number = number + excluded.number;
    END;
CREATE TRIGGER sessions_changing BEFORE UPDATE OF ended_at, state, error, followups ON sessions BEGIN
        INSERT INTO session_totals SELECT name, 0, -number FROM session_names WHERE session_id = OLD.session_id
            ON CONFLICT (name, shard) DO UPDATE SET number = number + excluded.number;
    END;
CREATE TRIGGER sessions_changed AFTER UPDATE OF ended_at, state, error, followups ON sessions BEGIN
        INSERT INTO session_totals SELECT name, 0, number FROM session_names WHERE session_id = NEW.session_id
            ON CONFLICT (name, shard) DO UPDATE SET number = number + excluded.number;
    END;
CREATE TRIGGER saved_sessions_new AFTER INSERT ON saved_sessions BEGIN
        INSERT INTO session_totals VALUES ('layer.' || NEW.layer, 0, 1)
            ON CONFLICT (name, shard) DO UPDATE SET number = number + 1;
    END;
CREATE TRIGGER saved_sessions_gone AFTER DELETE ON saved_sessions BEGIN
        UPDATE session_totals SET number = number - 1 WHERE name = 'layer.' || OLD.layer;
    END;
CREATE TRIGGER saved_sessions_changed AFTER UPDATE OF layer ON saved_sessions BEGIN
        UPDATE session_totals SET number = number - 1 WHERE name = 'layer.' || OLD.layer;
        INSERT INTO session_totals VALUES ('layer.' || NEW.layer, 0, 1)
            ON CONFLICT (name, shard) DO UPDATE SET number = number + 1;
    END;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('turns',7);
INSERT INTO "sqlite_sequence" VALUES('observations',13);
INSERT INTO "sqlite_sequence" VALUES('plans',5);
INSERT INTO "sqlite_sequence" VALUES('receipts',7);
INSERT INTO "sqlite_sequence" VALUES('history',10);
COMMIT;
