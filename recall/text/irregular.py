"""English forms that no stemmer brings together: went and go, children and child.

Every form of a group is indexed as the first one.
"""

__all__ = ["IRREGULAR_FORMS"]

_TABLE = """
bear bore born; beat beaten; become became; begin began begun; bend bent; bite bit bitten; blow blew blown;
break broke broken; bring brought; build built; buy bought; catch caught; child children; choose chose chosen;
come came; deal dealt; dig dug; do did done; draw drew drawn; dream dreamt; drink drank drunk; drive drove driven;
eat ate eaten; fall fell fallen; feed fed; feel felt; fight fought; find found; fly flew flown; foot feet;
forget forgot forgotten; forgive forgave forgiven; freeze froze frozen; get got gotten; give gave given;
go went gone going; grow grew grown; hang hung; have had; hear heard; hide hid hidden; hold held; keep kept;
knife knives; know knew known; lay laid; lead led; learn learnt; leave left; lend lent;
light lit; lose lost; make made; man men; mean meant; meet met; mouse mice; pay paid; person people;
ride rode ridden; rise rose risen; run ran; say said; see saw seen; seek sought; sell sold; send sent;
shake shook shaken; shelf shelves; shine shone; shoot shot; sing sang sung; sink sank; sit sat; sleep slept;
speak spoke spoken; spend spent; stand stood; steal stole stolen; stick stuck; sweep swept; swim swam swum;
swing swung; take took taken; teach taught; tear tore torn; tell told; think thought; throw threw thrown;
tooth teeth; understand understood; wake woke woken; wear wore worn; wife wives; win won; woman women;
write wrote written
"""

IRREGULAR_FORMS = {form: forms[0] for line in _TABLE.split(";") if (forms := line.split()) for form in forms[1:]}
