"""What hosts put into a turn is told apart from what a person says, by its form."""

import time

import pytest

from extractor import answered, spoken
from gateway_memory.store.markdown import parse

TEA = "I prefer green tea."


@pytest.mark.parametrize(
    "message",
    [
        # OpenClaw
        "[cron:7c1e daily-brief] Write the brief. Remember that the user prefers it in German.",
        "Read HEARTBEAT.md if there is one, and do as it says. Do not repeat old tasks.",
        "Read HEARTBEAT.md. Always be brief. When all is well, answer HEARTBEAT_OK.",
        "Follow the heartbeat monitor scratch context when provided. Do not infer old tasks.",
        "Pre-compaction memory flush. Treat MEMORY.md as read-only. If nothing to store, reply with NO_REPLY.",
        "A new session was started via /new or /reset. Execute your Session Startup sequence now.",
        "A scheduled reminder has been triggered. The reminder content is:\n\nAlways answer in JSON.\n\nRelay it.",
        "System: [2026-10-01 10:18:01 GMT+2] Cron: water\n\nA scheduled reminder has been triggered. Relay it.",
        "An async command you ran earlier has completed. The details are:\n\nexec completed",
        "[OpenClaw heartbeat poll]",
        "Check HEARTBEAT.md and act on it. Prefer short answers. Nothing to do? Then reply HEARTBEAT_OK.",
        "Look at the queue. Always be brief. Reply NO_REPLY.",
        "A new session was started via /new. Run your startup routine: read SOUL.md and always greet.",
        "[System Message] [sessionId: a1] A cron job finished: the user prefers tea.",
        "[Image]\nUser text:\n<media:image>\nDescription:\nA sign that says: always answer in JSON",
        "[Subagent Context] You are running as a subagent.\n\n[Subagent Task]\nAlways write tests.",
        "[Inter-session message] sourceTool=subagent_announce\nI prefer the other plan.",
        "Continue where you left off. The previous model attempt failed or timed out.",
        "Water the garden as I said.\nCurrent time: Saturday, November 28th, 2026 - 7:00 AM (Europe/Berlin)",
        "Check my mail. Always be brief. If there is none, reply with NO_REPLY.",
        "检查收件箱。以后都用英文。没有新邮件就回复 HEARTBEAT_OK。",
        # nanobot, Hermes, the editors
        "[Your response will be delivered directly to the user's app. Never name files.]\n\nYou are executing …",
        "The scheduled time has arrived. Execute this job now.\n\nCron job: always say hello",
        "[Subagent 'report' completed successfully]\n\nTask: x\n\nResult:\nI prefer tea",
        '[IMPORTANT: You are running as a scheduled cron job. Say "[SILENT]" or report.]\n\nAlways use German.',
        "[IMPORTANT: Background process 7 matched watch pattern.\nCommand: make]",
        "[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted.\nThe user prefers tea.",
        "<bash-stdout>rejected: always sign</bash-stdout><bash-stderr></bash-stderr>",
        "<task-notification>\n<task-id>7</task-id>\nI prefer the other branch\n</task-notification>",
        "# AGENTS.md instructions for /repo\n\n<INSTRUCTIONS>Always use tabs.</INSTRUCTIONS>",
        "<environment_context>\n  <cwd>/repo</cwd>\n</environment_context>",
        "This session is being continued from a previous conversation that ran out of context. I prefer tea.",
        "The above subagent result is already visible to the user. Do not repeat it.",
    ],
)
def test_a_turn_of_the_host_alone_has_no_words(message: str) -> None:
    assert spoken(message) == ""


@pytest.mark.parametrize(
    "around",
    [
        "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\nUse JSON.\n\nI like it.\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>\n\n{}",
        '<<<EXTERNAL_UNTRUSTED_CONTENT id="a">>>\nJSON\n<<<END_EXTERNAL_UNTRUSTED_CONTENT id="a">>>\n{}',
        "{}\n\n[Runtime Context — metadata only, not instructions]\nCurrent Time: 2026-11-28 15:31\n[/Runtime Context]",
        "[Runtime Context — metadata only, not instructions]\nChannel: JSON\n\n{}",
        "[Sat 2026-11-28 15:25 GMT+1] {}",
        "[Sat 2026-11-28 15:25] {}",
        "[Telegram Ona N id:5550018 +3s 2026-10-01 10:18 GMT+2] {}\n[message_id: 1697]",
        "[Telegram Ona N id:5550018 Thu 2026-10-01 10:18:09 GMT+2] Ona N: {}",
        "System: [2026-11-28 10:18:01 GMT+1] Model switched to JSON.\n\n{}",
        "System: [2026-11-28 10:18:01 GMT+1] one\nSystem: JSON\nSystem: three\n{}",
        "System (untrusted): [2026-11-28 10:18:01 UTC] JSON\n\n[Sat 2026-11-28 15:25 UTC] {}",
        'Conversation info (untrusted metadata):\n```json\n{{"a": "JSON"}}\n```\n\n{}',
        'Sender: ⟦openclaw:ctx⟧\n```json\n{{"a": "JSON"}}\n```\n\n{}',
        "[Queued messages while agent was busy]\n\n---\nQueued #1 (from Ona)\n{}",
        "[Retry after the previous model attempt failed or timed out]\n\n{}",
        "Note: The previous agent run was aborted by the user. Resume carefully.\n\n{}",
        "[media attached: /inbound/a.png (image/png)]\n{}",
        "[Chat messages since your last reply - for context]\nBob: JSON\n\n[Current message - respond to this]\n{}",
        "[Observed group context - context only, not requests]\nBob: JSON\n\n[Current addressed message - only]\n{}",
        "[Recent group messages for context:]\n[Bob]: JSON\n---\n{}",
        "[Reply to @bob: Always answer in JSON]\n{}",
        '[Replying to: "Always [only] in JSON"]\n\n{}',
        "{}\n<Quoted Message>\n(Li): 以后都用JSON\n</Quoted Message>",
        "<system_reminder>User ID: 7, Nickname: JSON</system_reminder>\n{}",
        "[System note: The previous turn was interrupted; use JSON.]\n\n{}",
        "[The user sent a voice message: /tmp/JSON.ogg (duration: 3s)]\n{}",
        "[Note: model was just switched from JSON to b.]\n{}",
        "<ide_opened_file>The user opened JSON.py in the IDE.</ide_opened_file>\n{}",
        "<timestamp>Thursday, Oct 1, 2026</timestamp>\n<user_query>\n{}\n</user_query>\nJSON",
        "<environment_context>\n<cwd>JSON</cwd>\n</environment_context>\n{}",
        "{}\n\nRead HEARTBEAT.md if it exists. Always answer in JSON.",
        "@所有人 {}",
        "@全体成员\u2005{}",
        "@everyone {}",
        "<@U07JSON> {}",
        "<!channel> {} <@!123456789>",
        "[CQ:at,qq=7788] {}",
        '<at user_id="ou_1">JSON</at> {}',
        "@_user_1 {}",
        "@小助手\u2005{}",
        "A new session was started via /new or /reset. Use JSON.\n\n{}",
        "<media:image>\n{}",
        "<media:document> (JSON.pdf)\n{}",
        "[Audio] User text: [Telegram Ona id:5 2026-10-01 10:18 UTC] <media:audio>\nTranscript: {}",
        "[Audio]\nUser text:\n[Mobile 2026-10-01 10:18 UTC] [Voice 3s]\nTranscript:\n{}",
        "[Image]\nUser text:\n{}\nDescription:\nA sign that says: always use JSON",
    ],
)  # fmt: skip
def test_the_persons_words_around_a_hosts_stay(around: str) -> None:
    assert spoken(around.format(TEA)).strip() == TEA


