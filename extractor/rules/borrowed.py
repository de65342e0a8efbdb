"""Finds what in a message is not its user's own: texts to be mended, quotations, parts to be played, suppositions.

The patterns recognise the request or the opening, not the text: whoever asks to proofread a text has not written it of
themselves, whatever it says.
"""

import re
from bisect import bisect_right
from typing import Final

from extractor.language.kind import is_small_talk
from extractor.language.sentences import without_quotations, without_single_quotations

from . import patterns_en, patterns_zh

__all__ = ["own_words", "told_in_verse"]

_LONGEST_VERSE: Final = 60  # characters of a line
_FEWEST_VERSES: Final = 4
_FEWEST_COMMAS: Final = 0.5  # of the lines of verse that end in a comma
_MOST_TOLD: Final = 0.75  # of the lines of verse; more of them are a list of facts, one a line

# A part to be played, an order for a text, an exam, a joke: nothing in the message is told.
_BEINGS = (
    "walrus|potato|cat|dog|cow|goat|pig|horse|fish|bird|bear|wolf|fox|lion|tiger|duck|frog|mouse|rat|snake|spider|whale"
    "|shark|penguin|panda|sloth|cabbage|banana|tomato|carrot|pumpkin|tree|rock|cloud|teapot|toaster|robot|android|cyborg"
    "|ghost|vampire|werewolf|zombie|witch|wizard|mage|sorcerer|warlock|necromancer|paladin|ranger|rogue|bard|dwarf|elf"
    "|orc|goblin|troll|giant|fairy|mermaid|demon|angel|god|goddess|king|queen|prince|princess|emperor|empress|duke"
    "|duchess|president|pope|pirate|ninja|samurai|viking|gladiator|knight|assassin|dragon|unicorn|alien|martian|superhero"
    "|supervillain|villain|spaceship|billionaire|trillionaire|fridge|lamp|kettle|brick|spoon|sandwich"
    "|burrito|egg|avocado|pickle|vacuum cleaner|genie|jedi|sith|spy|mob boss|overlord|deity|time traveler"
    "|time traveller|chatbot|ai|language model|snowman|dinosaur|t-rex"
)
_PLAYED = re.compile(
    rf"\bi(?:'m| am| was) (?:an?|the) (?:[\w-]+,? ){{0,2}}?(?:{_BEINGS})"
    r"(?=\s*(?:[,.;!?—–-]|$|\n|and\b|who\b|in\b|with\b|now\b|from\b|that\b|[^\x00-\u2fff]))"
    r"|\b(?:last|past|previous|former|next|another|other|parallel) life\b|[上下前]辈子|前世|来世"
    r"|我(?:就|现在|其实|肯定|简直)?是一(?:台|件|把|辆|架|艘|座|栋|颗|只|条|头|棵|朵|匹|根|坨|块|株|缕)(?!单身|汉子|胎)"
    r"|我(?:要是|如果|若是|假如)[^。\n]{1,24}(?:早就|就不会|就好了|多好|我就去|就可以)"
    r"|你来?[当演扮][^。\n]{1,12}我(?:是|来|就)?[当演扮是]"
    r"|我(?:现在|就)?是(?:皇帝|皇上|总统|国王|女王|公主|王子|魔法师|勇者|大侠|神仙|妖怪|吸血鬼|机器人|外星人|剑客|杀手|霸道总裁|太后|皇后|宰相|将军)"
    r"|"
    r"\b(?:act(?:ing)? as (?:if|though|an?|the|my)\b|you are (?:a|an|now|writing|going to be|the)\b|you're (?:a|an"
    r"|now)"
    r" |you are (?-i:[A-Z])\w+,? (?:and )?i(?: a|')m\b|you will (?:be|act|play|take on)|your (?:task|role|job|persona"
    r"|name) (?:is|will be)|i want you to (?:act|be|pretend|write|help)|consider yourself|suppose (?:you are|you're)"
    r"|assume (?:you are|you're|the role)|(?:stay|remain|be) in character|as the character"
    r"|(?:reply|respond|speak|talk|behave) as (?-i:[A-Z][a-z]+)|role-?play(?:ing)?|pretend(?:ing)?"
    r"|in the (?:voice|style) of|from the (?:perspective|point of view) of|imagine (?:you|that you|i'm|i am|me as)"
    r"|(?:first|main|following) (?:scene|character|paragraph|article|essay|story|text|email|letter|review)"
    r"|my (?:main |player )?(?:character|protagonist|oc|avatar|persona)(?:'s)? (?:is|name|says)"
    r"|(?:narrator|protagonist)(?:'s)? (?:says|is|voice|thinks|speaks)"
    r"|write (?:a|an|me|the)\b.{0,60}\b(?:story|essay|letter|email|article|post|speech|poem|script|bio|review"
    r"|resume|cover letter|song|lyrics|monologue|dialogue)|(?:in|into|for) (?:my|this) (?:cover letter|resume|cv|bio"
    r"|essay|speech|script|story|poem|novel)"
    r"|(?:this|here) is (?:an?|the|my) (?:email (?!address)|(?:cover )?letter|essay|article|draft|transcript"
    r"|resume|cv)"
    r"|(?:wrote|sang|recited) th(?:is|ese) (?:lines?|verses?|words|lyrics)"
    r"|read the (?:passage|text|paragraph|dialogue) (?:and|below|then)|fill in the blanks?|reading comprehension"
    r"|choose the (?:right|correct|best) (?:word|answer|option|form)|true or false:|multiple[- ]choice"
    r"|let's play|you (?:be|play) (?:the|a|an|my)\b|(?:text|dungeon|rpg) adventure|(?:this is|that was"
    r"|being) (?:sarcas\w+|ironic)"
    r"|you(?:'re| are) the [^.!?\n]{1,40}[,.;] ?(?:and )?i(?:'m| am) (?:the|an?)|(?:write|narrate|speak|talk|reply"
    r"|respond|answer)"
    r"\b[^.!?\n]{0,40}\b(?:in (?:the )?first person|as (?:an?|the) (?!(?:list|table|bullet|summary|json|markdown|rule"
    r"|short)))"
    r"|i(?:'m| am) (?:the|an?)\b[^.!?\n]{1,60}[,.;] ?(?:and )?you(?:'re| are) (?:my|the|an?)\b"
    r"|in (?:our|my|the) (?:game|campaign|story|novel|dream|larp|rpg|screenplay)\b"
    r"|worksheet (?:says|asks)|how many (?:\w+ ){0,4}(?:are|is|does|do) (?:\w+ )?(?:left|have)"
    r"|said no ?(?:one|body) ever|just kidding|(?:only|just|was|am|i'm) (?:joking|kidding)|jk)\b|(?:^|\s)/s\s*$"
    r"|^[ \t]*(?:\^+|↑+)[ \t]*\w|(?:<-+|←|⬅)[ \t]*\w|\bkill me\b"
    r"|\b(?:for|in) this (?:exercise|scene|game|scenario|simulation|campaign|sketch|play|interview|story)\b"
    r"|扮演|演一[段场出]|假装|假[设如]你|你(?:现在)?是(?:一[个名位只条]|我的)|你的(?:任务|角色|身份)是|角色设定|充当"
    r"|把自己当[作成]|(?:主人公|主角|女主|男主|反派)[^。，\n]{0,6}(?:自白|独白|说|叫|是)|我的(?:角色|人物|人设)"
    r"|从现在(?:起|开始)[，, ]*你就?是|你[当演扮][^，。\n]{1,8}[，, ]?我[当演扮是]"
    r"|我[演扮](?!示|出|算|练|变)|(?:剧本杀|狼人杀|跑团|游戏|小说|故事|梦|剧)里[，, ]?我"
    r"|还剩(?:下)?(?:几|多少)|模拟(?:面试|对话|场景)|(?:来|咱们|我们|陪我)玩[^，。\n]{0,6}游戏|反话|反讽"
    r"|以[^，。\n]{1,12}的(?:身份|口吻)|[写拟]一(?:篇|封|首|段|份|个故事)|用第一人称(?=写|讲|叙|描)|[写讲编]个(?:故事|童话)"
    r"|[改正](?:一下)?这[个句段](?:病句|句子)|起草一?[篇封份]"
    r"|(?:以下|下面|这)是[^，。\n]{0,6}(?:邮件|信件|文章|故事|简历|稿子|对话|访谈|条款|政策)"
    r"|阅读理解|(?:填空|选择|判断|造句|改错)题?[:：]|完形填空|(?:歌词|台词|诗句)[^。\n]{0,8}(?:[:：]|是什么|怎么)"
    r"|写了?一?首(?:诗|歌|词)|(?:我|就|只|是|跟你|和你)在?开(?:个)?玩笑|开(?:个)?玩笑(?:的|啦|呢|而已|哈)|逗你(?:的|玩)|骗你的|瞎说的"
    r"|\[(?:狗头|doge)\]|呵呵[。.!！~ ]*$",
    re.IGNORECASE | re.MULTILINE,
)
# A letter or a conversation: the user who pasted it is not its speaker.
_LETTERS = tuple(  # how one opens, and how it ends
    (re.compile(opening, re.IGNORECASE | re.MULTILINE), re.compile(ending, re.IGNORECASE | re.MULTILINE))
    for opening, ending in (
        (
            r"(?:^|[\"“:：]) *dear [^\n]{1,60}[,:]? *$",
            r"^ *(?:yours|sincerely|(?:kind|best|warm)(?:est)? regards|regards|thank you|respectfully)\b[^\n]{0,30}$",
        ),
        (r"^ *(?:尊敬的|亲爱的)[^\n]{1,20}[：:，,] *$", r"此致|敬礼|敬上|谨上|祝好|顺颂"),
    )
)
_LENGTHS_OF_LETTERS = (12, 5000)  # characters from the opening to the ending
_SPEAKER = re.compile(
    r"^ {0,8}(?:\[?\d\d?:\d\d(?::\d\d)?\]? {1,4}[^\n:：]{1,30}[:：]|[^\n.!?。！？:：]{2,40} \[?\d\d?:\d\d(?::\d\d)?\]?"
    r" {0,8}$|(?:q|a|user|me|human|assistant|interviewer|candidate|chatgpt|bot|host|agent|customer|support|caller|问|答"
    r"|甲|乙"
    r"|客服|顾客|客户|记者|主持人|面试官) *[:：])",
    re.IGNORECASE | re.MULTILINE,
)

