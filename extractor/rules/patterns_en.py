"""Patterns over one clause for English statements about the speaker.

They match at its start only, so that quotations of others ("she said I like…") do not match.
"""

import re

from .shapes_en import SHAPES
from .statements_en import read_statement
from .wishes_en import read_wish

__all__ = [
    "APPOSED",
    "ASIDE",
    "ATTRIBUTED",
    "BLOCKED",
    "CONDITION",
    "FILLER",
    "FOR_ME",
    "FROM_NOW_ON",
    "ONE_OFF",
    "OPENER",
    "ORDER",
    "POINTS_BACK",
    "QUESTION",
    "REMEMBER",
    "SHAPES",
    "SUBJECT",
    "TAIL",
    "TRAILING",
    "WISHING",
    "read_statement",
    "read_wish",
]

# Words before a statement that do not belong to it.
FILLER = re.compile(
    r"(?:(?:ok(?:ay)?|well|so|and|but|also|plus|yes|yeah|yep|no(?=\s*[,.!—–-])|nah|hey|hi|hello|btw|by the way|fyi"
    r"|for your information"
    r"|just so you know(?: who you're talking to)?|for context|for reference|for background|(?:got|picked|heard"
    r"|signed|passed|(?:big|good|great|happy|lovely) news)[^,.:;!?]{0,40}(?=:)|guess what|just fyi|as you know"
    r"|actually|honestly|personally|basically|anyway|oh|ah|hmm+|sure"
    r"|right|alright|great|thanks|thank you"
    r"|perfect|cool|nice|good(?! news)|one more thing|another thing|to be honest|tbh|in my case|as for me|mate|look"
    r"|listen|because|since|then|though|still"
    r"|first(?:ly)?|second(?:ly)?|finally|also note|quick note|context|background|note|please note|important"
    r"|about me)"
    r"(?:\s*[,:.!—–-]+\s*|\s+))+",
    re.IGNORECASE,
)

_NOTE = (
    r"(?:remember|don'?t (?:ever )?forget|do not forget|never forget|make a note|take (?:a )?note"
    r"|note(?: down)?|keep in mind|bear in mind|keep a note)"
)
# "Remember, we talked about…" is a reminder and "remember to…" an order: neither holds a memory.
_NOT_TOLD = (
    r"(?!(?:to|for|as|and|is|are|if|when|what|how|why|where|who|in|on|at|with|from|this|that|these|those|it"
    r"|it's|its|here|there|all (?:of|that|this)|your|you|you're|you'll|you've|you are"
    r"|we (?:talked|discussed|spoke|went|already|said|agreed|still|had|did|were|are (?:still|just|only)|only"
    r"|just|want(?:ed)? to|need(?:ed)? to)|i (?:said|told|mentioned|asked|already|just|only|want(?:ed)? (?:you"
    r"|to|this|it)|need (?:you|to|this|it)|said|was|wasn't|will|am (?:still|just|only)|don't want (?:to|you"
    r"|this))"
    r"|(?:my|our) (?:goal|point|question|request|instructions?|earlier|previous|last|other|first) |the (?:last"
    r"|previous|first|plan|goal|point|time|one|other|conversation|context|above|following"
    r"|key (?:point|idea|thing|part|takeaway|word)s?|rule|rules"
    r"|instructions?|format|target|response|answer|output)|information)\b)"
)
REMEMBER = re.compile(
    rf"(?:(?:please|pls|also|can you|could you|you should|i want you to|i need you to|i'd like you to|kindly"
    rf"|just|and|so|ok(?:ay)?|hey|but)[ ,]+){{0,4}}"
    rf"(?:{_NOTE}(?:\s+(?:this|the following|these(?: things| points)?|for (?:me|later|next time|the future"
    rf"|future reference)|to self|forever|always)){{0,2}}"
    rf"(?:\s*[:：]+\s*|\s+(?:that|of the fact that)\s+{_NOT_TOLD}|[,，]\s*(?=(?:i|i'm|my|our|we)\b){_NOT_TOLD}"
    rf"|\s+(?=(?:i|i'm|we|my|our|the|all|everything|every|no|he|she|his|her|they|their|\d"
    rf"|(?-i:[A-Z])[a-z]+(?:'s)? )\b){_NOT_TOLD})"
    rf"|{_NOTE}\s+(?:these(?: things| points| facts)?|the following)(?: for (?:me|later))?\s*$"
    r"|(?:add|save|store|put|write|commit)\s+(?:this|that|it|the following)?\s*(?:to|in|into)\s+(?:your |the "
    r"|long[- ]term )*memory\s*(?:[:：,-]+\s*|\s+that\s+)"
    r"|for (?:future reference|the record)\s*[,:]\s*)",
    re.IGNORECASE,
)
# "Remember that." refers to what came before, "remember these:" to what follows.
POINTS_BACK = re.compile(
    r"(?:(?:please|and|so|ok(?:ay)?|can you|could you)[ ,]+){0,3}(?:remember|don'?t forget|note|keep in mind"
    r"|make a note of|save|memorize|keep|bear)\s+(?:that|this|it)"
    r"(?: (?:please|for me|for later|for next time|for the future|forever|in mind|down|for (?:\w+ )?\w+))*[.!]*$",
    re.IGNORECASE,
)

