"""English clauses to keep: the shapes of statements about the speaker, and the patterns that join and close them.

They match at its start only, so that quotations of others ("she said I like…") do not match.
"""

import re

from .reading import Shape
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
    "ROLE",
    "SHAPES",
    "SUBJECT",
    "TAIL",
    "TRAILING",
    "WISHING",
    "read_statement",
    "read_wish",
]


# English nouns that the shapes share: what a person is, what a project has.

ROLE = (
    r"(?:[\w/+.#&-]+\s+){0,5}?(?:engineer|developer|programmer|designer|teacher|student|doctor|nurse|lawyer"
    r"|manager|scientist|researcher|analyst|consultant|writer|author|artist|musician|founder|ceo|cto|cfo|coo"
    r"|pm|director|owner|entrepreneur|freelancer"
    r"|accountant|architect|chef|cook|driver|pilot|student|professor|lecturer|journalist|editor|photographer"
    r"|translator|admin(?:istrator)?|sre|devops|dba|contractor|carpenter|electrician|plumber|builder|farmer"
    r"|banker|trader|investor|salesperson|marketer|therapist|psychologist|pharmacist|dentist|vet|veterinarian"
    r"|surgeon|paramedic|soldier|firefighter"
    r"|barista|waiter|waitress|bartender|retiree|widow(?:er)?|mother|father|mom|mum|dad|parent|grandmother"
    r"|grandfather|grandma|grandpa|husband|wife|single (?:mom|mum|dad|parent)|twin|vegetarian|vegan"
    r"|pescatarian|celiac|diabetic|muslim|christian|buddhist|jew|hindu|atheist|catholic"
    r"|introvert|extrovert|night owl|morning person|early bird|cat person|dog person|native speaker|beginner"
    r"|novice|expert|veteran|immigrant|expat|citizen|resident|aries|taurus|gemini|cancer|leo|virgo|libra"
    r"|scorpio|sagittarius|capricorn|aquarius|pisces|american|canadian|australian|german|chinese|japanese"
    r"|indian|nigerian|londoner|new yorker|runner|gamer|climber|cyclist|swimmer|surfer|guitarist|pianist|drummer"
    r"|violinist|bassist|singer|composer|dancer"
    r"|midwife|mechanic|welder|baker|tailor|gardener|librarian|judge|tutor|coach|trainer|nanny|carer|receptionist"
    r"|secretary|pastor|sailor|painter|sculptor|illustrator|cellist|riser|\w+(?:keeper|smith|ologist|ographer|maker"
    r"|worker|monger|nomist|ician))s?"
)
THING = (
    r"(?:project|app|application|service|stack|tech stack|backend|frontend|database|db|api|repo|repository"
    r"|server|codebase|website|site|infra(?:structure)?|ci|cd|pipeline|cluster|monorepo|product|platform"
    r"|production|staging|deployment|cache|queue|team|company|startup|organi[sz]ation|office|port|domain"
    r"|default branch|main branch|package manager|build system|test framework|cloud|bot|gateway|system)"
)


# The kinds of English statements to keep, as patterns over one clause.

_THIS = (
    r"(?!(?:it|that|this|these|those|them|him|her|you|your|yours|how|what|where|when|why|who|all of|both"
    r"|everything|nothing|something|neither|either|option|"
    r"the (?:idea|sound|look|way|fact|approach|plan|suggestion|suggestions|first|second|third|last|next|new"
    r"|former|latter|other|previous|above|thought|concept|direction|part|one|ones|result|results|analogy"
    r"|energy|vibe|name|title|design|structure|format|flow|focus|details?|progress|example|examples|emphasis"
    r"|proposed|revised|updated)"
    r"|to (?:think|know|see|hear|imagine|say|add|ask|start|continue|proceed|discuss|review|know|believe"
    r"|confirm)|being able|if|so much|most about|about|as|the most|working (?:with|on) (?:you|this|that))\b)"
)
_OFTEN = (
    r"(?:(?:really|very much|much|usually|generally|normally|typically|always|also|still|just|personally"
    r"|absolutely|truly|definitely|particularly|especially|rather|strongly|mostly|mainly|only|do|so|deeply"
    r"|genuinely|simply)\s+)*"
)
_NAME = r"[\w\ue000\"“'*`.+#-]"
_WHEN = (
    r"(?:.*\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|.*\b\d{1,2}(?::\d\d)? ?(?:am|pm)\b|.*\b\d\d?:\d\d\b"
    r"|.*\b(?:january|february|march|april|may|june|july|august|september|october|november|december) \d)"
)