_START = r"(?:^|(?<=[.!?;,:。！？；，：])|(?<=\s[-–—]))[ \t]*"  # of a clause
_START_OF_SENTENCE = r"(?:^|(?<=[.!?;。！？；]))[ \t]*"
_PLEASE = (
    r"(?:(?:please|pls|plz|kindly|hey|hi|ok(?:ay)?|so|and|then|now|also|just|quickly|can you|could you|would you"
    r"|will you|can i have you|help me(?: to)?|i(?:'d| would) like you to|i (?:want|need) (?:you )?to|let's|try to"
    r"|someone)[ ,]+){0,4}"
)
_TEXT = (
    r"(?:sentences?|paragraphs?|passages?|texts?|e-?mails?|messages?|letters?|tweets?|posts?|essays?|articles?"
    r"|reviews?"
    r"|comments?|quotes?|quotations?|lyrics|poems?|songs?|verses?|stanzas?|lines|captions?|bios?|profiles?"
    r"|cover letter"
    r"|resum[eé]s?|cvs?|abstracts?|drafts?|transcripts?|stor(?:y|ies)|jokes?|headlines?|slogans?|dialogues?"
    r"|conversations?|translations?|statements?|intros?|introductions?|speech(?:es)?|haikus?|limericks?|sonnets?"
    r"|ballads?|raps?|diary|monologues?|toasts?|vows|eulog(?:y|ies)|blurbs?"
    r"|homework|testimonials?|answers?|grammar"
    r"|spelling|wording|punctuation|mistakes|typos|english|writing)"
)
_TEXT_ZH = (
    r"(?:句子?|段(?:话|文字|落)?|篇(?:文章|作文)?|封(?:信|邮件)|首(?:诗|歌)|文字|文案|作文|文章|邮件|信|消息|评论|留言"
    r"|简历|自我介绍|介绍|诗|歌词|稿子?|台词|对话|题目?|日记|发言|致辞|话|条(?:评论|微博|推文|朋友圈|消息))"
)
_ZH_ASK = r"(?:请|麻烦|帮(?:我|忙)?|能(?:不能|否)?|可以|你|给我|把|将|下面|以下|这|我[想要]把|“)[^。！？\n]{0,30}?"
_NOT_STANDING_ZH = r"(?![^。！？\n]{0,20}(?:以后|今后|每次|一律|总是|永远|从现在))"
# Asks to work on a text: the text follows, or it came before.
_OF_A_THING = (  # "Rewrite the parser." has no text with it
    rf"(?! (?:the|our|all|every) (?!(?:[\w-]+ ){{0,4}}?(?:{_TEXT}|following|below|above)\b)[\w ,'/.-]{{1,60}}?(?:\.\s"
    rf"|\.?\s*\Z))"
)
_MENDED = re.compile(
    _START
    + _PLEASE
    + r"(?:(?:translate|proof-?read|re-?phrase|re-?word|paraphrase|rewrite|re-write|polish|summari[sz]e|tl;?dr|shorten"
    r"|condense|simplify|spell-?check|transcribe|copy-?edit)\b(?! (?:is|was|are)\b)"
    + _OF_A_THING
    + r"|(?:make|let) (?:it|this|that) rhyme"
    r"|(?:fix|correct|check|improve|edit|mend|review|revise|tweak|expand|continue|complete|rate|critique|analy[sz]e"
    r"|finish|explain|tidy up|clean up) (?:[^.!?\n:]{0,30}\b(?:this|these|the following|my|above|below) "
    rf"(?:[\w-]+ ){{0,2}}?{_TEXT}|(?:the |any |all )*(?:grammar|spelling|wording|punctuation|typos|mistakes))\b"
    r"|(?:make|turn|convert|put|change|phrase|word|say|render|reformat) (?:this|it|that|these|the following|my \w+)\b"
    r"[^.!?\n]{0,30}\b(?:sound|into|in|more|less|better|shorter|longer|nicer|formal|polite|politer|professional)\b"
    r"|how (?:do|would|can|should|could) (?:you|i|we|one) (?:say|write|put|phrase|translate|word|pronounce)\b"
    r"|what(?:'s| is) (?:the )?(?:sentiment|tone|meaning|translation|grammar|mood|subject|tense) (?:of|in)\b"
    rf"|(?:is|are|does|do) (?:this|these|the following|my) (?:[\w-]+ ){{0,2}}?{_TEXT}\b"
    r"|(?:check|tell me|see) (?:if|whether) (?:this|it|that|my \w+) (?:reads|sounds|makes sense"
    r"|is (?:correct|natural|right|ok))"
    r"|which (?:of (?:these|the following)|one|version|sentence|option) (?:sounds?|reads?|is|looks?) (?:better|best"
    r"|more"
    r"|correct|right|nicer)|(?:i )?(?:need|want) (?:this|it|that) (?:in|as|to (?:be|sound))\b)"
    rf"|{_START}{_NOT_STANDING_ZH}(?:{_ZH_ASK})?(?<!从事)(?<!我是)(?<!喜欢)"
    r"(?:翻译(?:一下|成|为|下|这|以下|[:：]|$)|译[成为]|润色|校对|校正|改写|缩写|扩写|续写|仿写|改错|修改病句"
    rf"|(?:改|修改|纠正|总结|概括|检查|精简|压缩|分析|点评|解释|看看|看)(?:一?下|一改|改)?(?:下面|以下|上面|这)[^，。\n]{{0,4}}{_TEXT_ZH}"
    rf"|(?:下面|以下|上面|这){_TEXT_ZH}[^。\n]{{0,8}}(?:改|精简|压缩|变)"
    r"|改得|检查[^，。\n]{0,6}(?:错别字|语法|标点|拼写|错误)|改成[^，。：\n]{1,6}[:：]|改得?更|(?:总结|概括)[^。\n]{0,12}[:：]|换(?:种|个)(?:说法|表达)"
    r"|怎么(?:翻译|翻)|用[^，。\n]{1,5}[语文]怎么(?:说|讲|写)"
    r"|(?:proofread|translate|polish|rewrite|summari[sz]e|rephrase))"
    rf"|(?:这|下面)[^。\n]{{0,4}}{_TEXT_ZH}[^。\n]{{0,6}}(?:语病|通顺|对吗|对不对|怎么样|地道|自然)"
    r"|用[^，。\n]{1,5}[语文]怎么(?:说|讲|写)"
    r"|^[^\n.!?]{1,60}\b(?:please|pls) ?:[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
# Supposes something, or gives an example: what follows holds only there.
_SUPPOSED = re.compile(
    _START_OF_SENTENCE + r"(?:(?:so|and|but|ok(?:ay)?|now|well|hey|hi|please|just)[ ,]+){0,2}"
    r"(?:(?:suppose|supposing|let(?:'s| us) (?:say|imagine|pretend|assume|suppose)|say,? (?=i\b|i'm|my\b|we\b)"
    r"|assum(?:e|ing)(?! (?:that )?i(?:'m| \w+)[^.!?\n]{0,80}\b(?:when(?:ever)?|unless|always)\b)"
    r"|imagine|picture this|what if|hypothetically|in a (?:world|universe|parallel \w+) where|in theory|theoretically"
    r"|if i (?:were|was|lived|had|worked|owned|became|could)|for the sake of|for example|for instance|e\.g\."
    r"|i wish)\b"
    r"|example\b[^.!?\n:]{0,20}:|假设|假如|假定|倘若|设想|想象(?:一下)?|试想|比如说?|例如|譬如|举个例子?"
    r"|举例(?:来说|说明|[，,:：])|打个比方|要是我|万一我"
    r"|如果我(?:是|住|有|叫|在))",
    re.IGNORECASE | re.MULTILINE,
)
# Introduces somebody else's words: the line ends in a verb of speech or names a text.
_INTRODUCED = re.compile(
    rf"^[^\n]{{0,120}}\b(?:{_TEXT}|readme|docs?|documentation|wiki|spec|manual|guide|ticket|issue|report|notes|news"
    r"|policy|contract|terms|chat|log|forum|thread)\b[^\n.!?:\[]{0,60}:[ \t]*(?=\S|\n)"
    rf"|^[^\n]{{0,80}}\b(?:this|these|following|below) (?:[\w-]+ ){{0,2}}?{_TEXT}\b[^\n.!?:]{{0,60}}[:,?]?[ \t]*\n"
    r"|^(?![^\n]*\b(?:i|my|me|i'm|our|we|you|facts?|rules?|preferences?|notes?|setup|about|project|repo|team"
    r"|conventions?|context"
    r"|background|stack|things|reminders?|info|details|decisions?|update)\b)[^\n:：]{2,80}:[ \t]*\n"
    r"|^(?![^\n]*\b(?:i|my|i'm)\b)[^\n.]{0,80}\b(?:it|this|these|below|following)\b[^\n.]{0,60}\n[ \t]*\n"
    r"|^[^\n。]{0,20}(?:下面|以下|上述|这[几两]?[个句段篇条])[^\n。！：:我]{0,24}[？?]?[ \t]*\n"
    r"|^[^\n]{0,120}\b(?:says?|said|wrote|writes|texted|posted|replied|told me|asked|messaged|tweeted|sent me"
    r"|goes like(?: this)?|begins with|starts with|begins|reads)[^\n\w]{0,3}\n"
    r"|^[^\n]{0,60}(?:说|写道|写着|发(?:微信|消息|邮件|短信|信息)?(?:说|来)|回复|留言|原话(?:是)?|问我?)[:： \t]*\n"
    rf"|^[^\n]{{0,60}}{_TEXT_ZH}[^\n。！？:：]{{0,14}}[:：](?=\s*\S)",
    re.IGNORECASE | re.MULTILINE,
)
# A label before a statement in the first person: "Persona: I'm 34, I live …". "我的习惯：…" names the user's own.
_LABELLED = re.compile(
    r"^(?!(?:ps|p\.s\.|fyi|btw|note|notes|update|context|background|reminder|also|correction|edit|remember"
    r"|preferences?"
    r"|rules?|about|picked|got|moved|signed|passed|turned|heard|finally|big|good|great|happy|lovely|quick|one"
    r"|another|important|heads|for|just so|so you|decision|setup|info|fact"
    r"|记住|记一?下|注意|补充|更新|另外|备注"
    r"|关于|请记|更正|说明|提醒|还有|对了)\b)(?![^\n:：]*(?:\b(?:i|my|me|i'm|our|we)\b|我|咱))[^\n:：,，.。]{2,60}[:：]"
    r"[ \t]*(?=(?:i|i'm|my|we)\b|我)",
    re.IGNORECASE | re.MULTILINE,
)
_WISH = re.compile(
    r"(?:please |from now on,? )*(?:(?:always|never|keep|for|(?:i|we) (?:always|never|prefer|like|want|use"
    r"|write))\b"
    r"|以后|今后)|[^\n]*\b(?:rules?|conventions?|preferences?|guidelines|commit messages?)\b",
    re.IGNORECASE,
)
_POINTS_BEFORE = re.compile(r"\b(?:above|previous|earlier|that|it)\b|上面|以上|前面|刚才", re.IGNORECASE)
# A comment of code or a quoted line.
_COMMENT = re.compile(r"^[ \t]*(?:#+[ \t]|//|/\*|\*/|--[ \t]|<!--|>)[^\n]*$", re.MULTILINE)
# A last paragraph asks to work on what came before: "…\n\nCan you grade this?"
_WORKED_ON = re.compile(
    r"\n[ \t]*\n[^\n]{0,40}\b(?:grade|rate|critique|score|mark|judge|review|edit|fix|correct|improve|tighten|polish"
    r"|shorten"
    r"|expand|proof-?read|translate|make|rewrite|feedback|thoughts|better)\b[^\n]{0,60}\s*\Z",
    re.IGNORECASE,
)
_WHENEVER = re.compile(
    r"[ \t]*(?:when(?:ever)?|every time|each time|anytime|if) (?:i|we) (?:paste|send|give|show|forward|share"
    r"|upload|post|ask"
    r"|write|hand|drop)\b(?! (?:this|it|that)\b)"
    r"|[ \t]*(?:以后|每次|凡是|只要|平时)?我(?:每次)?(?:发|贴|给|写|传|甩)(?!了|的)[^，。\n这]{1,12}[，,]"
    r"|[ \t]*我写的[^，。\n这]{1,12}(?:只|都|别|不要)",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|[。！？]|\n|[:：]")
_LAST_END = re.compile(r".*(?:[.!?](?=\s|$)|[。！？\n])", re.DOTALL)


def own_words(message: str) -> str:
    """Return the part of a message that its user tells of themselves; "" where nothing is. Linear, and it never raises.

    A request to work on a text takes the text with it: what follows the request or, if nothing does, what came before.
    """
    plain = without_single_quotations(without_quotations(message).replace("’", "'"))
    if _PLAYED.search(plain) or _is_letter(plain) or _WORKED_ON.search(plain) or len(_SPEAKER.findall(plain)) > 1:
        return ""
    end = len(message)
    if mended := next((found for found in _MENDED.finditer(plain) if not _is_standing(plain, found)), None):
        after = _SENTENCE_END.search(plain, mended.end())
        rest = plain[after.end() :] if after else ""
        if not rest.strip() or _POINTS_BEFORE.search(plain, mended.start(), after.start() if after else end):
            return ""
        end = _sentence_start(plain, mended.start())
    for opening in (_SUPPOSED, _LABELLED):
        if found := opening.search(plain, 0, end):
            end = min(end, _sentence_start(plain, found.start()))
    introduces = any(mark in plain for mark in ":：\n")  # without one, the search would be in vain
    if introduces and (introduced := _INTRODUCED.search(plain, 0, end)) and not _is_wish(introduced[0]):
        end = min(end, introduced.end())
    return _COMMENT.sub("", message[:end])


def _is_standing(plain: str, mended: re.Match[str]) -> bool:
    """Return whether a request to mend holds whenever a text comes: "when I paste a letter, fix the spelling"."""
    return bool(_WHENEVER.match(plain, _sentence_start(plain, mended.start())))


def told_in_verse(message: str, told: int) -> bool:
    """Return whether a message is verse and not a list of facts. told: the number of its statements.

    Verse has short lines without full stops, half of them with a comma at the end; or none that asks, orders or greets.
    """
    lines = [line.strip() for line in message.split("\n") if line.strip()]
    if len(lines) < _FEWEST_VERSES or any(len(line) > _LONGEST_VERSE for line in lines):
        return False
    if sum(line[-1] in ",，;；" for line in lines) >= _FEWEST_COMMAS * len(lines):
        return True
    return told < _MOST_TOLD * len(lines) and not any(_is_chat(line) for line in lines)


def _is_letter(text: str) -> bool:
    shortest, longest = _LENGTHS_OF_LETTERS
    for opening, ending in _LETTERS:
        opened = [found.end() for found in opening.finditer(text)]
        for found in ending.finditer(text) if opened else ():
            before = bisect_right(opened, found.start() - shortest)
            if before and found.start() - opened[before - 1] <= longest:
                return True
    return False


def _is_chat(line: str) -> bool:
    return line[-1] in ".?!。？！:：" or not line[0].isalpha() or is_small_talk(line) or _asks_or_orders(line)


def _asks_or_orders(line: str) -> bool:
    return any(
        language.ORDER.match(line) or language.REMEMBER.match(line) or language.QUESTION.match(line)
        for language in (patterns_en, patterns_zh)
    )


def _sentence_start(text: str, position: int) -> int:
    found = _LAST_END.match(text, 0, position)
    return found.end() if found else 0


def _is_wish(line: str) -> bool:
    """Return whether a line that names a text is a wish of the user: "My rules for commit messages: …"."""
    return bool(_WISH.match(line)) or any(language.REMEMBER.match(line) for language in (patterns_en, patterns_zh))