QUESTION = re.compile(
    (
        r"(?:what|how|why|when|where|who|whom|whose|which|is|are|am|was|were|do|does|did|can(?!'t (?:stand|bear"
        r"|abide|handle|take) )|could|would|will"
        r"|should|shall|may|have|has|any(?! \w+ (?:you|that)\b)|isn't|aren't|don't you|doesn't|won't|wouldn't)\b"
    ),
    re.IGNORECASE,
)
# An order or a request, which ends a statement.
ORDER = re.compile(
    r"(?:(?:so|and|then|now|please|pls|kindly|just|could you|can you|would you|will you|you)[ ,]+){0,4}"
    r"(?:help|give|show|tell|write|make|create|build|fix|find|explain|list|generate|add|remove|delete|update"
    r"|restart|run|check|send|book|suggest|recommend|rewrite|translate|summari[sz]e"
    r"|draft|plan|set up|let me|let's (?:see|start|get|do|move|dive|try|look|talk|discuss|continue|begin|work"
    r"|focus)|could you|can you|would you|will you|please|any (?:ideas|suggestions|tips|recommendations)|what"
    r"|how|which|thanks|thank you)\b",
    re.IGNORECASE,
)
CONDITION = re.compile(
    r"(?:if|when|whenever|whatever|wherever|unless|once|every time|each time|before|after|for)\b", re.IGNORECASE
)
FROM_NOW_ON = re.compile(
    (
        r"(?:please |and |so |but |ok(?:ay)? )*(?:from now on|from here on(?: out)?|going forward"
        r"|in (?:the )?future|henceforth|(?:for|in|on) (?:this|our|my|the) (?:[\w-]+ )?(?:repo(?:sitory)?|project"
        r"|codebase)"
        r"|(?:whenever|every time|each time|when) you (?:write|answer|reply|code|format|commit|review|create|name"
        r"|explain"
        r"|generate|make|add|edit|speak|talk)\b.{0,60})$"
    ),
    re.IGNORECASE,
)
# Says when or where, and says nothing alone: "in our team, …", "last spring, …".
OPENER = re.compile(
    r"(?:(?:in|at|on|within) (?:our|my|the) [\w'-]+(?: [\w'-]+)?|(?:at|from) (?:home|work|school)|since \S+(?: \S+)?"
    r"|(?:on|in) \w+s|(?:last|every|each) \w+(?: \w+)?|most \w+s|nowadays|these days|in (?:19|20)\d\d"
    r"|in (?:january|february|march|april|may|june|july|august|september|october|november|december))$",
    re.IGNORECASE,
)
FOR_ME = re.compile(
    r"in (?:your|my|our|all|any)\b|for (?:\w+ ){0,2}\w+s(?:$|: )|(?:any|every)(?:thing|where)\b[^,]{2,40}$",
    re.IGNORECASE,
)  # a place where a wish may hold that follows
APPOSED = re.compile(
    r"(?:my|our) \w+(?: \w+)?, (?-i:[A-Z])\w+(?: (?-i:[A-Z])\w+)?$", re.IGNORECASE
)  # "my sister, Ann, …"
WISHING = re.compile(r"(?:can|could|would|will) you (?:please )?(?:always|never|only)\b", re.IGNORECASE)
SUBJECT = re.compile(r"(?:i|we|my|our|me|the|in|at|on|last|since|both|been|got)\b|(?-i:[A-Z])", re.IGNORECASE)
TAIL = re.compile(
    r"(?:always|ever|please|every time|each time|at all times|no exceptions|in general|generally|as a rule"
    r"|by default|throughout|would you|will you|could you|if you would|if you can|period|full stop|thanks"
    r"|for me)[ .!]*$",
    re.IGNORECASE,
)
ASIDE = re.compile(
    r"\b(?:said|says|told (?:me|us|him|her|them)|asked|wrote|writes|claims?|according to)\s*:?\s*$",
    re.IGNORECASE,
)
ATTRIBUTED = re.compile(
    r"(?:is|that's) what .{1,30}(?:say|says|said|tells? \w+)\W*$|as .{1,30} (?:says|said|puts it)\W*$"
    r"|.*\bif you ask me\W*$|(?:he|she|they|\w+) (?:said|added|wrote|replied|says|adds|goes|asked|claimed|answered"
    r"|explained)\W*$",
    re.IGNORECASE,
)
TRAILING = re.compile(
    (
        r"(?:[,\s]+(?:please|thanks|thank you|thx|ok(?:ay)?|right|though|too|btw|by the way|you know|mate|lol|haha"
        r"|anyway|cheers|if possible|just so you know)\b)++[\s!.]*$"
    ),
    re.IGNORECASE,
)

