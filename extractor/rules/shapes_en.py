"""The kinds of English statements to keep, as patterns over one clause."""

from .nouns_en import KIN, ROLE, THING
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
        r"|print|hard-?code|import|install|upgrade|bump|test|review|document|name|round|quote|cite|wait|confirm|verify"
        r"|sort|rename|move|lint|mock|release|sign|open|close|link|attach|label|tag|pin|wrap|indent|number|amend"
        r"|stage|revert|back up)\b.{2,}"),
    Shape("instruction", "O", "high", 0.88,
        r"(?:please )?(?:use|answer|reply|respond|write|call|address|speak|talk|format|keep|prefer|default to"
        r"|don't|do not|stop|avoid)\b.{3,}\b(?:from now on|going forward|in (?:the )?future|every time|by default"
        r"|at all times|for all (?:my |our )?(?:future )?\w+|in all (?:my |our |your )?\w+|in everything|everywhere"
        r")\b.{0,60}"),
    Shape("instruction", "O", "high", 0.85,
        r"(?:please )?(?:keep|make) (?:all )?(?:your|the|my|all) (?:answers?|repl(?:y|ies)|responses?|messages?"
        r"|emails?|explanations?|code|commit messages?|summar(?:y|ies)|reports?) (?:always )?(?:short|brief"
        r"|concise|simple|terse|formal|informal|casual|polite|to the point|under|below|in|within|as short|long"
        r"|detailed)\b.*"),
    Shape("instruction", "O", "normal", 0.8,
        r"(?:please )?(?:don't|do not|never|stop|avoid) (?:ever )?(?:us(?:e|ing)|call(?:ing)? me"
        r"|address(?:ing)? me|send(?:ing)? me|apologi[sz](?:e|ing)|add(?:ing)? (?:emojis?|comments))\b(?! (?:it"
        r"|that|this|these|those|them|the (?:first|second|last|above|same|previous)|any of)\b).{0,120}"),
    Shape("instruction", "O", "high", 0.9,
        r"(?:please |you can |just )?call me (?!(?:back|later|when|if|at|on|in|tomorrow|today|tonight|crazy|a|an"
        r"|the|paranoid|old)\b)[\w\ue000\"“'*-]+(?: [\w'-]+){0,3}"),
    Shape("instruction", "O", "normal", 0.8,
        r"(?:i want|i need|i expect|i'd like|i would like|i'd prefer|i prefer) you(?:r (?:answers|replies"
        r"|responses))? to (?:always|never)\b.{4,}"),
    # Preferences
    Shape("preference", "O", "high", 0.88, rf"(?:i|we) {_OFTEN}(?:prefer|favou?r)\b(?! not\b) {_THIS}.{{2,}}"),
    Shape("preference", "O", "high", 0.88,
        r"(?:i|we) (?:always|never|only|usually|normally|typically|mostly|mainly) (?:use|code in|write in|work in"
        r"|program in|drink|eat|order|buy|wear|fly|travel with|deploy with|deploy to|read|listen to|watch|sleep"
        r"|wake up|work out|commute|pay|book|take (?:my|the)|skip)\b (?!(?:it|that|this|them)\b).{2,}"),
    Shape("preference", "O", "normal", 0.82,
        r"i (?:usually|always|normally|typically|generally|mostly) (?!(?:get(?! up)|see|forget|wonder|thought|think|end"
        r"|find|have to)\b)\w+ .{0,60}?\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?:morning|evening"
        r"|afternoon|night|weekend|weekday|day|week|month)s?|(?:at|before|after|around|until) (?:\d|noon|one|two"
        r"|three|four|five|six|seven|eight|nine|ten|eleven)).*"),
    Shape("preference", "O", "high", 0.85,
        rf"(?:i|we) {_OFTEN}(?:hate|detest|can't stand|cannot stand|despise|loathe|can't bear"
        rf"|dislike) {_THIS}.{{3,}}"),
    Shape("preference", "O", "normal", 0.8,
        rf"(?:i|we) {_OFTEN}(?:don't|do not|never|no longer|didn't use to) {_OFTEN}(?:like|love|enjoy|want to use"
        rf"|use|drink|eat|watch|read|care for) {_THIS}.{{2,}}"),
    Shape("preference", "O", "high", 0.85,
        rf"(?:i|we) {_OFTEN}(?:like|love|enjoy|prefer) (?:to (?:use|code|program|write|work|develop)|using|coding"
        rf"|programming|writing|working|developing)\b (?!(?:it|that|this|them|with you|on this|on it"
        rf"|together)\b).{{2,}}"),
    Shape("preference", "O", "normal", 0.78,
        rf"i {_OFTEN}(?:like|love|enjoy|adore) (?!the |all |both |having you|your ){_THIS}.{{3,}}"),
    Shape("preference", "O", "normal", 0.8,
        r"i(?:'m| am) (?:really |very |also |not |a |an |quite |not really )*(?:into|fond of|(?:big |huge |great "
        r"|massive |die-?hard |long-?time )?fan of|obsessed with|crazy about|keen on|passionate about|addicted to"
        r"|used to|more of an?|partial to)\b (?!(?:it|that|this|the (?:idea|way|concept|approach))\b).{3,}"),
    Shape("preference", "O", "high", 0.88,
        r"my (?:all-time |absolute |personal |new )*(?:favou?rite|preferred|go-to|preference|default"
        r"|least favou?rite)\b.{0,60}\b(?:is|are|was)\b (?!(?:that|this|it|to (?:see|know))\b).{2,}"),
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
    Shape("decision", "W", "high", 0.85,
        r"we(?:'ve| have)? (?:just |recently |finally |now |already )*(?:switched|moved|migrated|changed"
        r"|upgraded) (?:over )?(?:from"
        r" .{2,60} )?to (?!(?:it|that|this|your|the (?:next|other|new))\b).{2,}"),
    Shape("decision", "W", "high", 0.85,
        r"(?:we|i)(?:'re| are|'m| am) (?:now |finally |officially |all )*(?:going with|sticking with"
        r"|switching (?:from .{2,60} )?to|moving (?:from .{2,60} )?to|migrating (?:from .{2,60} )?to"
        r"|standardi[sz]ing on|adopting|dropping|replacing)\b (?!(?:it|that|this|your|the (?:first|second|third"
        r"|last|next|other)|option|a (?:new|different) (?:topic|question))\b).{2,}"),
    Shape("decision", "W", "high", 0.85,
        r"(?:the (?:final )?(?:decision|verdict|choice|plan) (?:is|was) (?:to |that |final:? ))(?!(?:yours|up to"
        r"|see|be)\b).{4,}|decision(?: made)?:\s*.{4,}|(?:it's|it is) (?:decided|settled|final"
        r"|official)[,:]\s*.{4,}"),
    Shape("decision", "W", "normal", 0.75,
        r"(?:let's|let us|we'll|we will|we shall|i'll|we should) (?:go with|use|stick with|settle on|choose|adopt"
        r"|standardi[sz]e on|switch to|move to|migrate to|keep using|deploy (?:on|to|with)) (?!(?:it|that|this"
        r"|these|those|them|your|the (?:first|second|third|last|next|other|same|above|one|following|plan|approach"
        r"|idea|suggestion)|(?:option|number|choice) ?#?\w+\s*$|all|both|another|a different|something|whatever"
        r"|what)\b).{2,}"),
    # What no longer holds
    Shape("fact", "B", "high", 0.88,
        r"i(?:'m| am) no longer (?:on|in|at|with|working|living|based) (?!(?:it|that|this|time|the (?:mood|way"
        r"|same))\b).{2,60}$"),
    Shape("fact", "B", "high", 0.9,
        r"i (?:no longer|don't|do not) (?:live|work|study|teach|volunteer|own|have) (?:in|at|for|as|an?|any) (?!(?:it"
        r"|that|this"
        r"|you)\b)[^,]{2,60}?(?<!longer)(?: any ?more| any longer)$|i no longer (?:live|work|study|teach"
        r"|volunteer) (?:in|at|for"
        r"|as) (?!(?:it|that|this|you)\b)[^,]{2,60}$|i(?:'ve| have)? (?:just "
        r"|recently )*joined (?-i:[A-Z])[^,]{2,40}$"),
    Shape("fact", "B", "high", 0.9,
        r"i(?:'m| am) (?:actually |really )*(?:not|no longer) (?:actually |really )*(?:(?:allergic|intolerant"
        r"|sensitive) to (?!(?:it|that|this|you|your|the (?:idea|fact))\b)[^,]{3,60}|(?:an? )?(?:vegan|vegetarian"
        r"|pescatarian|diabetic|pregnant|married|engaged|single|retired|unemployed|smoker|student|muslim|christian"
        r"|celiac|lactose intolerant)\b(?! (?:enough|but|because|yet)\b)(?: any ?more| any longer| after all"
        r"| now)?$)"),
    Shape("fact", "B", "high", 0.9,
        r"i (?:just |recently |finally )*got (?:married|divorced|engaged)\b(?! (?:to my (?:work|job)|in (?:19"
        r"|20)))[^,]{0,60}$"),
    Shape("fact", "B", "high", 0.9,
        r"i(?:'ve| have)? (?:just |recently |finally |also )*(?:moved|relocated) (?:back )?(?:from .{2,40}? )?to"
        r" (?!(?:marketing|sales|finance|engineering|product|hr|design|support|operations|legal|management"
        r"|google|amazon|apple|microsoft|meta|netflix|notion|obsidian|slack|teams|figma|jira|linear|gmail|outlook"
        r"|proton|spotify|github|gitlab|bitbucket|substack|wordpress|excel|bluesky|mastodon|signal|telegram)\b)"
        r"(?-i:[A-Z])[\w'.-]+(?:,? (?-i:[A-Z])[\w'.-]+){0,3}(?: (?:last|this) \w+| recently| yesterday"
        r"| now| \w+ \w+ ago| in (?:20\d\d|(?-i:[A-Z])\w+(?: 20\d\d)?)| with (?:my|the) \w+)*$"),
    Shape("fact", "W", "high", 0.85,
        rf"(?:the|our|my) (?!(?:time|date|clock|year|day)\b)(?:[\w-]+ ){{1,4}}?(?:(?:is|are) now|(?:has |have |was "
        rf"|were |is |got )?(?:been )?(?:now )?(?:moved|changed|rescheduled|postponed|shifted) to)"
        rf" (?!.*\b(?:today|tomorrow|tonight)\b){_WHEN}.*"),
    Shape("fact", "B", "high", 0.9,
        r"i(?:'ve| have)? (?:just |recently |finally |also )*(?:gone|went|turned|become|became) (?:an? )?(?:fully "
        r"|mostly )?"
        r"(?:vegan|vegetarian|pescatarian|gluten[- ]free|dairy[- ]free|keto|sober|freelance|self-employed"
        r"|part[- ]time)\b.*"),
    # The person
    Shape("fact", "B", "high", 0.92,
        rf"(?:my (?:full |first |last |real |given |nick ?)?name(?:'s| is)|my (?:full |first |last )?name:|i go by"
        rf"|people call me|everyone calls me) (?!(?:not|on|in|the|a|listed|spelled"
        rf"|misspelled)\b){_NAME}+(?: (?!(?:and|but)\b)[\w'.-]+){{0,4}}"),
    Shape("fact", "B", "high", 0.88,
        rf"(?:i'm|i am|i work as) (?:currently |also |actually |originally |both |still |now )*(?:an? |the "
        rf"|(?=(?:ceo|cto|cfo|coo)\b))(?!(?:bit|little|lot|tad|few|couple|huge fan|big|bad|good|great|real"
        rf"|total)\b){ROLE}\b(?! of (?:habit))(?! (?:too|as well))?.*"),
    Shape("fact", "B", "high", 0.9,
        r"i (?:currently |now |also |still |used to |mostly |mainly )*(?:work|worked) (?:(?:full"
        r"|part)[- ]time |nights |days |shifts |remotely |mostly )?(?:at|for|as|in|from) (?!(?:it|that|this|all"
        r"|the (?:morning|evening|afternoon|meantime|same"
        r"|dark|end|past|background)|a (?:few|while|rush|loop|team where)|progress|pairs|mind|my own|hours|now|me"
        r"|you|as|first|least|general|theory|practice|order|secret|silence|bursts|batches|sprints|\d)\b).{2,}"),
    Shape("fact", "B", "high", 0.9,
        r"i (?:currently |now |also |still |actually )*(?:live(?! on (?!the|an?\b|my))|reside|grew up|was born"
        r"|was raised|come from"
        r"|immigrated|emigrated) (?:in|at|on|near|from|to|with|outside|just outside)?\s*(?!(?:fear|the (?:moment"
        r"|present|past)|it|that|this|and breathe|for|my (?:best )?life)\b).{2,}"),
    Shape("fact", "B", "high", 0.88,
        r"i(?:'m| am) (?:originally |currently |actually |now )*(?:from|based in|living in|located in"
        r"|staying in) (?!(?:the (?:future|past|other|outside|start|very|old|school|generation)|a (?:place|family"
        r"|background|good|bad)|now|there|here|time|it|that|this|what|my|your)\b).{2,}"),
    Shape("fact", "B", "high", 0.9,
        r"(?:i was born (?:on|in)|my (?:birthday|birth date|date of birth|anniversary|wedding anniversary)(?:'s"
        r"| is| falls)?(?: on| in)?:?) (?!(?:coming|soon|next|tomorrow|today|a|the (?:best|worst)|over|party|gift"
        r"|wish|dinner|cake|approaching|around|so|not|and|present)\b).{2,}"),
    Shape("fact", "B", "high", 0.92,
        r"i(?:'m| am) (?:also |very |severely |highly |deathly |mildly |slightly )*(?:allergic|intolerant"
        r"|lactose intolerant|sensitive) to\b.{3,}|i(?:'m| am) (?:also )?(?:lactose intolerant|gluten[- ]free"
        r"|vegan|vegetarian|pescatarian|diabetic|dyslexic|colou?r[- ]?blind|left[- ]handed|right[- ]handed|bilingual"
        r"|deaf|blind|hard of hearing|pregnant|married|divorced|widowed|retired|unemployed|self-employed|autistic"
        r"|celiac|keto|halal|kosher|an only child)\b.*"),
    Shape("fact", "B", "high", 0.88,
        r"i (?:also |actually )*(?:have|suffer from|was diagnosed with|got diagnosed with|struggle with"
        r"|live with) (?:a |an |severe |mild |chronic |type [12] |high |low |bad |seasonal "
        r"|serious )*(?:\w+ )?(?:allerg(?:y|ies)|asthma|diabetes|hypertension|adhd|add|autism|dyslexia|celiac"
        r"|arthritis|migraines?|epilepsy|depression|anxiety disorder|insomnia|blood pressure|intolerance|condition"
        r"|disease|disorder|syndrome|ibs|gerd|scoliosis)\b.*"),
    Shape("fact", "B", "high", 0.85,
        r"i (?:can't|cannot) (?:eat|drink|tolerate|digest) (?:any )?(?!(?:it|that|this|another|more|the|all|anything"
        r"|much|a|any"
        r"|without|until|at|enough|my|because)\b)[\w-]+\b.*|i (?:can't|cannot|don't|do not|never) (?:eat|drink|smoke"
        r"|have|take|tolerate|digest) (?:any )?(?:meat"
        r"|pork|beef|fish|shellfish|seafood|shrimp|dairy|milk|gluten|nuts|peanuts|eggs|sugar|caffeine|coffee"
        r"|alcohol|soy|wheat|spicy|ibuprofen|penicillin|aspirin)\b.*"),
    Shape("fact", "B", "high", 0.85,
        r"i(?:'m| am) (?:turning )?(?:\d{1,2}|twenty|thirty|forty|fifty|sixty)(?:[- ]\w+)?(?: years? old\b| y/?o\b"
        r"|$).*"),
    Shape("fact", "B", "normal", 0.85,
        rf"my (?:\w+ )?{KIN},?(?: (?-i:[A-Z])\w+,?)?(?:'s (?:name|birthday) is|'s name's| (?:is|are) (?:named|called"
        rf"|allergic|\d|an? "
        rf"|vegan|vegetarian|diabetic|pregnant|deaf|blind|disabled|autistic|coeliac|celiac|left-handed"
        rf"|colou?r[- ]?blind|from|in (?:the )?(?:\d|college|grade|school|kindergarten|high school"
        rf"|university)|turning|{ROLE})|(?:'s)? (?:birthday|anniversary) (?:is|falls)|,? named| works (?:at|for|as"
        rf"|in)| has (?:an? )?(?:\w+ )?(?:allergy|asthma|diabetes|adhd|dyslexia|epilepsy|autism)| lives in| teaches"
        rf"| speaks)\b(?! (?:bit|little|lot|mess|great|good|huge|big|real))\b.{{1,}}"),
    Shape("fact", "B", "normal", 0.85,
        r"my (?:\w+ )?(?:lead|boss|manager|teacher|doctor|dentist|landlord|landlady|lawyer|therapist|coach|trainer"
        r"|neighbou?r"
        r"|colleague|flatmate|mentor|tutor)(?:'s name)?(?: is|'s) (?:called |named )?(?-i:[A-Z])\w+.*"),
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
        r"|great))\b).{2,}"),
    Shape("fact", "B", "normal", 0.82,
        r"i (?:also |can |only |mostly )*(?:speak|studied|study|majored in|graduated from|got my degree"
        r"|play(?:ed)? (?:the )?(?:guitar|piano|violin|drums|cello|tennis|football|soccer|basketball|chess)|teach"
        r"|manage a|lead (?:a|the)|run (?:a|my own) (?:\w+ )?(?:business|company|shop|store|startup|team|studio"
        r"|clinic|restaurant|blog|channel)|drive a|volunteer (?:at|for))\b (?!(?:it|that|this|to you|up|out|too"
        r"|abroad|hard|for)\b).{2,}"),
    Shape("fact", "B", "normal", 0.8,
        r"i use (?:an? |my )?(?:mac(?:book|os)?|windows|linux|ubuntu|debian|fedora|arch|iphone|android|vim|neovim"
        r"|emacs|vs ?code|cursor|pycharm|intellij|zsh|fish|tmux|dvorak|obsidian|notion)\b.*"),
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
