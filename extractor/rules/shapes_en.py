"""The kinds of English statements to keep, as patterns over one clause."""

from .nouns_en import ROLE, THING
from .shapes import Shape

__all__ = ["SHAPES"]

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
