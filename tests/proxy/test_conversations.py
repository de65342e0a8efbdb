"""Conversations: whose, which, and what of them is kept; and no byte changes that was sent before."""

import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import httpx2
import pytest
from fronted import Front, assistant, user
from upstream import chat, chat_stream

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("service")]

Messages = list[dict[str, Any]]


def webui(person: str, chat_id: str) -> dict[str, str]:
    """The headers of Open WebUI."""
    return {"x-openwebui-user-id": person, "x-openwebui-user-name": f"{person}%20X", "x-openwebui-chat-id": chat_id}


def lived(front: Front, person: str) -> str:
    """What is remembered of a user of Open WebUI."""
    front.flush()
    speaker = {"key": "k", "channel": "openwebui", "chat_type": "direct", "sender_id": person}
    return json.dumps(front.served.answer("list_memories", {"speaker": speaker})["rows"], ensure_ascii=False)


def said(front: Front, person: str) -> list[tuple[str, str]]:
    """What was said by and to a user of Open WebUI, oldest first."""
    front.flush()
    speaker = {"key": "k", "channel": "openwebui", "chat_type": "direct", "sender_id": person}
    rows = front.served.answer("list_episodes", {"speaker": speaker})["rows"]
    return [(row["user"], row["reply"]) for row in reversed(rows)]


def host(front: Front) -> str:
    """The base URL with the host's token, which Open WebUI has for all of its users."""
    return front.base(front.served.tokens["main"])


def begins_with(later: Mapping[str, Any], earlier: Mapping[str, Any]) -> bool:
    """Whether a request's messages begin with all of those of the one before."""
    before: Messages = earlier["messages"]
    return bool(later["messages"][: len(before)] == before)


def test_each_request_begins_with_the_whole_of_the_one_before(front: Front) -> None:
    base = front.base(front.token("prefix"))
    other = front.base(front.token("prefix"))
    history: Messages = [{"role": "system", "content": "Be brief."}]
    for number in range(12):
        history.append(user(f"Tell me something, number {number}. What colour has door {number - 1}?"))
        front.say(base, *history)
        history.append(assistant("I see."))
        front.say(other, user(f"Remember that door {number} is colour{number}."))
        front.flush()
    ours = [body for body in front.model.bodies() if body["messages"][0]["content"].startswith("Be brief.")]
    assert len(ours) == 12
    assert all(begins_with(later, earlier) for earlier, later in pairwise(ours))
    assert any("colour10" in message["content"] for message in ours[-1]["messages"])
    assert len(front.turns("prefix")) == 24


def test_users_behind_one_host_are_apart(front: Front) -> None:
    base = host(front)
    front.say(base, user("Remember that my cat is called Mo."), **webui("u1", "c1"))
    front.flush()
    front.say(base, user("What is my cat called?"), **webui("u1", "c2"))
    assert "Mo" in front.model.asked[-1].body.decode()
    front.say(base, user("What is my cat called?"), **webui("u2", "c3"))
    assert "Mo" not in front.model.asked[-1].body.decode()
    assert "Mo" in lived(front, "u1")
    assert "Mo" not in lived(front, "u2")


def test_headers_without_a_hosts_token_say_nothing(front: Front) -> None:
    for base in (f"{front.served.url}/openai/v1", front.base("gm-" + "x" * 43)):
        reply = front.say(base, user("Remember that forged things are kept."), **webui("u1", "c9"))
        assert reply.headers["x-gateway-memory"] == "nobody"
    mine = front.base(front.token("mine"))
    front.say(mine, user("What is my cat called?"), **webui("u1", "c9"))
    assert "Mo" not in front.model.asked[-1].body.decode(), "a person's token is good for that person alone"
    assert "forged" not in lived(front, "u1")


def test_a_task_of_the_client_passes_untouched_and_is_kept_nowhere(front: Front) -> None:
    base, who = host(front), webui("tasks", "t1")
    front.say(base, user("Remember that the boat is blue."), **who)
    tasks = [
        "### Task:\nGenerate a concise title.\n<chat_history>\nUSER: Remember\n</chat_history>",
        "### Task:\nYou are an autocompletion system.\n<type>General</type>\n<text>Remember that</text>\n### Output:",
        "Provide a concise, 5-word-or-less title for the conversation, using title case.\nUser: Remember that …",
        "Sum this up in three words, and nothing else.\n\nUser: Remember that the boat is blue.\nAI: I see.",
    ]
    for task in tasks:
        front.say(base, user(task), **who)
        assert front.model.bodies()[-1]["messages"] == [user(task)]
    front.say(base, user("Write 2 tags for this, please."), x_gateway_memory_task="tags_generation", **who)
    assert front.model.bodies()[-1]["messages"] == [user("Write 2 tags for this, please.")]
    history = [user("Remember that the boat is blue."), assistant("I see.")]
    title = "Please generate a four to five word title summarizing our conversation without any lead-in."
    front.say(base, *history, user(title), **who)
    assert front.model.bodies()[-1]["messages"][-1] == user(title)
    assert said(front, "tasks") == [("Remember that the boat is blue.", "I see.")]


