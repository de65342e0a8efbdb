"""Forms of passwords in markup, configuration, command lines, connection strings and tables."""

import re

__all__ = ["WRITTEN_FORMS"]

_SECRET = r"(?:pass(?:word|wd|code|phrase)?|pwd|secret|token|(?:api|access|secret)[-_ ]?key|credentials?)"
_PASSWORD = r"(?:pass(?:word|wd|code|phrase)|pwd|secret|api[-_ ]?key|secret[-_ ]?key|access[-_ ]?key|密[码碼]|口令)"
# Placeholders of documentation, schemas and empty forms.
_NO_VALUE = (
    r"(?!\[masked|[\[<{$%]|(?:string|text|number|integer|boolean|object|null|none|nil|true|false|required|optional"
    r"|password|hidden|value|type|os\.|env\.|process\.|settings\.|config\.|self\.)\b)"
)
_MIXED = r"(?=[!-/:-@\[-`{-~a-z]{0,60}\d)(?=[!-/:-@\[-`{-~\d]{0,60}[a-z])"
# <password>…</password>, <wsse:Password Type="…">…, <DbPassword><![CDATA[…]]>
_ELEMENT = re.compile(
    rf"(?i)(?P<lead><(?:[\w.-]{{1,40}}:)?[\w.-]{{0,40}}?(?P<name>{_PASSWORD}|(?<![a-z])pass"
    rf"|(?<![a-z])pw)[\w.-]{{0,20}}"
    rf"(?:\s[^<>]{{0,200}})?>\s{{0,20}}"
    rf"(?:<!\[CDATA\[)?\s{{0,20}}){_NO_VALUE}(?P<value>[^<>\]]{{1,200}}?)(?=\s{{0,20}}(?:\]\]>\s{{0,20}})?(?:</"
    rf"|<|\Z))"
)
_BRACKETED = re.compile(
    rf"(?i)(?P<lead>\[(?P<name>{_PASSWORD})\][ \t]{{0,4}}){_NO_VALUE}(?P<value>[^\[\]\n]{{1,200}}?)"
    rf"(?=[ \t]{{0,4}}\[/)"
)
# <key>password</key><string>…</string>, <td>Password</td><td>…</td>, <entry key="password">…
_BESIDE_ELEMENT = re.compile(
    rf"(?i)(?P<lead>(?:<(\w{{1,20}})[^<>]{{0,100}}>[^<>]{{0,40}}"
    rf"(?P<name>{_PASSWORD})[^<>]{{0,20}}</\2>\s{{0,20}}<\w[^<>]{{0,100}}>"
    rf"|<\w[^<>]{{0,100}}=[\"'][\w.-]{{0,40}}{_PASSWORD}[\"'][^<>]{{0,100}}(?<!/)>)\s{{0,20}}){_NO_VALUE}"
    r"(?P<value>[^<>]{1,200}?)(?=\s{0,20}<)"
)
# {"name": "password", "value": "…"}, - name: DB_PASSWORD⏎  value: …, <add key="DbPassword" value="…"/>
_NAME_AND_VALUE = re.compile(
    rf"(?i)(?P<lead>(?<![a-z])(?:name|key|k|field|label|id|variable|var"
    rf"|property)[\"']?[ \t]{{0,4}}[:=][ \t]{{0,4}}[\"']?[\w.-]{{0,40}}?"
    rf"(?P<name>{_PASSWORD})[\w.-]{{0,20}}[\"']?[\s,;]{{1,40}}[\"']?(?:value|val|v|text|content|default|data)[\"']?"
    rf"[ \t]{{0,4}}[:=][ \t]{{0,4}}){_NO_VALUE}(?P<value>\"(?:[^\"\\\n]|\\.){{1,200}}\"|'[^'\n]{{1,200}}'"
    rf"|[^\s\"'<>,}}]{{1,200}})"
)
# "password": 4821, ["password", "…"], "passwords": ["…", "…"], "password": {"value": "…"}
_NUMBER = re.compile(
    rf"(?i)(?P<lead>(?P<name>{_PASSWORD}|pin|otp"
    rf"|cvv)[\"'][ \t]{{0,4}}:[ \t]{{0,4}})(?P<value>\d[\d.]{{2,30}})(?=\s{{0,4}}[,}}\]])"
)
_PAIR = re.compile(
    rf"(?i)(?P<lead>(?P<name>{_PASSWORD})[\"'][ \t]{{0,4}},\s{{0,8}}){_NO_VALUE}"
    r"(?P<value>\"(?:[^\"\\\n]|\\.){3,200}\"|'[^'\n]{3,200}')(?=\s{0,4}[\])])"
)
_LISTED = re.compile(
    rf"(?i)(?P<lead>(?P<name>{_PASSWORD})s?[\"']?[ \t]{{0,4}}[:=][ \t]{{0,4}}\[\s{{0,20}})(?!masked|\]|\s)"
    r"(?P<value>[^\[\]]{3,400})(?=\])"
)
_NESTED = re.compile(
    rf"(?i)(?P<lead>(?P<name>{_PASSWORD})s?[\"']?[ \t]{{0,4}}[:=][ \t]{{0,4}}\{{\s{{0,20}}[\"']?"
    rf"(?:value|current|text|plain|new|old|wifi|secret|data)[\"']?[ \t]{{0,4}}:[ \t]{{0,4}}){_NO_VALUE}"
    r"(?P<value>\"(?:[^\"\\\n]|\\.){3,200}\"|'[^'\n]{3,200}'|\d{4,20})"
)
# | password | hunter22 |, password<tab>hunter22, user;password;… as a table has them.
_CELL = re.compile(
    rf"(?i)(?<![a-z])(?P<lead>(?P<name>{_PASSWORD})[*_`]{{0,3}}[ \t]{{0,20}}(?:[|｜│;]|\t"
    rf"|,(?=\S))[ \t]{{0,20}})(?!\[masked|n?(?:var)?char\(){_MIXED}"
    r"(?P<value>[!-{}~]{5,64})"
)
# mysql -phunter2, sshpass -p hunter2, redis-cli -a …, 7z -p…, plink -pw …, docker login -p …
_COMMAND_LINE = re.compile(
    r"(?i)(?P<lead>\b(?:mysql\w{0,10}|mariadb[\w-]{0,10})\b[^\n|;]{0,300}?[ \t][\"']?-p)(?!\[masked|[ \t$])"
    r"(?P<value>\"[^\"\n]{1,100}\"|'[^'\n]{1,100}'|[^\s\"'|;]{1,200})"
)
_COMMAND_LINE_APART = re.compile(
    r"(?i)(?P<lead>\b(?:sshpass|7z[ar]?|unrar|rar|zip|unzip|redis-cli|sqlcmd|bcp|smbclient|plink|pscp|htpasswd"
    r"|mosquitto_\w{3}"
    r"|mongo(?:sh|dump|restore|export|import)?|ldap\w{3,10}|(?:docker|podman|helm registry|oc|az|npm) login|openssl"
    r"|keytool"
    r"|gpg2?)\b"
    r"[^\n|;]{0,300}?[ \t]-(?:(?:passin|passout|pass|storepass|keypass|pw|p|a|w|k)(?:[ \t]{1,4}|=)(?:pass:)?|p(?!ass"
    r"|w)))"
    r"(?!\[masked|[-$ \t])(?P<value>\"[^\"\n]{1,100}\"|'[^'\n]{1,100}'|[^\s\"'|;]{4,200})"
)
_ATTACHED = re.compile(
    r"(?i)(?<!\S)(?P<lead>-p)(?!\[masked|ython|ypy|ort|ath|rint|rofile|ackage|g\d|arallel|rocs?\d)"
    r"(?=[!-/:-@\[-`{-~a-z]{0,60}\d)(?=[!-/;-@\[-`{-~\d]{0,60}[a-z])(?P<value>[^\s\"'|;/]{6,100})(?!\S)"
)
_OPTION = re.compile(
    rf"(?i)(?<![\w-])(?P<lead>--?(?:[a-z]{{1,20}}[-_])?(?P<name>{_SECRET})(?:[ \t]{{1,4}}|=)[\"']?)"
    r"(?!\[masked|[-$<{%[(]|(?:is|are|was|and|or|to|for|in|on|from|flag|option|argument|parameter|of|that|which|with"
    r"|the|a|an|will|can"
    r"|must|if)\b)"
    r"(?P<value>(?<=[\"'])[^\"'\n]{1,200}|[^\s\"']{3,200})"
)
_SHELL = re.compile(
    r"(?P<lead>(?<![A-Za-z])(?:[A-Z][A-Z0-9]{0,30}_){1,4}(?:PASS|PW|PASSWD|PASSWORD|PASSPHRASE|SECRET|TOKEN|API_?KEY"
    r"|SECRET_KEY|ACCESS_KEY|PRIVATE_KEY|CREDENTIALS?)[ \t]{0,4}=[ \t]{0,4})(?!\[masked|[$<{%(]|\w+[.(]|[A-Z_]+\])"
    r"(?P<value>\"[^\"\n]{1,200}\"|'[^'\n]{1,200}'|[^\s\"']{3,200})"
)
_SETTING = re.compile(
    r"(?im)^(?P<lead>[ \t]{0,8}(?:[a-z]{1,20}[._-]){0,3}(?P<name>pass|pw|psw|passw)[ \t]{0,4}=[ \t]{0,4})"
    r"(?!\[masked|[$<{%(]|(?:true|false|none|null|yes|no)\b|[a-z_]+[.(])(?P<value>[^\s]{3,200})[ \t]{0,4}$"
)
_SECURE_STRING = re.compile(
    r"(?i)(?P<lead>ConvertTo-SecureString[ \t]{1,4}(?:-String[ \t]{1,4})?)(?!\[masked|[$-])"
    r"(?P<value>\"[^\"\n]{1,200}\"|'[^'\n]{1,200}'|[^\s\"']{3,200})"
)
# machine h login bob password swordfish; username: bob, password swordfish; sqlplus scott/tiger@db; h:5432:db:bob:tiger
_LOGIN = re.compile(
    r"(?i)(?<![a-z])(?P<lead>(?:user(?:[ _-]?name)?|login|account|e-?mail)(?:[ \t]{0,4}[:=]"
    r"|[ \t]+is)?[ \t]{1,4}[\w.@+-]{1,64}"
    r"[ \t]{0,2}[,;/|]?[ \t\n]{1,4}(?:and[ \t]{1,4}|with[ \t]{1,4})?(?:the[ \t]{1,4})?(?P<name>password|passwd|pass"
    r"|pwd|pw)"
    r"(?:[ \t]{0,4}[:=]|[ \t]{1,4}is\b)?[ \t]{1,4})(?!\[masked|(?:is|was|and|or|for|in|on|to|reset|field|must|should"
    r"|are|manager"
    r"|protected|policy|again|has|does|change|with|the|at|from|authentication|login|page|form|works?|works"
    r"|expired)\b)"
    r"(?P<value>[!-~]{3,100})"
)
_ORACLE = re.compile(
    r"(?i)(?P<lead>\b(?:sqlplus[ \t]{1,4}|jdbc:oracle:\w{1,10}:)[\w$#]{1,40}/)(?!\[masked)(?P<value>[^\s/@]{2,100})"
    r"(?=@|\s|\Z)"
)
_PGPASS = re.compile(
    r"(?im)^(?P<lead>[\w.*-]{1,100}:(?:\d{2,5}|\*):[\w.*-]{1,60}:[\w.*-]{1,60}:)(?!\[masked)(?P<value>[!-~]{3,200})$"
)
_BOTH = re.compile(
    r"(?i)(?<![a-z])(?P<lead>(?:credentials?|creds|log[- ]?ins?)(?:[ \t]+(?:are|is)"
    r"|[ \t]{0,2}[:=])[ \t]{0,4}[\w.@+-]{1,64}[ \t]{0,2}[/:|][ \t]{0,2})"
    rf"(?!\[masked|//){_MIXED}(?P<value>[!-~]{{5,64}})"
)
# "pass": "…", <user pass="…">, ?pass=…, (password . "…")
_SHORT_QUOTED = re.compile(
    r"(?i)(?P<lead>(?<![a-z])(?P<name>pass|pw|psw)[\"']?[ \t]{0,4}[:=][ \t]{0,4}|\(password[ \t]{1,4}"
    r"(?:\.[ \t])?)(?![\"']\[masked)"
    r"(?P<value>\"[^\"\n ]{3,200}\"|'[^'\n ]{3,200}')"
)
_SHORT_ASSIGNED = re.compile(
    r"(?i)(?P<lead>(?:[?&]|(?:user\w{0,4}|login)=[^\s=]{1,64}[ \t,;]{1,3})(?P<name>pass|pw|psw)=)(?!\[masked|[$<{%(])"
    r"(?P<value>[^\s&\"'#]{3,200})"
)
# <password value="…"/>, <input type="password" value="…">
_VALUE_ATTRIBUTE = re.compile(
    rf"(?i)(?P<lead><(?:(?P<name>{_PASSWORD})\b|input\b"
    rf"(?=[^<>]{{0,300}}\btype=[\"']?password))[^<>]{{0,300}}?\bvalue=)"
    rf"(?P<value>\"(?!\[masked)[^\"<>]{{3,200}}\"|'(?!\[masked)[^'<>]{{3,200}}'|(?!\[masked)[^\s\"'<>]{{3,200}})"
)
# <b>Password:</b> hunter22
_AFTER_ELEMENT = re.compile(
    rf"(?i)(?P<lead>>[ \t]{{0,4}}(?P<name>{_PASSWORD})[ \t]{{0,4}}(?:[:：]</\w{{1,10}}>"
    rf"|</\w{{1,10}}>[ \t]{{0,4}}[:：])[ \t]{{0,4}})"
    rf"{_NO_VALUE}(?P<value>[^\s<>]{{3,200}})"
)
# setPassword("…"), PASSWORD('…'), IDENTIFIED BY '…', auth=("bob", "…"), login("bob", "…")
_CALL = re.compile(
    r"(?i)(?P<lead>(?:(?:set|change|update|reset|with|\.|=[ \t]{0,4})_?(?P<name>password|passwd)\([ \t]{0,4}"
    r"|\bidentified[ \t]{1,4}(?:with[ \t]{1,4}\w{1,40}[ \t]{1,4})?by[ \t]{1,4}"
    r"|(?:\bauth[ \t]{0,4}=[ \t]{0,4}\(|basic_?auth\(|\blogin\()[ \t]{0,4}[\"'][^\"'\n]{1,80}[\"'],[ \t]{0,4}))"
    r"(?P<value>\"(?!\[masked)[^\"\s]{3,200}\"|'(?!\[masked)[^'\s]{3,200}')"
)
# requirepass …, bind_password …, aws configure set aws_secret_access_key …
_DIRECTIVE = re.compile(
    r"(?im)(?P<lead>^[ \t]{0,8}(?:(?P<name>requirepass|masterauth|(?:bind|db|smtp|mail|admin|root|user|http"
    r"|proxy|ftp|imap)"
    r"_?(?:password|passwd|pass|pw))|(?:[^\n]{0,40}[ \t])?config(?:ure)?[ \t]+set[ \t]+[\w.-]{0,40}(?:password"
    r"|secret|token|key)[\w.-]{0,20})"
    r"[ \t]{1,4})(?!\[masked|[$<{%(=:])(?P<value>\"[^\"\n]{3,200}\"|[^\s\"']{3,200})(?=[ \t]{0,4}$)"
)
_AUTHORIZATION = re.compile(
    rf"(?i)(?P<lead>\bauthorization[\"']?[ \t]{{0,4}}[:=][ \t]{{0,4}}[\"']?(?:[a-z-]{{2,20}}[ \t]{{1,4}})?)"
    rf"(?!\[masked|[$<{{])"
    rf"{_MIXED}(?P<value>[\w.~+/=-]{{8,400}})"
)
# echo 'bob:…' | chpasswd; echo … | sudo -S; net user bob …; ssh-keygen -N …; htpasswd -b f bob …; smbclient -U bob%…
_PIPED = re.compile(
    r"(?i)(?P<lead>\becho[ \t]{1,4}(?:-n[ \t]{1,4})?[\"']?(?:[\w.-]{1,40}:)?)(?!\[masked|\$)"
    r"(?P<value>[^\s\"'|:$]{3,200})"
    r"(?=[\"']?[ \t]{0,4}\|[ \t]{0,4}(?:sudo[ \t]{1,4}(?:-\w[ \t]{1,4}){0,3}-S\b|(?:sudo[ \t]{1,4})?(?:chpasswd"
    r"|passwd)\b))"
)
_ARGUMENT = re.compile(
    r"(?i)(?P<lead>\b(?:sudo[ \t]{1,4}-S[^\n<|]{0,100}<<<|net[ \t]{1,4}user[ \t]{1,4}\w[\w.-]{0,40}"
    r"|net[ \t]{1,4}use[ \t][^\n]{1,200}?/user:\S{1,80}"
    r"|ssh-keygen\b[^\n|;]{0,200}?[ \t]-N|openssl[ \t]{1,4}passwd(?:[ \t]{1,4}-[\w-]{1,10}){0,3}"
    r"|htpasswd[ \t]{1,4}-\w{0,4}b\w{0,4}[ \t]{1,4}\S{1,200}[ \t]{1,4}\S{1,80}|(?:rdesktop|xfreerdp"
    r"|wfreerdp)\b[^\n|;]{0,200}?[ \t]-p)"
    r"[ \t]{1,4}|\b\w?freerdp\b[^\n|;]{0,200}?[ \t]/p:|[ \t]-U[ \t]{0,4}[\w.-]{1,40}%"
    r"|\bcurl\b[^\n|;]{0,200}?[ \t]-u(?! )[\w.@+-]{1,64}:"
    r"|\bREDISCLI_AUTH=)(?!\[masked|[-/$*])(?P<value>\"[^\"\n]{1,100}\"|'[^'\n]{1,100}'|[^\s\"'|;]{3,200})"
)
_TOKEN_OF_URL = re.compile(
    r"(?i)(?P<lead>https?://)(?P<value>(?=[a-z_-]{0,60}\d)(?=[\d_-]{0,60}[a-z])[\w-]{12,200})(?=@[\w.-]{3,100})"
)

