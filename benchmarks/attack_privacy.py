"""Privacy: no private span and no secret lies in any byte of a workspace, however it was written down."""

import html
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from random import Random
from typing import Final
from urllib.parse import quote

from attacks import PEOPLE, Try, answer_of, config, everything, shell, words

from gateway_memory import GatewayMemory

__all__ = ["privacy"]

FORMS: Final = (
    "<private>{secret}</private>", "<PRIVATE >{secret}</ private>", "＜private＞{secret}＜/private＞",
    "<pri\u00advate>{secret}</private>", "<\u00a0private>{secret}</private>", "<private>{secret}",
    "<ｐｒｉｖａｔｅ>{secret}</private>", "<p\u200drivate>{secret}</private>",
    "my password is {secret}", "password: {secret}", "password is:\n{secret}", "password (wifi): {secret}",
    "password → {secret}", "<password>{secret}</password>", '{{"password": "{secret}"}}', "DB_PASSWORD={secret}",
    "mysql -u root -p{secret} shop", "curl -u bob:{secret} https://x.example", "postgres://bob:{secret}@db.example/x",
    "my wifi password, {secret}, is old", "{secret} is my password", "passphrase = '{secret}'", "api_key: {secret}",
    "我的密码是{secret}", "密码是：\n{secret}", "密碼：{secret}", "{secret}是我的密码", "WiFi密码：{secret}",
    "密鑰是 {secret}", "暗号是{secret}", "银行卡密码 {secret}", "登录口令：{secret}",
    "Authorization: Bearer {secret}", "token: {secret}", "secret_key={secret}",
    "the door code is {secret}", "Type {secret} when the ATM asks for the PIN", "our gate code changed to {secret}",
    "the pw for the zip file's {secret}", "the temporary password they gave me was {secret}!",
    "passport 号码是 {secret}12", "我的 秘钥 是 {secret}", "门禁码是{secret}", "取件码：{secret}",
    "密码现在变成{secret}了",
    "curl -b 'session={secret}' https://x.example", "Cookie: sid={secret}", "我的 password 改成 {secret} 了",
    "password（wifi）：{secret}", "my recovery key: {secret}", "eth private key {secret}",
)  # fmt: skip
"""What makes the word behind it private, or a secret."""

Encoding = Callable[[str], str]
ENCODINGS: Final[dict[str, Encoding]] = {
    "as it is": lambda text: text,
    "JSON": lambda text: json.dumps({"output": text}, ensure_ascii=False),
    "JSON in ASCII": lambda text: json.dumps({"output": text}),
    "JSON without angles": lambda text: json.dumps({"output": text}).replace("<", "\\u003c").replace(">", "\\u003e"),
    "JSON in JSON": lambda text: json.dumps({"result": json.dumps({"output": text})}),
    "HTML": html.escape,
    "URL": quote,
    "HTML in JSON": lambda text: json.dumps({"output": html.escape(text)}),
    "URL in JSON": lambda text: json.dumps({"output": quote(text)}),
    "three layers": lambda text: json.dumps({"a": json.dumps({"b": json.dumps({"c": text})})}),
}  # fmt: skip


async def privacy(folder: Path, numbers: Random) -> AsyncIterator[Try]:
    """Every form in every encoding, by every way in: turns, tool output, and each field that a caller gives."""
    for number, (encoding, encode) in enumerate(ENCODINGS.items()):
        place = folder / str(number)
        secrets = {form: f"Xq7{words(numbers)}9Z" for form in FORMS}
        async with GatewayMemory(config(), place) as memory:
            for at, (form, secret) in enumerate(secrets.items()):
                text = encode(form.format(secret=secret))
                session = await memory.start_session(f"agent:main:{at}", **PEOPLE["owner"])
                for call in (
                    memory.after_reply(session, user=f"Remember that I like tea. {text}", reply=f"Noted. {text}"),
                    memory.observe(session, kind="tool", tool="bash", content=text),
                    memory.observe(session, kind="decision", content=f"we take tea {text}"),
                    memory.observe(session, kind="note", tool=text, content="tea"),
                    memory.save_fact(session, content=f"The user likes tea. {text}", entities=["tea", text]),
                    memory.save_fact(session, content=f"Stage one: tea. {text}", type="S"),
                    memory.save_summary(
                        session, topic=f"tea {text}", summary=f"tea {text}", decisions=[text], todos=[f"tea {text}"]
                    ),
                    memory.end_session(session, reason="completed"),
                ):
                    await answer_of(call)
            await memory.flush()
            opening = (await memory.start_session("agent:main:next", **PEOPLE["owner"])).opening
        _by_hooks(place, [encode(form.format(secret=secret)) for form, secret in secrets.items()])
        kept = everything(place)
        for form, secret in secrets.items():
            found = secret.encode() in kept or secret in opening
            yield Try(name=f"{form!r} as {encoding}", held=not found)


def _by_hooks(place: Path, texts: list[str]) -> None:
    """Play a session of an editor whose transcript holds the texts, as what was said and as tools' output."""
    lines: list[object] = []
    for at, text in enumerate(texts):
        use = {"type": "tool_use", "id": f"t{at}", "name": "Bash", "input": {"command": f"run {text}"}}
        result = {"type": "tool_result", "tool_use_id": f"t{at}", "content": text, "is_error": at % 2 == 0}
        for role, content in (("user", f"We brew tea. {text}"), ("assistant", [use]), ("user", [result])):
            lines.append({"type": role, "message": {"role": role, "content": content}})
    transcript = place.parent / f"{place.name}.jsonl"
    transcript.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    given = {"conversation_id": "editor", "transcript_path": str(transcript), "status": "completed", "reason": "done"}
    for event in ("sessionStart", "preCompact", "stop", "sessionEnd"):
        shell("hook", event, "--workspace", str(place), given=json.dumps(given).encode())
    transcript.unlink()
