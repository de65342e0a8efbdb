"""What is private and secret in every form, and the encodings that may hide it, one within another."""

import html
import json
import urllib.parse
from collections.abc import Callable

from extractor.cleaning.layers import views

__all__ = ["ENCODINGS", "SECRET", "TOLD", "encoded", "says"]

SECRET = "Zq7mNeedle91"
TOLD = [
    f"my password is {SECRET}, ok?",
    f"我的密码是{SECRET}，别忘了",
    f"密码：\n{SECRET}\n",
    f'x "password": "a b {SECRET}" y',
    f"<password>{SECRET}</password>",
    f"{SECRET} 是我的密碼",
    f"<private>{SECRET} 生病了</private> and more",
    f"<private>{SECRET} is never closed",
    f"{SECRET} was opened elsewhere</private> and more",
    f"＜ｐｒｉｖａｔｅ＞{SECRET}＜/ｐｒｉｖａｔｅ＞ 好",
    f"<pri\u00advate>{SECRET}</priv\u200date> fine",
    f"<\u00a0private\u00a0>{SECRET}</private> fine",
    f"&lt;private&gt;{SECRET}&lt;/private&gt; fine",
]


def each_letter(form: str) -> Callable[[str], str]:
    return lambda text: "".join(form.format(ord(letter)) if ord(letter) < 0x10000 else letter for letter in text)


ENCODINGS: dict[str, Callable[[str], str]] = {
    "json": lambda text: json.dumps({"content": text}, ensure_ascii=False),
    "json, ascii": lambda text: json.dumps([text]),
    "json, slashes": lambda text: json.dumps({"a": text}).replace("/", "\\/").replace("<", "\\u003c"),
    "every letter": each_letter("\\u{:04x}"),
    "entities": html.escape,
    "decimal entities": each_letter("&#{};"),
    "hexadecimal entities": each_letter("&#x{:X};"),
    "url": urllib.parse.quote,
    "form": urllib.parse.quote_plus,
    "every byte": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
    "python": repr,
    "python, ascii": ascii,
    "python, bytes": lambda text: repr(text.encode()),
}


def encoded(text: str, encodings: list[str]) -> str:
    """The text in these encodings, the first one innermost."""
    for name in encodings:
        text = ENCODINGS[name](text)
    return text


def says(text: str) -> bool:
    """Whether a text says the secret, to whoever decodes it in any way."""
    return any(SECRET in view.text for view in views(text))