def test_an_answer_that_is_made_again_is_one_turn_and_the_request_the_same(front: Front) -> None:
    base, who = host(front), webui("again", "r1")
    for _ in range(3):
        front.say(base, user("Remember that the loft is dry."), **who)
    bodies = front.model.bodies()
    assert bodies[0] == bodies[1] == bodies[2]
    assert len(said(front, "again")) == 1


def test_an_answer_that_is_made_again_takes_the_place_of_the_first(front: Front) -> None:
    base, who = host(front), webui("anew", "n1")
    history = [user("Remember that I like figs. What shall I cook?")]
    for reply in ("A quiche.", "A tagine."):
        front.model.script.append(chat(reply))
        front.say(base, *history, **who)
        front.flush()
    assert said(front, "anew") == [(history[0]["content"], "A tagine.")]
    assert lived(front, "anew").count("figs") == 1
    front.model.script.append(chat_stream("Half ", "of", breaks=True))
    with pytest.raises(httpx2.RemoteProtocolError):
        front.post(base, {"model": "m", "stream": True, "messages": history}, **who)
    assert said(front, "anew") == [(history[0]["content"], "A tagine.")], "half an answer is none"
    token = front.base(front.token("anew"))  # a client that names no conversation
    front.say(token, user("Hello"))
    history = [user("Hello"), assistant("I see."), user("Which soup?")]
    for reply in ("Leek soup.", "Fish soup."):
        front.model.script.append(chat(reply))
        front.say(token, *history)
    assert [turn["reply"] for turn in front.turns("anew")] == ["Fish soup.", "I see."]
    front.say(token, *history, assistant("Fish soup."), user("Thanks"))
    assert len({turn["session"] for turn in front.turns("anew")}) == 1


def test_an_answer_that_is_continued_is_kept_whole(front: Front) -> None:
    base, who = host(front), webui("longer", "n2")
    asked = user("Tell me of the ferry.")
    front.model.script += [chat("It leaves", reason="length"), chat(" at nine.")]
    front.say(base, asked, **who)
    front.say(base, asked, assistant("It leaves"), **who)
    assert said(front, "longer") == [("Tell me of the ferry.", "It leaves at nine.")]


def test_an_edited_message_takes_the_place_of_the_one_before(front: Front) -> None:
    base, who = host(front), webui("edits", "e1")
    front.say(base, user("I live in Berlin."), **who)
    front.flush()
    front.say(base, user("I live in Madrid."), **who)
    assert "Madrid" in lived(front, "edits")
    assert "Berlin" not in lived(front, "edits")
    assert [turn[0] for turn in said(front, "edits")] == ["I live in Madrid."]
    history = [user("I live in Madrid."), assistant("I see.")]
    front.say(base, *history, user("My sister is called Ada."), **who)
    front.say(base, *history, user("My sister is called Eda."), **who)
    assert "Eda" in lived(front, "edits")
    assert "Ada" not in lived(front, "edits")


def test_a_branch_leaves_the_other_one_and_gets_what_that_was_told(front: Front) -> None:
    base, who = host(front), webui("branch", "b1")
    front.say(base, user("Remember that the kayak is in the shed."), **webui("branch", "b0"))
    front.flush()
    history = [user("Hello"), assistant("I see.")]
    front.say(base, history[0], **who)
    front.say(base, *history, user("Remember that Tom likes figs."), **who)
    front.say(base, *history, user("We decided to paint the kitchen yellow on Monday."), **who)
    front.flush()
    known = lived(front, "branch")
    assert "figs" in known
    assert "yellow" in known


def test_a_history_that_is_sent_again_is_kept_once(front: Front) -> None:
    base, who = host(front), webui("history", "h1")
    history = [user("I have told this elsewhere."), assistant("Yes."), user("And that, too."), assistant("Yes.")]
    for _ in range(2):
        front.say(base, *history, user("Remember that the pump is new."), **who)
    assert said(front, "history") == [("Remember that the pump is new.", "I see.")]


def test_a_loop_of_tool_calls_changes_nothing_and_is_one_turn(front: Front) -> None:
    base, who = host(front), webui("tools", "l1")
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    front.model.script.append(chat("", "tool_calls", tool_calls=[call]))
    first = [user("Remember that the well is deep. And look outside.")]
    front.say(base, *first, **who)
    loop = [*first, {"role": "assistant", "content": None, "tool_calls": [call]}]
    loop.append({"role": "tool", "tool_call_id": "c1", "content": "it rains"})
    front.say(base, *loop, **who)
    one, two = front.model.bodies()
    assert begins_with(two, one)
    assert two["messages"][1:] == loop[1:]
    assert said(front, "tools") == [("Remember that the well is deep. And look outside.", "I see.")]