# A shape: category, type, importance, confidence, and the pattern of its clause.
# fmt: off
SHAPES: tuple[Shape, ...] = (
    # Standing instructions
    Shape("instruction", "O", "high", 0.9,
        r"(?:please |you (?:should|must|can) |i want you to |i need you to |i'd like you to |can you "
        r"|could you )?(?:from now on|from here on|going forward|in (?:the )?future|henceforth|(?:for|in|on) (?:this"
        r"|our|my|the)"
        r" (?:[\w-]+ )?(?:repo(?:sitory)?|project|codebase)(?=, (?:please |always |never |don't |use |write |keep ))"
        r"|(?:whenever|every time|each time|when) you [^,]{2,60}(?=, (?:please |always |never |don't |use |write "
        r"|keep |add ))"
        r")\b[, ]+(?!(?:i|we"
        r"|it|this|that|they|he|she|will|would|can|what|how|there)\b).{4,}"),
    Shape("instruction", "O", "high", 0.9,
        r"(?:please )?(?!.*\b(?:i|we|he|she|they|it) will\b)(?:always|never|don't ever|do not ever) (?:use|answer"
        r"|reply|respond|write|call|address|include|add|give|show|speak|talk|keep|put|send|ask|tell|explain|format"
        r"|follow|prefer|default|run|commit|push|deploy|start|end|check|provide|make|mention|assume|suggest"
        r"|recommend|translate|treat|remember|do|be|let|say|change|delete|edit|touch|create|insert|merge"
        r"|(?:force-)?push|rebase|squash|skip|ignore|bypass|disable|log"
        r"|print|hard-?code|import|install|upgrade|bump|test|review|document|name|round|quote|cite|wait|confirm"
        r"|verify"
        r"|sort|rename|move|lint|mock|release|sign|open|close|link|attach|label|tag|pin|wrap|indent|number|amend"
        r"|stage|revert|back up)\b.{2,}"),
    Shape("instruction", "O", "high", 0.88,
        r"(?:please )?(?:use|answer|reply|respond|write|call|address|speak|talk|format|keep|prefer|default to"
        r"|don't|do not|stop|avoid)\b.{3,}\b(?:from now on|going forward|in (?:the )?future|every time|by default"
        r"|at all times|for all (?:my |our )?(?:future )?\w+|in all (?:my |our |your )?\w+|in everything|everywhere"
        r")\b.{0,60}"),
    Shape("instruction", "O", "high", 0.9,
        r"(?:please |you (?:can|may|could|should) |just )?call me (?!(?:back|later|when|if|at|on|in|tomorrow|today"
        r"|tonight|crazy|a|an"
        r"|the|paranoid|old)\b)[\w\ue000\"“'*-]+(?: [\w'-]+){0,3}"),
    # Preferences
    Shape("preference", "O", "high", 0.88, rf"(?:i|we) {_OFTEN}(?:prefer|favou?r)\b(?! not\b) {_THIS}.{{2,}}"),
    Shape("preference", "O", "normal", 0.82,
        r"i (?:usually|always|normally|typically|generally|mostly) (?!(?:get(?! up)|see|forget|wonder|thought"
        r"|think|end"
        r"|find|have to)\b)\w+ .{0,60}?\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?:morning|evening"
        r"|afternoon|night|weekend|weekday|day|week|month)s?|(?:at|before|after|around|until) (?:\d|noon|one|two"
        r"|three|four|five|six|seven|eight|nine|ten|eleven)).*"),
    Shape("preference", "O", "high", 0.85,
        rf"(?:i|we) {_OFTEN}(?:hate|detest|can't stand|cannot stand|despise|loathe|can't bear"
        rf"|dislike) {_THIS}.{{3,}}"),
    Shape("preference", "O", "normal", 0.8,
        rf"(?:i|we) {_OFTEN}(?:don't|do not|never|no longer|didn't use to) {_OFTEN}(?:like|love|enjoy|want to use"
        rf"|use|drink|eat|watch|read|care for) {_THIS}.{{2,}}"),
    Shape("preference", "O", "normal", 0.78,
        rf"i {_OFTEN}(?:like|love|enjoy|adore) (?!the |all |both |having you|your ){_THIS}.{{3,}}"),
    Shape("preference", "O", "normal", 0.8,
        r"i(?:'ve| have) (?:switched|moved|changed|migrated) (?:over )?(?:from .{2,60} )?to\b (?!(?:it|that"
        r"|this)\b).{2,}|i(?:'ve)? (?:now use|use .{2,40} now|switched (?:from .{2,60} )?to|no longer use|don't use"
        r"|quit|(?:have |'ve )?(?:just |recently |completely )*(?:stopped (?:us|drink|eat|smok|buy|watch|read|tak"
        r"|play|wear"
        r"|follow)ing|given up|gave up))\b(?! (?:it|that|this)\b).{2,}"),
    # Decisions
    Shape("decision", "W", "high", 0.88,
        r"(?:we|i|the team|our team)(?:'ve| have)? (?:all |both |finally |already |now |just |also |officially "
        r"|pretty much |ultimately )*(?:decided|chosen|chose|settled on|agreed|picked|opted|committed to"
        r"|finali[sz]ed|selected|signed off on)\b(?! (?:it|that i (?:need|want)|this|yet|to (?:ask|come|check|see"
        r"|talk|give|take a look|reach out|contact))\b).{4,}"),
    Shape("decision", "W", "normal", 0.75,
        r"(?:let's|let us|we'll|we will|we shall|i'll|we should) (?:go with|use|stick with|settle on|choose|adopt"
        r"|standardi[sz]e on|switch to|move to|migrate to|keep using|deploy (?:on|to|with)) (?!(?:it|that|this"
        r"|these|those|them|your|the (?:first|second|third|last|next|other|same|above|one|following|plan|approach"
        r"|idea|suggestion)|(?:option|number|choice) ?#?\w+\s*$|all|both|another|a different|something|whatever"
        r"|what)\b).{2,}"),
    # What no longer holds
    Shape("fact", "B", "high", 0.9,
        r"i(?:'m| am) (?:actually |really )*(?:not|no longer) (?:actually |really )*(?:(?:allergic|intolerant"
        r"|sensitive) to (?!(?:it|that|this|you|your|the (?:idea|fact))\b)[^,]{3,60}|(?:an? )?(?:vegan|vegetarian"
        r"|pescatarian|diabetic|pregnant|married|engaged|single|retired|unemployed|smoker|student|muslim|christian"
        r"|celiac|lactose intolerant)\b(?! (?:enough|but|because|yet)\b)(?: any ?more| any longer| after all"
        r"| now)?$)"),
    Shape("fact", "W", "high", 0.85,
        rf"(?:the|our|my) (?!(?:time|date|clock|year|day)\b)(?:[\w-]+ ){{1,4}}?(?:(?:is|are) now|(?:has |have |was "
        rf"|were |is |got )?(?:been )?(?:now )?(?:moved|changed|rescheduled|postponed|shifted) to)"
        rf" (?!.*\b(?:today|tomorrow|tonight)\b){_WHEN}.*"),
    # The person
    Shape("fact", "B", "high", 0.92,
        rf"(?:my (?:full |first |last |real |given |nick ?)?name(?:'s| is)|my (?:full |first |last )?name:|i go by"
        rf"|people call me|everyone calls me) (?!(?:not|on|in|the|a|listed|spelled"
        rf"|misspelled)\b){_NAME}+(?: (?!(?:and|but)\b)[\w'.-]+){{0,4}}"),
    Shape("fact", "B", "high", 0.88,
        rf"(?:i'm|i am|i work as) (?:currently |also |actually |originally |both |still |now )*(?:an? |the "
        rf"|(?=(?:ceo|cto|cfo|coo)\b))(?!(?:bit|little|lot|tad|few|couple|huge fan|big|bad|good|great|real"
        rf"|total)\b){ROLE}\b(?! of (?:habit))(?! (?:too|as well))?.*"),
    Shape("fact", "B", "normal", 0.85,
        r"i (?:also |already |now |currently )*(?:have|own|adopted|got) (?:an? |one |two |three |four |five |\d+ "
        r"|another )(?:\w+ ){0,3}?(?:kids?|children|sons?|daughters?|toddlers?|babies|baby|dogs?|cats?|pupp(?:y"
        r"|ies)|kittens?|parrots?|rabbits?|brothers?|sisters?|siblings?|wife|husband|girlfriend|boyfriend|twins?"
        r"|grandkids|grandchildren|degree|phd|masters?|bachelor'?s?|diploma|driver'?s licen[sc]e|macbook|iphone"
        r"|thinkpad|tesla|piano|guitar)\b.*"),
    Shape("fact", "B", "high", 0.85,
        r"my (?:\w+ )?(?:email(?: address)?|phone(?: number)?|mobile(?: number)?|time ?zone|address|home address"
        r"|native language|mother tongue|first language|job(?: title)?|role|title|position|occupation|profession"
        r"|employer|company|hometown|nationality|blood type|star sign|zodiac sign|mbti|pronouns|github(?: username"
        r"| handle)?|username|handle|major|alma mater|manager|boss|shoe size|height|weight|working hours"
        r"|work hours|budget|car|laptop|phone|os|operating system|editor|ide|salary)(?:'s| is| are|:"
        r"| (?:has |was |is )?(?:now )?changed to) (?!(?:not"
        r"|on fire|slow|broken|dead|too|so|very|acting|being|killing|getting|going|really|just|pretty|all|tight"
        r"|limited|important|the (?:problem|issue|same)|an? (?:mess|joke|nightmare|bit|problem|good"
        r"|great))\b|\w+ing\b).{2,}"),
    Shape("fact", "B", "high", 0.9, r"name's (?-i:[A-Z])[\w'-]+(?: (?-i:[A-Z])[\w'-]+){0,2}(?=$|[,;:. ])"),
    Shape("preference", "O", "high", 0.85,
        r"(?!(?:this|that|it|which|what|he|she|they|you|the|your)\b)[\w'-]+(?: [\w'-]+){0,3}?(?: is| are"
        r"|'s) (?:strictly |"
        r"completely |all )?(?:out|off limits|off-limits|off the menu|off the table|a no-go|no-gos?|forbidden|poison)"
        r" (?:for|to|with) (?:me|us)\b.*"
        r"|anything (?:with|containing|from|involving|made (?:with|of|from)) [\w' -]{2,40}?(?: is|'s) (?:out"
        r"|off limits|banned"
        r"|forbidden|a no|a no-no|a no-go)\b.*"
        r"|(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekends?|evenings?|mornings?) (?:is"
        r"|are) off[- ]limits\b.*"),
    # The project
    Shape("fact", "W", "normal", 0.82,
        rf"(?:our|my) (?:[\w-]+ ){{0,3}}?{THING}s? (?:now |currently |only |also |always )*(?:uses?|runs? (?:on|in"
        rf"|with)|is (?:deployed|hosted|written|built|running|based|located|called|named|on (?:port )?\w|in (?:go"
        rf"|rust|python|java|kotlin|the|aws|gcp|azure|kubernetes|us-|eu-)|at|postgres|mysql|\d)|are (?:deployed"
        rf"|hosted|written|built)|lives? (?:on|in|at)|listens? on|supports?|requires?|depends? on|targets?|follows?"
        rf"|has \d|consists? of|relies on)\b.{{2,}}"),
    Shape("fact", "W", "normal", 0.8,
        rf"(?:the|this) (?:[\w-]+ ){{0,3}}?{THING} (?:now |currently |only |also )*(?:uses|runs (?:on|in)"
        rf"|is (?:deployed (?:on|to|at|in)|hosted (?:on|at|in)|written in|built (?:with|on)|on port|based on"
        rf"|located at)|are deployed (?:on|to)|lives (?:on|in|at)|listens on) .{{2,}}"),
    Shape("fact", "W", "normal", 0.8,
        r"(?:(?:in|on|for|at) (?:this|our|my|the) (?:[\w-]+ )?(?:project|repo(?:sitory)?|codebase|team|company|app"
        r"|office"
        r"|work|service),? )?we (?:currently |now |also |only |still |always )*(?:use|deploy (?:on|to|with|via)"
        r"|run on|host (?:on|with|at)"
        r"|build with|develop in|write (?:everything|our \w+) in|store \w+ in|rely on|release (?:every|on)"
        r"|have (?:\d+|two|three|four|five|six|seven|eight|nine|ten) (?:engineers|developers|people|employees"
        r"|members|servers|environments|customers|users|teams)) (?!(?:it|that|this|them|to|the (?:same|word"
        r"|term))\b).{2,}"),
    Shape("fact", "W", "normal", 0.82,
        r"(?:the )?(?:deadline|launch date|release date|due date|go-live|demo|meeting|standup|stand-up|budget|port"
        r"|default branch|staging url|production url|api endpoint|base url) (?:for .{2,60} )?(?:is|was moved to"
        r"|has moved to|moved to|will be|is set for)(?: on| at| in)? (?=.*\d|.*\b(?:mon|tues|wednes|thurs|fri"
        r"|satur|sun)day|.*main|.*master|.*https?:).{1,}"),
)
# fmt: on


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