_ANY = ("pass", "pwd", "secret", "key", "密", "口令")
WRITTEN_FORMS: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    (("<",), _ELEMENT),
    (("<",), _BESIDE_ELEMENT),
    (("[/",), _BRACKETED),
    (("v", "text", "content", "default", "data"), _NAME_AND_VALUE),
    (('":', "':"), _NUMBER),
    (("pass", "pwd", "secret", "key"), _PAIR),
    (("[",), _LISTED),
    (("{",), _NESTED),
    (_ANY, _CELL),
    (("mysql", "mariadb"), _COMMAND_LINE),
    ((" -",), _COMMAND_LINE_APART),
    (("-p",), _ATTACHED),
    (("-pass", "-pwd", "-secret", "-token", "-api", "-access", "-credential"), _OPTION),
    (("_pass", "_pw", "_secret", "_token", "_api", "_access", "_private", "_cred"), _SHELL),
    (("pass", "pw", "psw"), _SETTING),
    (("securestring",), _SECURE_STRING),
    (("pass", "pw"), _LOGIN),
    (("sqlplus", "jdbc:oracle"), _ORACLE),
    ((":5432:", ":*:", ":5433:"), _PGPASS),
    (("cred", "login", "log in", "log-in"), _BOTH),
    (("pass", "pw", "psw"), _SHORT_QUOTED),
    (("pass=", "pw=", "psw="), _SHORT_ASSIGNED),
    (("value",), _VALUE_ATTRIBUTE),
    (("</",), _AFTER_ELEMENT),
    (("passw", "identified", "auth", "login"), _CALL),
    (("pass", "masterauth", "_pw", "config"), _DIRECTIVE),
    (("authorization",), _AUTHORIZATION),
    (("passwd", "sudo"), _PIPED),
    (
        ("<<<", "net use", "ssh-keygen", "openssl", "htpasswd", "desktop", "freerdp", "-u", "rediscli_auth"),
        _ARGUMENT,
    ),
    (("://",), _TOKEN_OF_URL),
)
