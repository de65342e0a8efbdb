"""Rows of secrets that need no name: issuers' prefixes, and the places for secrets in URLs, headers and command lines.

The forms are the issuers' documented ones. A row is tried only if the text contains its needle, and each pattern starts
with a literal or a bounded class, so that a message without secrets costs a few substring searches. A look-behind after
the literal lets a run of word characters be tried once, at its start, so that no text makes a pattern quadratic.
"""

import re
from typing import Final

__all__ = ["PLACED", "TOKENS"]

TOKENS: Final[tuple[tuple[str, str, re.Pattern[str]], ...]] = tuple(
    (kind, needle, re.compile(pattern, re.ASCII))
    for kind, needle, pattern in (
        ("anthropic key", "sk-ant-", r"sk-ant-(?<![\w-]sk-ant-)[\w-]{16,}"),
        ("openrouter key", "sk-or-", r"sk-or-(?<![\w-]sk-or-)v\d-[\w-]{16,}"),
        ("stripe key", "_live_", r"(?<!\w)[srp]k_live_[A-Za-z0-9]{10,}"),
        ("stripe key", "_test_", r"(?<!\w)[srp]k_test_[A-Za-z0-9]{10,}"),
        ("stripe key", "whsec_", r"whsec_(?<!\wwhsec_)[A-Za-z0-9_+/=]{10,}"),
        # Also the form of most OpenAI-compatible providers. The digit excludes hyphenated phrases.
        ("openai key", "sk-", r"sk-(?<![\w-]sk-)(?=[A-Za-z_-]*\d)[\w-]{16,}"),
        ("aws key", "A", r"(?<![A-Z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
        ("github token", "gh", r"gh[opsur]_(?<!\wgh\w_)[A-Za-z0-9]{20,}"),
        ("github token", "github_pat_", r"github_pat_(?<!\wgithub_pat_)\w{20,}"),
        ("gitlab token", "glpat-", r"glpat-(?<![\w-]glpat-)[\w-]{18,}"),
        ("slack token", "xox", r"xox[abceoprs][-.](?<!\wxox\w[-.])[A-Za-z0-9-]{10,}"),
        ("slack token", "xapp-", r"xapp-(?<!\wxapp-)\d-[A-Za-z0-9-]{10,}"),
        ("slack webhook", "hooks.slack.com/", r"hooks\.slack\.com/(?:services|workflows)/[\w/]{10,}"),
        ("google key", "AIza", r"AIza(?<![\w-]AIza)[\w-]{30,}"),
        ("google token", "ya29.", r"ya29\.(?<![\w-]ya29\.)[\w-]{20,}"),
        ("google key", "GOCSPX-", r"GOCSPX-(?<![\w-]GOCSPX-)[\w-]{20,}"),
        ("hugging face token", "hf_", r"hf_(?<!\whf_)[A-Za-z0-9]{20,}"),
        ("npm token", "npm_", r"npm_(?<!\wnpm_)[A-Za-z0-9]{30,}"),
        ("pypi token", "pypi-", r"pypi-(?<![\w-]pypi-)AgE[\w-]{40,}"),
        ("sendgrid key", "SG.", r"SG\.(?<![\w-]SG\.)[\w-]{16,64}\.[\w-]{16,}"),
        ("groq key", "gsk_", r"gsk_(?<!\wgsk_)[A-Za-z0-9]{20,}"),
        ("grafana token", "glsa_", r"glsa_(?<!\wglsa_)\w{20,}"),
        ("xai key", "xai-", r"xai-(?<![\w-]xai-)[A-Za-z0-9]{20,}"),
        ("digitalocean token", "_v1_", r"(?<!\w)do[opr]_v1_[0-9a-f]{40,}"),
        ("alibaba cloud key", "LTAI", r"LTAI(?<!\wLTAI)[A-Za-z0-9]{12,30}(?!\w)"),
        ("tencent cloud key", "AKID", r"AKID(?<!\wAKID)[A-Za-z0-9]{28,40}(?!\w)"),
        ("telegram bot token", ":AA", r"(?<!\d)\d{8,10}:AA[\w-]{30,40}"),
        ("jwt", "eyJ", r"eyJ(?<![\w-]eyJ)[\w-]{8,}\.eyJ[\w-]{6,}(?:\.[\w-]*)?"),
        ("private key", "-----BEGIN", r"(?s)-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]{0,40}"
         r"PRIVATE KEY(?: BLOCK)?-----|\Z)"),  # without its end, all of the rest is the key
    )
)  # fmt: skip
"""(kind, needle, pattern). The order matters: special ones first."""

_ARGUMENT: Final = r"(?!\[masked)(?P<value>\"[^\"\n]{1,100}\"|'[^'\n]{1,100}'|[^\s\"'|;]{3,200})"
_MIXED: Final = r"(?=[^\s\d]{0,60}\d)(?=[^\sa-z]{0,60}[a-z])"
PLACED: Final[tuple[tuple[str, str, re.Pattern[str]], ...]] = tuple(
    (kind, needle, re.compile(r"(?i)" + pattern))
    for kind, needles, pattern in (
        ("password", "://", r"://[^\s/:@\[]{0,100}:(?!\[masked:)(?P<value>[^\s/]{1,200})(?=@[\w\[])"),
        ("password", "://", rf"https?://(?P<value>{_MIXED}[\w-]{{12,200}})(?=@[\w.-]{{3,100}})"),
        # Without a scheme only before a port or a path: `email:bob42@example.com` is an address.
        ("password", "@", r"(?<![\w.+:/@-])[\w.+-]{1,64}:(?P<value>(?=[^\s/@:\d]{0,60}\d)[^\s/@:]{4,128})"
         r"(?=@[\w.-]{1,100}(?::\d{2,5}\b|/\w))"),
        ("password", "@", r"(?<![\w.+:/@-])[\w.+-]{1,64}@[\w-]{1,60}\.[\w.-]{1,60}:(?P<value>(?=[^\s/@:\d]{0,60}\d)[^\s/@:]{6,128})(?!\S)"),
        ("password", "-u", r"(?:-u|--user)(?<!\S-u)(?<!\S--user)[ =]?[\"']?[\w.@+-]{1,64}:(?![\d\[]+\b)(?P<value>[^\s\"'\[]{3,128})"),
        ("bearer token", "bearer", r"\bbearer[ \t]{1,8}(?=[^\s\d]{0,200}\d)(?=[\d.~+/=-]{0,200}[a-z])(?P<value>[\w.~+/=-]{8,})"),
        ("password", "authorization", r"\bauthorization[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?(?:basic[ \t]{1,8}(?P<value>[A-Za-z0-9+/=]{8,})"
         rf"|(?:[a-z-]{{2,20}}[ \t]{{1,4}})?(?!\[masked|[$<{{]){_MIXED}(?P<other>[\w.~+/=-]{{8,400}}))"),
        ("cookie", "cookie", r"(?<![a-z])(?:set-)?cookie[ \t]{0,4}:[ \t]{0,4}(?P<value>(?=[\w.-]{1,60}=)[^\n\"']{1,4096})"),
        ("cookie", "curl", r"\bcurl\b[^\n|]{0,300}?[ \t](?:-b|--cookie)[ =]?[\"']?(?P<value>[\w.-]{1,60}=[^\n\"']{3,4096}?)(?=[\"'\s]|\Z)"),
        ("cookie", "document.cookie", r"document\.cookie[ \t]?=[ \t]?[\"'](?P<value>[^\"'\n]{3,4096})"),
        ("session id", "sess sid srf", r"(?<![a-z])(?:(?:php|j)?sess(?:ion)?[_ -]?(?:id|key)|phpsessid|(?:session|sess)(?==)|(?:connect\.)?sid"
         r"|[cx]srf[_-]?token)[\"']?(?:[ \t]{0,2}[=:：][ \t]{0,2}|[ \t]is[ \t])[\"']?"
         r"(?=[^\s\d]{0,60}\d)(?=[^\sa-z]{0,60}[a-z])(?P<value>[\w%.~+/=-]{12,})"),
        ("api key", "header", r"--?h(?:eader)?[ =][\"'](?=[^\"'\n:]{0,40}(?:key|token|secret|auth))[\w-]{1,60}:[ \t]?(?P<value>[^\"'\n]{6,400})"),
        ("password", "mysql mariadb", r"\b(?:mysql\w{0,10}|mariadb[\w-]{0,10})\b[^\n|;]{0,300}?[ \t][\"']?-p(?![ \t$])" + _ARGUMENT),
        ("password", "passin storepass keypass sshpass 7z rar zip redis-cli sqlcmd bcp smbclient plink pscp htpasswd mosquitto_ mongo ldap login"
         " openssl keytool gpg", r"\b(?:sshpass|7z[ar]?|unrar|rar|zip|unzip|redis-cli|sqlcmd|bcp|smbclient|plink|pscp|htpasswd|mosquitto_\w{3}"
         r"|mongo(?:sh|dump|restore|export|import)?|ldap\w{3,10}|(?:docker|podman|helm registry|oc|az|npm) login|openssl|keytool|gpg2?)\b"
         r"[^\n|;]{0,300}?[ \t]-(?:(?:passin|passout|pass|storepass|keypass|pw|p|a|w|k)(?:[ \t]{1,4}|=)(?:pass:)?|p(?!ass|w))(?![-$ \t])"
         + _ARGUMENT),
        ("password", "-p", r"(?<!\S)-p(?!ython|ypy|ort|ath|rint|rofile|ackage|g\d|arallel|rocs?\d)(?=[^\s\d]{0,60}\d)(?=[!-/;-@\[-`{-~\d]{0,60}[a-z])"
         r"(?P<value>[^\s\"'|;/\[]{6,100})(?!\S)"),
        ("password", "sqlplus oracle", r"\b(?:sqlplus[ \t]{1,4}|jdbc:oracle:\w{1,10}:)[\w$#]{1,40}/(?!\[masked)(?P<value>[^\s/@]{2,100})(?=@|\s|\Z)"),
        ("password", ":5432: :5433: :*:", r"(?m)^[\w.*-]{1,100}:(?:\d{2,5}|\*):[\w.*-]{1,60}:[\w.*-]{1,60}:(?!\[masked)(?P<value>[!-~]{3,200})$"),
        ("password", "securestring", r"ConvertTo-SecureString[ \t]{1,4}(?:-String[ \t]{1,4})?(?![$-])" + _ARGUMENT),
        ("password", "identified auth login setpassword", r"(?:\bidentified[ \t]{1,4}(?:with[ \t]{1,4}\w{1,40}[ \t]{1,4})?by[ \t]{1,4}"
         r"|(?:\bauth[ \t]{0,4}=[ \t]{0,4}\(|basic_?auth\(|\blogin\()[ \t]{0,4}[\"'][^\"'\n]{1,80}[\"'],[ \t]{0,4})"
         r"(?P<value>\"(?!\[masked)[^\"\s]{3,200}\"|'(?!\[masked)[^'\s]{3,200}')"),
        ("password", "requirepass masterauth config", r"(?m)(?:^[ \t]{0,8}(?:requirepass|masterauth)|config(?:ure)?[ \t]+set[ \t]+[\w.-]{0,40}"
         r"(?:password|secret|token|key)[\w.-]{0,20})[ \t]{1,4}(?![$<{%(=:])" + _ARGUMENT),
        ("password", "passwd sudo", r"\becho[ \t]{1,4}(?:-n[ \t]{1,4})?[\"']?(?:[\w.-]{1,40}:)?(?!\[masked|\$)(?P<value>[^\s\"'|:$]{3,200})"
         r"(?=[\"']?[ \t]{0,4}\|[ \t]{0,4}(?:sudo[ \t]{1,4}(?:-\w[ \t]{1,4}){0,3}-S\b|(?:sudo[ \t]{1,4})?(?:chpasswd|passwd)\b))"),
        ("password", "<<< net ssh-keygen openssl htpasswd desktop freerdp", r"\b(?:sudo[ \t]{1,4}-S[^\n<|]{0,100}<<<|net[ \t]{1,4}user[ \t]{1,4}\w[\w.-]{0,40}"
         r"|net[ \t]{1,4}use[ \t][^\n]{1,200}?/user:\S{1,80}|ssh-keygen\b[^\n|;]{0,200}?[ \t]-N|openssl[ \t]{1,4}passwd(?:[ \t]{1,4}-[\w-]{1,10}){0,3}"
         r"|htpasswd[ \t]{1,4}-\w{0,4}b\w{0,4}[ \t]{1,4}\S{1,200}[ \t]{1,4}\S{1,80}|(?:rdesktop|xfreerdp|wfreerdp)\b[^\n|;]{0,200}?[ \t]-p)"
         r"[ \t]{1,4}(?![-/$*])" + _ARGUMENT),
        ("password", "/p: rediscli_auth", r"(?:\b\w?freerdp\b[^\n|;]{0,200}?[ \t]/p:|\brediscli_auth=)" + _ARGUMENT),
        ("password", "u: u= user: user=", rf"(?<![a-z])u(?:ser)?[ \t]{{0,2}}[:=][ \t]{{0,2}}[\w.@-]{{1,64}}[ \t,;/]{{1,3}}p(?:ass)?[ \t]{{0,2}}[:=][ \t]{{0,3}}(?P<value>{_MIXED}[!-~]{{5,64}})"),
        # What nobody types but a password: all four classes of characters in one word.
        ("password", "! # $ % ^ & * ~ ?", r"(?-i:(?<![\w!#$%^&*~?@/=.:\"'(\[{<+-])(?=[^\sA-Z]{0,30}[A-Z])(?=[^\sa-z]{0,30}[a-z])(?=[^\s\d]{0,30}\d)"
         r"(?P<value>(?!\S{0,40}(?:%[\da-fA-F]{2}|&#?\w+;))(?=[A-Za-z0-9]{1,30}[!#$%^&*~?])[A-Za-z0-9!#$%^&*~?-]{8,32})(?![\w!#$%^&*~?@/=:\"')(\]}>+]))"),
        ("password", "-u", r"[ \t]-U[ \t]{0,4}[\w.-]{1,40}%" + _ARGUMENT),
    )
    for needle in needles.split()
)  # fmt: skip
"""(kind, needle of the lower-case text, pattern with the group value)."""