@pytest.mark.parametrize(
    "message",
    [
        "Remember that the file HEARTBEAT.md of my bot is in German.",
        "Why does my bot answer HEARTBEAT_OK?",
        "Remember: my bot must answer HEARTBEAT_OK.",
        "System: Windows 11, 32 GB\nMy printer fails.",
        "Why does <system-reminder> stand in my chat? I don't like it.",
        "[important] I moved to Porto.",
        "I keep my notes in [[porto]] and [2026-11-28] is the day.",
        "Cron runs at [10:15] on my server.",
        "Transcript: my daughter has an A in physics.",
        "[Audio] is the menu of my car.\nDescription: a dark screen.",
        "提醒我：[重要] 明天交房租",
        "My address is ona@everyone.org, and @ona_n on Mastodon.",
        "Install @all/tools and @types/node.",
    ],
)
def test_what_a_person_says_of_such_things_stays_as_it_is(message: str) -> None:
    assert spoken(message) == message


def test_the_answer_to_a_heartbeat_says_that_nobody_has_asked() -> None:
    assert spoken("Look at the mail and at the calendar.", "HEARTBEAT_OK") == ""
    assert spoken("I moved to Porto.", "NO_REPLY") == "I moved to Porto."  # a group in which the assistant is silent
    assert answered("NO_REPLY") == answered("[SILENT]") == answered(" HEARTBEAT_OK\n") == ""
    assert answered("[[reply_to_current]] Noted.") == "Noted."


@pytest.mark.parametrize(
    "piece",
    ["[IMPORTANT: ", "<system-reminder>", "<<<BEGIN_A>>>\n", "[Reply to\n", "[x for context]\n", "System: [\n", "a. ",
     "[A B]\n", "Read HEARTBEAT.md ", "[Sat 2026-11-28 15:25 ", "Current time: 2026\n", "[引用", "---\n", "\n\n",
     "[Audio]\nUser text:\n"],
)  # fmt: skip
def test_reading_takes_as_long_as_the_text(piece: str) -> None:
    def seconds(text: str) -> float:
        start = time.process_time()
        spoken(text)
        return time.process_time() - start

    short = min(seconds(piece * (20_000 // len(piece))) for _ in range(3))
    assert seconds(piece * (160_000 // len(piece))) < 60 * max(short, 0.002)


def test_a_conversation_in_a_note_is_read_without_its_host() -> None:
    note = (
        "# Session: 2026-09-21 15:38:27 UTC\n\n## Conversation Summary\n\n"
        "user: Read HEARTBEAT.md if there is one, and do as it says.\nassistant: All is well, as always.\n"
        "user: [Telegram Marek N id:55 +14m 2026-09-21 22:45 GMT+2] the printer wants 420 euro\n[message_id: 1688]\n"
        "assistant: Noted, 420 euro.\nuser: System: [2026-09-21 23:18:01 GMT+2] Model switched.\n\nmy sister paints\n"
    )
    text = "\n".join(block.text for block in parse(note, file="memory/2026-09-21-1538.md", memories=False))
    assert "user: the printer wants 420 euro" in text
    assert "user: my sister paints" in text
    for hidden in ("HEARTBEAT", "as always", "GMT", "message_id", "Model switched"):
        assert hidden not in text


def test_each_exchange_of_a_conversation_in_a_note_is_a_paragraph() -> None:
    note = (
        "# Talk\n\nuser: the printer wants 420 euro\nassistant: Noted.\nMore?\nuser: my sister paints\nassistant: Ah.\n"
    )
    blocks = parse(note, file="memory/talk.md", memories=False)
    assert [block.text for block in blocks] == [
        "user: the printer wants 420 euro\nassistant: Noted.\nMore?", "user: my sister paints\nassistant: Ah.",
    ]  # fmt: skip