def test_without_an_id_a_conversation_is_told_by_its_words(front: Front) -> None:
    base = front.base(front.token("words"))
    history: Messages = []
    for text in ("Remember that the tent leaks.", "Which colours are there?", "Remember that the stove is red."):
        history.append(user(text))
        front.say(base, *history)
        history.append(assistant("I see."))
    bodies = front.model.bodies()
    assert all(begins_with(later, earlier) for earlier, later in pairwise(bodies))
    turns = front.turns("words")
    assert len({turn["session"] for turn in turns}) == 1
    front.say(base, *history[-2:], user("A client that keeps the last exchange alone."))
    assert len({turn["session"] for turn in front.turns("words")}) == 1
    front.say(base, user("Something else."))
    assert len({turn["session"] for turn in front.turns("words")}) == 2


def test_a_new_chat_with_the_same_words_knows_what_was_learnt_since(front: Front) -> None:
    base = front.base(front.token("same"))
    question = user("Which fruit do I like?")
    front.say(base, question)
    front.say(base, user("Remember that my favourite fruit is the medlar."))
    front.flush()
    front.say(base, question)
    assert "medlar" in front.model.asked[-1].body.decode()
    front.say(base, question, assistant("I see."), user("Thanks"))
    assert begins_with(front.model.bodies()[-1], front.model.bodies()[-2])


def test_commands_are_answered_without_a_model(front: Front) -> None:
    base = front.base(front.token("commands"))
    front.say(base, user("Remember that the bell is brass."))
    front.flush()
    front.model.asked.clear()
    reply = front.say(base, user("/memory list"))
    assert "brass" in reply.json()["choices"][0]["message"]["content"]
    streamed = front.post(base, {"model": "m", "stream": True, "messages": [user("/memory list")]})
    assert streamed.headers["content-type"].startswith("text/event-stream")
    assert "brass" in streamed.text
    assert streamed.text.endswith("data: [DONE]\n\n")
    assert front.model.asked == []
    assert len(front.turns("commands")) == 1


def test_a_tag_in_the_system_prompt_names_the_person_and_is_cut_out(front: Front) -> None:
    token = front.token("tag")
    open_base = f"{front.served.url}/openai/v1"
    system = {"role": "system", "content": f"Be kind.\ngateway-memory: {token}\nBe brief."}
    front.say(open_base, system, user("Remember that the sledge is fast."))
    sent = front.model.bodies()[-1]["messages"][0]["content"]
    assert sent.startswith("Be kind.\nBe brief.")
    assert token not in front.model.asked[-1].body.decode()
    assert "sledge" in json.dumps(front.turns("tag"))
    unknown = {"role": "system", "content": f"gateway-memory: gm-{'x' * 43}"}
    reply = front.say(open_base, unknown, user("Hello"))
    assert reply.headers["x-gateway-memory"] == "nobody"
    assert "gm-" not in front.model.asked[-1].body.decode()


def test_pictures_and_unknown_fields_go_through(front: Front) -> None:
    base = front.base(front.token("pictures"))
    front.say(base, user("Remember that the vase is Ming."))
    front.flush()
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}}
    parts = [picture, {"type": "text", "text": "Is this the vase?"}]
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": parts, "name": "me"}],
        "x_own": {"a": [1, None, 0.5]},
    }
    front.post(base, body)
    sent = front.model.bodies()[-1]
    assert sent["x_own"] == body["x_own"]
    assert sent["messages"][-1]["content"][0] == picture
    assert sent["messages"][-1]["content"][-1] == parts[-1]
    assert sent["messages"][-1]["name"] == "me"


def test_a_broken_stream_keeps_the_users_words_and_the_next_try_is_the_same_turn(front: Front) -> None:
    base, who = host(front), webui("broken", "x1")
    front.model.script.append(chat_stream("The ", "well", breaks=True))
    body = {"model": "m", "stream": True, "messages": [user("Remember that the hut is open.")]}
    with pytest.raises(httpx2.RemoteProtocolError):  # as the upstream's stream broke, so does ours
        front.post(base, body, **who)
    assert said(front, "broken") == [("Remember that the hut is open.", "")]
    front.post(base, body, **who)
    assert said(front, "broken") == [("Remember that the hut is open.", "I see.")]


def test_documents_that_a_client_puts_around_the_words_are_not_the_words(front: Front) -> None:
    base, who = host(front), webui("docs", "d1")
    around = (
        "### Task:\nRespond to the user query using the provided context.\n<context>\nThe moon is near.\n</context>\n"
    )
    front.say(base, user(f"{around}Remember that the map is old."), **who)
    assert said(front, "docs") == [("Remember that the map is old.", "I see.")]
