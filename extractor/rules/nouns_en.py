"""English nouns that the shapes share: what a person is, what a project has."""

__all__ = ["ROLE", "THING"]

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
