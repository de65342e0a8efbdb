"""Forms of passwords in languages other than English and Chinese."""

import re

__all__ = ["FOREIGN_FORMS"]

_NEEDLES = (
    *("passwor", "kennwort", "geheimzahl", "wachtwoord", "mot de passe", "mdp"),
    *(
        "contrase",
        "clave",
        "senha",
        "пароль",
        "パスワード",
        "暗証番号",
        "비밀번호",
        "lösenord",
        "passord",
        "adgangskode",
    ),
    *("hasło", "heslo", "şifre", "parola", "salasana", "mật khẩu", "kata sandi", "jelszó", "κωδικός", "كلمة المرور"),
    "รหัสผ่าน",
)

# German, Dutch, French, Spanish, Portuguese, Italian, Russian, Japanese. After a verb only a value with
# a digit: statements about a password ("ist abgelaufen") are words too.
_TOLD = re.compile(
    r"(?i)(?<![a-z])(?P<lead>(?:[a-z]{1,20}passwort|passwort|kennwort|geheimzahl|wachtwoord|mot de passe|mdp"
    r"|contrase[nñ]a"
    r"|clave|senha|password|пароль|パスワード|暗証番号|비밀번호|lösenord|passord|adgangskode|hasło|heslo|şifre|parola|salasana"
    r"|mật khẩu|kata sandi|jelszó|κωδικός|كلمة المرور|รหัสผ่าน)"
    r"(?:[ \t](?:für|von|vom|voor|pour|du|de|del|para|do|da|di|от|для)[ \t][^\n,.;:=!?\[]{1,40}?)?"
    r"(?:[ \t\xa0]{0,4}[:：=–—→-]|[ \t]{1,4}(?:ist|lautet|war|is|est|c['’]est|es|era|é|è|это|är|er|to|je|on|là"
    r"|adalah)(?=[ \t])|は|는|은)?"
    r"[ \t]{0,4}(?<!\w)"
    r"|パスワードは)(?!\[masked|n?(?:var)?char\b|\d{1,4}-[a-z]+\b)(?P<value>(?=[^\s\d]{0,60}\d)"
    r"(?=[^\s\w]{0,60}\w)[^\s，。；：（）]{4,64})"
)
_AFTER_COLON = re.compile(
    r"(?i)(?<![a-z])(?P<lead>(?:[a-z]{1,20}passwort|passwort|kennwort|wachtwoord|mot de passe|mdp"
    r"|contrase[nñ]a|senha|пароль|パスワード|暗証番号|비밀번호|lösenord|passord|adgangskode|hasło|heslo|şifre|salasana"
    r"|mật khẩu|kata sandi|jelszó|κωδικός|كلمة المرور|รหัสผ่าน)"
    r"[ \t\xa0]{0,4}[:：=→][ \t]{0,4})(?!\[masked|(?:bitte|siehe|nicht|kein|falsch|voir|pas|oubli|expir|incorrect|ver"
    r"|no"
    r"|olvidad|vencid|неверн)\w{0,8}\b)(?P<value>[^\s，。；：（）]{4,64})"
)

FOREIGN_FORMS: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    (_NEEDLES, _TOLD),
    (_NEEDLES, _AFTER_COLON),
)