# Not about the person, or only for a short time.
BLOCKED = re.compile(
    r"\b(?:traceback|stack ?trace|exception|crash(?:e[sd]|ing)?|not working|doesn't work|don't work"
    r"|isn't working|won't (?:start|run|compile|load)|broken"
    r"|errors?|bugs?|fail(?:s|ed|ing)|undefined|segfault|null pointer"
    r"|at the moment|at this point|tonight"
    r"|with a passion for|proven track record|results-driven|highly motivated"
    r"|ignore (?:all|any|the|your|previous|prior)|disregard|system prompt|act as|pretend|role-?play|jailbreak)\b",
    re.IGNORECASE,
)

# Holds for one occasion, also where it is an order or is to be remembered.
ONE_OFF = re.compile(
    r"\b(?:just this once|for now|right now|this time(?!\s?zone)|until then|for the (?:moment|time being)|(?:just"
    r"|only) (?:for )?(?:today"
    r"|tonight|now)|for today|today only|later today|in a (?:minute|second|moment|bit)|(?:when|once|after) you(?:'re"
    r"| are) done|for the rest of (?:the|this)"
    r"|(?:(?:in|for|on|to|with) )?(?:this|the next|your next) (?:one|task|run|session|answer|reply|response|question"
    r"|message"
    r"|round|step|exercise|conversation|chat|turn|attempt|draft)"
    r"|(?:in|for|of|on) (?:this|that) (?:file|function|method|class|module|spreadsheet|table|sheet|column|document"
    r"|page"
    r"|paragraph|sentence|email|test|commit|branch|pr|pull request|ticket|script|example|case|image|picture))\b"
    r"|\bi(?:'m| am) (?:\w+ )?(?:in|at|on) (?:a|the|my) (?:meeting|call|hurry|rush|train|tram|bus|bus stop|phone"
    r"|plane|break|queue"
    r"|tube|gate|airport|lesson|lecture)\b|\bi(?:'m| am) at work\s*(?:$|[,;])|\bhere\s*$|\b(?:on|in|at) line \d",
    re.IGNORECASE,
)
