"""The tables by which English clauses are read: classes of words, and what each weighs.

A line is "class weights: entries". A clause is kept from a sum of 3 on (`reading.KEPT`).
"""

__all__ = ["IRREGULAR", "MARKS", "NOUNS", "ORDERS", "PREDICATES", "SETS", "VERBS", "WISH_MARKS", "WISH_SETS"]

# Words that the reader needs by kind.
SETS = """
be: be, am, is, are, was, were, 'm, 're, 's, being, been
have: have, has, had, 've
do: do, does, did
not: n't, not, never
modals: can, could, will, 'll, would, 'd, should, may, might, must, shall
adverbs: always, usually, often, never, normally, typically, generally, regularly, mostly, mainly, also, only, just, really, actually, still, already, now, currently, recently, finally, personally, absolutely, truly, definitely, particularly, especially, rather, much, so, even, both, all, basically, honestly, sometimes, rarely, hardly, seldom, occasionally, probably, almost, quite, very, totally, completely, fully, deeply, strongly, secretly, officially, ultimately, eventually, originally, lately, simply, kinda, sorta, literally, naturally, luckily, sadly, unfortunately, ever, once, happily, proudly
degrees: all, both, so, very, just, much
openers: in, at, on, since, last, every, each, for, from, during, as, after, before, by, next, most, with, until, till, sometimes, usually, normally, back, once, twice, nowadays, weekends, weekdays, mornings, years, officially
prepositions: in, on, at, with, off, under, between, of, by, near, over, without, for, against, above, below, behind, opposite, beside
bare kin: mum, mom, dad, amma, appa, mama, papa, mummy, mommy, daddy, mam, ma, nan, nana, nanna, gran, granny, grandma, grandpa, grandad, granddad, pop, oma, opa, hubby, missus, abuela, abuelo, mother, father
bills: rent, mortgage, electricity, gas, water, insurance, internet, phone, broadband, wages, salary, pension, tax, loan, subscription, tuition, nursery, childcare, gym, payday, council, car, health
perfect: agreed, decided, voted, opted, chosen, gone, become, moved, started, stopped, quit, switched, retired, passed, joined, begun, had, turned, emigrated, graduated, lived, worked
mended: replaced, amputated, reconstructed, fused, operated, removed, fractured
possessing: own, keep, have, drive, park, ride, rent, lease, sail, fly, inherited, bought, built, restored, moor, store, use, share, run, tow, 've, got, let
met: one, kid, beer, drink
times: day, night, morning, evening, time, other, single
conditions: case, order, that, condition, if, when, which, fact, addition
own: my, our, me, us
determiners: my, our, the, a, an, of, 's
quantities: both, all, one, two, three, half, most, some, none, each, neither, either
counts: one, two, three, four, five, six, seven, eight, nine, ten
relatives: who, that, which, where, because, when, while, if, but
others: you, he, she, it, they, this, these, those, there
no nouns: you, he, she, it, they, this, that, these, those, there, here, what, who, how, why, when, where, which, whose, if, whether, let, please, his, her, their, its, your, and, or, but, so, because, not, no, yes, do, does, did, is, are, was, were, can, could, will, would, should, may, might, have, has, had, to, maybe, perhaps, everyone, everybody, someone, somebody, anyone, nobody, people, thanks, sorry, same, right, over, out, up, down, nothing
favourites: favourite, favorite, favourites, favorites, go-to, preferred, preference
inclined: into, fan, fond, keen, obsessed, passionate, more, addicted, used, partial
small: bit, little, lot, few, mess, idiot, fool, genius, joke, robot, mistake, question, fan's, tad
plurals: people, children, kids, men, women, feet, teeth, mice, geese, fish, data, media
without subject: been, got, allergic, vegetarian, vegan, born
untried: learn, learned, get, take to, like, drink, smoke, finish, marry, eat, own, drive, have, go, fly, use, wear, swim, ride, play, live, work, vote
abilities: speak, play, swim, cook, drive, read, ride, sing, sew, ski, knit, write, lip-read, touch-type
endured: stand, bear, eat, drink, have, do, take, tolerate, digest, swim, drive, sleep, hear, see, walk, smell, handle, stomach, resist, ride, whistle, cook, abide, live, wear, touch, lift, bend, run, climb, kneel, fly, use, face, cope, watch, sit, stay, be, afford, go
once: do, see, sit, stay, use, go, afford, hear, face, wear, sleep
suffered: stand, bear, abide, resist, eat, drink, have, tolerate, digest, smell, stomach, watch
travels: fly, travel, move, marry, retire, visit, host, start, go, meet, run, have, be
strict: always, never, only, exclusively, strictly
"""
# Classes of verbs: category, then what the clause gains in the present, past, perfect and progressive.
# "doing" is every other verb: somebody who says "I knit" does so as a rule.
VERBS = """
doing fact 1 -1.5 0 -1.5: _
living fact 2.5 1.5 3 2: live, reside, dwell, lodge, grow up, come from
working fact 2 1 2.5 1.5: work, teach, manage, lead, coach, officiate, referee, umpire, nurse, moonlight, temp, volunteer, freelance, lecture, farm, study, major, specialize, specialise, train, practise, apprentice, mentor, chair, commute, serve, intern
raising fact 2 1 2 1.5: raise, breed, homeschool, foster, employ, co-own, own, rent, lease, sublet, collect
having fact 1.5 -1.5 1 0: have, have got, keep
liking preference 2 -2 1 0: love, like, hate, prefer, enjoy, adore, dislike, detest, loathe, despise, favour, favor, fear, support
habit fact 1.5 -1.5 0 0: use, drink, eat, wear, play, sing, swim, run, cook, bake, knit, sew, crochet, paint, draw, read, ride, cycle, drive, climb, dance, garden, grow, hike, ski, surf, sail, fish, hunt, box, row, jog, smoke, pray, meditate, speak, write, brew, roast, sleep, skate, code, stream, shop, save, tutor, visit, attend, walk, wake up, get up, go to bed, turn in, deploy, release, ship, sell, repair, restore, sponsor, host, pay, split, cover, share, follow, subscribe, vote, fast, stretch, recycle, travel, camp, fly, snore, stutter, stammer, bruise, burn, sunburn, faint, supply, produce, publish, dig, build, design, edit, translate, groom, foster, babysit, look after, care for, rescue, suffer, struggle, mind, watch over, see to, deliver, drop off, pick up, do the, do alterations, do nails, do hair, clean, weld, shear, weave, carve, whittle, pickle, preserve, forage, ferment, busk, juggle, spar, rehearse, perform, snorkel, inject, medicate, limp, lisp, snooze, nap, carpool, batch-cook, meal-prep, import, export, cater, kennel, umpire, tune, mow, shoe, dive, kayak
event fact -1 2 2.5 1.5: try for, expect twins, expect a, expect our, expect my, start as, start at, start working, begin as, move, relocate, marry, get married, get engaged, get divorced, divorce, retire, graduate, join, quit, adopt, stop, inherit, emigrate, immigrate, found, co-found, enroll, enrol, sign up, give up, take up, become, turn, switch, come over, come across, come here from, arrive from, drop out, set up, separate, bury, convert, qualify, launch, expect, go part-time, go freelance, go vegan, go vegetarian, get promoted, get hired, get diagnosed, take over, train as, major in, be born, come out as, lease, upgrade, migrate, downsize, renovate, settle, remarry, resign, quit, requalify, retrain, emigrate
turning fact -1 1 1.5 1: lose, start, begin, open, change, pass, set up, upgrade, build, sell, buy, cancel, close, shut, trade in, swap, win, break, sell up, pass away, finish, leave, hand over, hand in, put down, let go, sprain, fracture, tear
deciding decision -1 2.5 2.5 1: decide, choose, pick, agree, settle on, opt, select, adopt, standardise, standardize, commit to, go with, vote
project fact 0 -1 1 2: do her, do his, do their, do a, learn, train, save, save up, study, renovate, restore, apprentice, retrain, prepare, do up, write, pay off, raise, count down
planning fact 0.5 0 0 1.5: plan, fly, travel, meet, visit, host, sit, run, defend, present, perform, exhibit, compete, hike, have surgery, graduate, marry, get married, move, start, retire, go, launch, ship, release, revise, rehearse, do, tutor, build, turn, stay, leave
being fact 0 0 0 -1: be
light fact 0.5 -2 -1 -2: plan, go, get, take, make, do, put, give, send, keep on, come, bring, turn, leave, set, call, meet, stay, spend, watch, listen, buy, order, order in, finish, close, open, start, begin, end, skip, avoid
scheduling fact 1.5 1 1 1: renew, expire, fall, fall on, land, take place, happen, repeat, meet, come out, end, start, begin, close, open, run, get collected, send, go out, come out, go up, go through, leave, arrive, be due, land, reopen, resume
thinking fact -3 -3 -3 -3: need, require, expect, state, request, demand, specify, manage to, consider, contemplate, think, mean, guess, suppose, know, wonder, hope, wish, want, see, understand, believe, doubt, imagine, remember, forget, appreciate, thank, bet, swear, promise, apologise, apologize, notice, realise, realize, figure, assume, feel, look, look for, look at, hear, say, ask, tell, suggest, try, find, check, click, type, paste, mention, recommend, propose, insist, admit, confess, beg, plead, seem, appear, sound, reckon, agree with, disagree, worry, dare, trust, let, help, owe, rest, cast, attack, nod, smile, laugh, cry, sigh, whisper, walk in, enter, draw my, define, compute, calculate, assert, declare, deny, conclude, argue, claim, recall, concur, gather, hate to, love how, love the idea, like how, like the idea, love to see, guess so, kid, joke
"""
IRREGULAR = """
past: was be, were be, had have, went go, grew grow, came come, taught teach, led lead, drove drive, rode ride, ran run, swam swim, sang sing, wrote write, spoke speak, ate eat, drank drink, wore wear, slept sleep, woke wake, flew fly, got get, took take, made make, did do, put put, gave give, sent send, bought buy, sold sell, lost lose, left leave, began begin, became become, chose choose, found find, thought think, meant mean, knew know, saw see, understood understand, forgot forget, felt feel, heard hear, said say, told tell, met meet, spent spend, kept keep, built build, paid pay, dug dig, knit knit, sat sit, stood stand, broke break, quit quit, set set, cut cut, read read, drew draw, fell fall, held hold, brought bring, caught catch
perfect: been be, had have, gone go, grown grow, come come, taught teach, led lead, driven drive, ridden ride, run run, swum swim, sung sing, written write, spoken speak, eaten eat, drunk drink, worn wear, slept sleep, woken wake, flown fly, got get, gotten get, taken take, made make, done do, put put, given give, sent send, bought buy, sold sell, lost lose, left leave, begun begin, become become, chosen choose, found find, thought think, known know, seen see, understood understand, forgotten forget, felt feel, heard hear, said say, told tell, met meet, spent spend, kept keep, built build, paid pay, quit quit, set set, read read, drawn draw, fallen fall, held hold, brought bring
"""
# What a person or thing is said to be.
PREDICATES = """
trait 2.5: up in, up on, eighteen, nineteen, twenty, thirty, forty, fifty, sixty, seventy, eighty, ninety, mine, ours, colour blind, color blind, short sighted, near sighted, long sighted, left handed, right handed, night blind, tone deaf, tone-deaf, self employed, dyspraxic, bipolar, anaphylactic, hypertensive, infertile, menopausal, insulin-dependent, allergic, intolerant, vegan, vegetarian, pescatarian, coeliac, celiac, diabetic, dyslexic, autistic, epileptic, asthmatic, anaemic, anemic, arthritic, deaf, blind, half-deaf, mute, hard of hearing, short-sighted, nearsighted, near-sighted, far-sighted, colour-blind, color-blind, colourblind, colorblind, left-handed, right-handed, lefty, bilingual, trilingual, fluent, married, divorced, widowed, engaged, single, separated, retired, self-employed, unemployed, freelance, pregnant, expecting, due, number, born, raised, based, originally, from, used to, into, full of, more of, afraid of, scared of, terrified of, frightened of, fond of, keen on, passionate about, obsessed with, addicted to, partial to, lactose, gluten-free, gluten, dairy-free, nut-free, teetotal, sober, religious, jewish, muslim, catholic, hindu, buddhist, christian, kosher, halal, head, deputy, assistant manager, senior, junior, trainee, apprentice, part-owner, co-owner, foreman, treasurer, chair of, chairman of, captain of, secretary of, mum to, mom to, dad to, mother of, father of, mum of, mom of, dad of, godmother to, godfather to, guardian of, carer for, up at, no good to, no use to, no good at, no good with, no use at, trans, gay, lesbian, bi, bisexual, nonbinary, non-binary, neurodivergent, adopted, qualified, certified, spelled, spelt, pronounced, nocturnal, disabled, wheelchair-bound, housebound, part-time, sensitive to, prone to, immune to, claustrophobic, agoraphobic, clumsy, nightblind, insured, enrolled, registered, hosted, written, deployed, located, made, painted, kept, stored, parked, due on, bad with, terrible with, useless with, good with, not good with, good at, bad at, terrible at, rubbish at, hopeless at, expert in, responsible, in charge, one of, born in, off sugar, double-jointed, adhd, introverted, extroverted, shy, dairy-intolerant, coached, run, taught, stationed, buried, paid, rented, leased, neutered, housetrained, red-green
named 3: diagnosed with, called, named, nicknamed, spelled, spelt
state -3: the best, the worst, tired, stuck, happy, sorry, sure, unsure, glad, sad, confused, lost, done, ready, back, fine, ok, okay, good, great, curious, bored, hungry, thirsty, sick, ill, excited, worried, afraid that, aware, late, busy, free, here, there, home, away, out, up, down, wrong, right, interested, impressed, surprised, shocked, amazed, grateful, thankful, embarrassed, ashamed, frustrated, annoyed, angry, mad, upset, nervous, anxious, stressed, overwhelmed, exhausted, sleepy, drunk, hungover, cold, hot, wet, able, unable, willing, going, just, like, so, too, as, not, well, better, alone, broken, slow, fast, empty, full, weird, strange, missing, null, undefined, down, offline, dead, gone, wrong with, correct, important, clear, new to, nice, bad, awful, terrible, perfect, true, false, safe, possible, cool, awesome, amazing, fun, delicious, beautiful, all, both, hopeful, optimistic, confident, certain, positive, proud, jealous, sick of, ready to, honest, serious, mistaken, guilty, innocent, doomed, screwed, thrilled, delighted, pleased, satisfied, disappointed, flattered, honored, honoured, blessed, lucky, rusty, new, open, torn, tempted, inclined, supposed, allowed, required, meant, bound, far, ahead, online, live, awake, asleep, alive, buried, swamped, lazy, crazy, stupid, dumb, smart, quiet, loud
"""
# Marks of what follows the verb (or stands before the subject): lasting or of the moment.
MARKS = """
often 2: every, each, always, usually, often, never, daily, weekly, fortnightly, biweekly, monthly, yearly, annually, twice, regularly, normally, typically, generally, mondays, tuesdays, wednesdays, thursdays, fridays, saturdays, sundays, mornings, evenings, afternoons, nights, weekends, weekdays, nightly, summers, winters, most, mostly, mainly, alternate, per, anymore, ever
since 2: since, years, decades, lifelong, childhood, ages
kin 1: wife, husband, partner, girlfriend, boyfriend, fiance, fiancé, fiancée, fiancee, son, sons, daughter, daughters, kid, kids, child, children, baby, mom, mum, mother, dad, father, parents, brother, brothers, sister, sisters, twin, twins, triplets, grandmother, grandfather, grandma, grandpa, gran, nan, granddad, grandad, grandparents, grandkids, grandson, granddaughter, uncle, aunt, auntie, cousin, cousins, niece, nephew, nephews, nieces, in-laws, mother-in-law, father-in-law, son-in-law, daughter-in-law, brother-in-law, sister-in-law, lad, lads, lass, hubby, missus, papa, amma, appa, mama, mummy, daddy, nana, nanna, granny, granddaddy, oma, opa, abuela, abuelo, stepdad, stepmum, stepmom, stepmother, stepfather, stepbrother, stepsister, half-brother, half-sister, godmother, godfather, tenant, tenants, lodger, lodgers, apprentice, carer, childminder, collie, collies, spaniel, poodle, kelpie, pup, pups, kittens, tabby, mare, pony, donkey, donkeys, ducks, dachshund, beagle, retriever, whippet, lurcher, greyhounds, alpacas, llamas, pigs, chooks, hen, ferret, ferrets, guineapig, rat, rats, turtle, dog, dogs, cat, cats, puppy, kitten, kittens, pet, pets, family, flatmate, flatmates, roommate, roommates, neighbour, neighbor, neighbours, neighbors, landlord, landlady, boss, toddler, teenager, stepson, stepdaughter, stepkids, godson, goddaughter, ex, ex-wife, ex-husband, spouse, youngest, eldest, oldest, horse, rabbit, rabbits, parrot, hamster, tortoise, hens, chickens, goldfish, bird, birds, mate, siblings, sibling, guy, boy, boys, girl, girls, therapist, doctor, dentist, physio, chihuahua, terrier, greyhound, labrador, budgie, gecko, snake, goat, goats, sheep, cows, bees, hives, beehives
date 1: january, february, march, april, june, july, august, september, october, november, december, jan, feb, apr, jun, jul, aug, sep, sept, oct, nov, dec, monday, tuesday, wednesday, thursday, friday, saturday, sunday, mon, tue, wed, thu, fri, sat, sun, spring, summer, autumn, fall, winter, easter, christmas, ramadan, diwali, semester, term, weekend, month, year, noon, midnight, week, fortnight, o'clock, am, pm, a.m, p.m, till, until
health 0.5: stroke, bypass, transplant, miscarriage, c-section, caesarean, operation, cancer, tumour, tumor, breakdown, concussion, chemo, chemotherapy, radiotherapy, hysterectomy, mastectomy, stent, stents, seizure, seizures, hip, knee, replacement, replaced, surgery, amputation, meningitis, polio, sepsis, pneumonia, tuberculosis, hepatitis, malaria, parkinson, parkinson's, alzheimer's, dementia, copd, ms, ibs, crohn's, colitis, endometriosis, eczema, psoriasis, gout, lupus, fibromyalgia, sciatica, scoliosis, tinnitus, vertigo, glaucoma, cataracts, cataract, epilepsy, hernia, angina, thyroid, ulcers, ulcer, gallstones, appendix, kidney, kidneys, heart
member 0.5: thinners, antidepressants, statins, steroids, beta-blockers, methotrexate, lithium, dialysis, oxygen, warfarin, disability, benefits, maternity, paternity, parole, keto, fodmap, earlies, lates, hormones, hrt, ssris, club, choir, band, orchestra, team, board, committee, council, union, crew, squad, league, jury, diet, medication, insulin, quartet, troupe, brigade, chorus
place 0.5: school, college, university, uni, hospital, clinic, library, bakery, office, factory, farm, village, town, city, shop, store, restaurant, cafe, café, bar, church, mosque, temple, gym, company, startup, firm, agency, garden, allotment, balcony, flat, apartment, house, cabin, cottage, boat, van, floor, street, road, studio, workshop, garage, warehouse, depot, nursery, kindergarten, lab, museum, theatre, theater, hotel, hostel, market, stall, lessons, classes, degree, licence, license, phd, masters, diploma, job, career, trade, business, shift, shifts, marathon, triathlon, allergy, asthma, diabetes, arthritis, migraines, adhd, dyslexia, anxiety, insomnia, medication, meds, pills, insulin, pacemaker, glasses, hearing, wheelchair, inhaler, wedding, surgery, practice, practise, lifts, stairs
figure -3: =, percent, batman, superman, batwoman, spiderman, godzilla, gandalf, hobbit, hogwarts, baggins, communicator, engaging, impactful, stakeholders, testimonials, innovative, networking, lol, haha, hahaha, lmao, nightmare, hell, denial, bubble, dreamland, chaos, circus, zoo, lie, fantasy, simulation, shadow, shadows, sin, peril, paradise, limbo
stock -2.5: bag, bags, tub, carton, cartons, eggs, flour, butter, onion, onions, potatoes, mince, breadcrumbs, pasta, kg, kilo, kilos, g, grams, gram, lb, lbs, oz, ounces, ml, cl, tin, tins, can, cans, packet, packets, packs, slice, slices, clove, cloves, bunch, jar, jars, tbsp, tsp, leftover, leftovers, gold, coins, gems, mana, hp, xp, potion, potions, sword, bow, spell, spells, axe, marbles, apples, oranges, dice, cards, sheets, tabs, windows, terminals, monitors, lives, tokens, credits, health points, ammo
moment -2.5: today, tonight, yesterday, tomorrow, minute, minutes, moment, seconds, currently on, soon, later, again, sec, ready, coming, hour ago, hours ago
now -1: now, just, so, too, yet, almost
deixis -2: this, that, these, those, it, here, there, you, your, yours, them, which, what, how, why, whether, something, someone, same, following, option, options
the -0.5: the
my 0.5: my, our, own
task -2.5: code, file, files, error, errors, function, functions, method, class, essay, paragraph, sentence, script, bug, bugs, list, lists, array, arrays, string, table, tables, column, columns, row, rows, spreadsheet, variable, variables, query, prompt, question, questions, problem, problems, issue, issues, equation, matrix, vector, dataset, data, dataframe, model, loop, page, title, draft, chapter, assignment, homework, exercise, presentation, slide, slides, document, message, chat, answer, answers, response, responses, version, feature, features, form, button, endpoint, request, component, module, idea, ideas, point, points, doubt, plan, plans, example, examples, text, story, poem, article, report, email, emails, letter, resume, cv, proposal, triangle, dict, dicts, dictionary, json, csv, url, link, image, photo, screenshot, video, formula, node, nodes, graph, tree, integer, numbers, test, tests, log, logs, output, input, installation, install, update, thread, topic, conclusion, hypothesis, experiment, approach, solution, suggestion, suggestions, feedback, argument, command, terminal, container, crash, repo, branch, commit, script's, chatgpt, ai, gpt, claude, html, css, regex
odd -2.5: news, experience, conversation, interview, exam, test, tests, quiz, midterm, finals, exams, feeling, hunch, headache, cold, fever, thought, thoughts, trouble, difficulty, chance, clue, word, favor, favour, request, moment, look, guess, reason, choice, meeting, call, time, fun, blast, bit, lot, few, couple, sense, goal, task, need, concern, concerns, complaint, apology, joke, dream, suspicion, sandwich, lunch, drink, nap, break, shower, peek, rest, way, stuff, thing, things
"""
# Nouns behind "my", "our", "the" that are no part of a person's life.
NOUNS = """
task -5: battery, fact, thing, things, reason, way, one, ones, key, guy, man, dude, expectation, goal, focus, aim, main, understanding, code, file, error, function, essay, paragraph, sentence, script, bug, list, array, string, table, column, row, spreadsheet, variable, query, prompt, question, problem, issue, equation, matrix, dataset, data, dataframe, model, loop, page, title, draft, chapter, assignment, homework, exercise, presentation, slide, slides, document, message, answer, response, version, text, story, poem, article, report, letter, proposal, screenshot, formula, output, input, screen, browser, point, mistake, guess, idea, bad, apologies, apology, understanding, feeling, opinion, view, thought, thoughts, concern, impression, intention, suggestion, character, protagonist, hero, client, customer, users, user, request, instruction, instructions, solution, approach, hypothesis, experiment, tests, test, build, function's, program, calculation, vampire, ghost, zombie, robot, goblin, dragon, unicorn, alien, heroine, narrator, sidekick, villain, antagonist, level, paladin, mage, wizard, dwarf, elf, orc, rogue, warlock, pokemon, villager, villagers, minion, npc, npcs, guild, clan, dungeon, spaceship, lord, god, goodness, pleasure, turn, only, next, last, first, previous, other, heart, mind, head, brain, world, life, whole, face, eyes, stomach, cursor, terminal, cells, cell, method, gut, bot, avatar, persona, sim, empire, army, kingdom, sword, party, theory, conclusion, analysis, topic, subject, work, project, cv, resume, priority, concern, take, stance, favourite part, worry, fear, hope, wish, dream, assumption, boss fight
org 0.5: staging, prod, production, box, sprint, team, company, office, startup, firm, product, department, studio, workshop, practice, shop, club, co-op, coop, choir, band, crew, ward, kitchen, troupe, squad, congregation, pta, orchestra, quartet, warehouse, depot, salon, garage, bakery, restaurant, stall, café, cafe, lab, group, stack, app, service, server, database, backend, frontend, website, release, releases, standup, deploys, repo, pipeline, cluster, staging, ci
"""
# Orders that can be a wish for good: the verb's class, and what an order with it gains.
ORDERS = """
shaping 2: use, format, sort, round, convert, spell, spell out, cite, quote, abbreviate, capitalise, capitalize, number, label, make sure, measure, express
sparing 2: go easy, skip, hold, drop, cut, leave out, leave off, spare, omit, lose, ditch, spare me, cut out, go easy on, lay off, leave, mind, watch, avoid, no more, enough with, easy on
manner 2: talk, speak, reply, respond, be, address, treat, communicate, sound, keep, sign, phrase, greet, stick, default
task 1: explain, write, answer, give, make, show, tell, recommend, suggest, mention, plan, pick, choose, find, translate, list, name, compare, cook, schedule, offer, propose, help, look, try, search, shop, summarise, summarize, introduce, describe, render, draw, print, prepare, draft, fix, check, get, send, order, book, create, build, read, do, go, come, set, run, change, delete, rename, edit, add
other 1: call, text, message, say, act, refer, stay, include, put, take, remind, ask, wake, ring, apologise, apologize, sugarcoat, sugar-coat, bring, count, start, end, finish, begin, stop, prefer, let, have, play, bother, disturb, contact, repeat, correct, lecture, flatter, praise, preach, assume, expect, push, sell, warn, flag, tag, wrap, indent, split, group, link, attach, double-check, limit, favour, favor, serve, swap, replace, seat, pack, throw, sprinkle, hand, break, walk, work, pay, charge, share, upload, post, publish, log, track, think, feel, touch, commit, deploy, merge, interrupt, argue, judge, joke, swear, curse, overdo, overexplain, over-explain, assume, comment, ping, email, mail, call me, notify, invite, type, capitalise, capitalize, bold, highlight, underline, close, open, point, admit, stay, bury, waste, baby, patronise, patronize, hit, price, treat, drown, fill, dump, guess, invent, pretend, tiptoe, beat, ramble, waffle
"""
WISH_MARKS = """
lasting 2: in general, a rule, as standard, for good, unless, mondays, tuesdays, wednesdays, thursdays, fridays, saturdays, sundays, weekends, mornings, evenings, per, unless told, a week, a day, a month, a time, unless i, at most, here on, the time, always, never, ever, every, each, whenever, default, forever, anymore, permanently
all 1: all, any, everything, everywhere, generally, anything, throughout
style 1: oxford, comma, commas, semicolons, italics, capitals, emoji, emojis, hyphens, dashes, slang, jargon, abbreviations, acronyms, idioms, headings, markdown, latin, citations, footnotes, hedging, clichés, cliches, metaphors, sarcasm, puns, hashtags, gifs, contractions, ellipses, disclaimers, pleasantries, greetings, flattery, small talk, platitudes, buzzwords, exclamation marks, bullet points, smileys, links, pep talks
unit 1.5: celsius, fahrenheit, kelvin, metric, imperial, kilos, kilograms, kg, pounds, stones, miles, km, kilometres, kilometers, knots, feet, inches, cm, centimetres, metres, meters, litres, liters, pints, gallons, grams, ounces, euros, dollars, rupees, yen, yuan, 24h, 12h, 24-hour, 12-hour, 24hr, iso, mph, mpg, kj, calories, decimals, dd/mm, yyyy-mm-dd
only 1.5: only, strictly, exclusively, solely
sorted 2.5: _s
mine 1.5: with me, to me, for me, for us, to us, with us, around me, at me, from me
me 0.5: me, us
my 1: my, our
your 1.5: your answers, your replies, your messages, your emails, your responses, your reply, your answer, your explanations, your summaries, your sentences, your suggestions, your texts, your recommendations, your output, your code
please 0.5: please, pls, plz, thanks
rather 1: without, than, instead, over
bound 1.5: before, after, until, past, under, within
plural 1: _
the -0.5: the
a -1.5: _a
this -3: this, that, it, these, those, here, now, today, tonight, tomorrow, one, there, above, below, yet
nth -2.5: first, second, third, last, next, previous, third, fourth, middle, latter, former, other, rest, final, same, title, conclusion, intro's
idle -5: me you, let me, let 's, let's, let us, let you, feel free, hesitate, posted, give up, be afraid, be sure, hold on, hang on, stay safe, may be, for apologies, for thanks, act like, keep pushing, keep going, get started, keep in, hold your, forget to, forget about, be proud, be yourself, have fun, good luck, tell you, get me, know if, see if, contact me, got to, got a
over -4: street, campus, building, left, available, fridge, house
more -2: more, less, again, longer, shorter, better, bigger, smaller, simpler, another, else, bit, little, again
gone -4: matter, idea, clue, problem, problems, worries, worry, way, thanks, thank, doubt, rush, hurry, wonder, luck, response, connection, internet, money, time, chance, reason, point, difference, comment, kidding, offense, offence, joke, biggie, pressure, longer, apparently, evidence, results, changes, errors, error, sign, signal, trace
task -1.5: paragraph, sentence, function, line, section, file, code, loop, table, column, row, logo, chapter, slide, draft, poem, story, essay, test, tests, variable, email, letter, post, list, image, page, method, class, branch, script
"""
# Words that the reader of wishes needs by kind.
WISH_SETS = """
asked: please, pls, plz, just, so, and, but, also, oh, kindly, you, can, could, should, must, then
prohibitions: don't, dont, never, stop, avoid, quit
speakers: i, we, he, she, it, they, there, you, that, this, who, what, why, how
finite: is, are, was, were, am, be, been, do, does, did, has, have, had, can, could, will, would, 's, 're, 'm, 've, 'll, isn't
when: when, whenever, if, anytime, whatever, wherever
not usual: done, ready, finished, this, that, he, she, they, there, 're
no thing: i, we, you, it, that, this, not, so, really, actually, never, but, one
around: with, that, containing, from, over, after, before, in, but, too, like, under, past, involving, about, for, without
no order: going, gonna, will, forget, quite, even, necessarily, fully, seem, been, mean, mind, worry, know, feel, want, think, need, understand, care, like, believe, just, have, get, really, misses
says: sounds, seems, mean, means, works, tells, speak, matters, comes, goes, says, suits, meant, feels
say: sound, seem, look, mean, work, tell, speak, help, make, feel, matter, come, go, say, suit
must: must, should, has, needs
begin: put, include, add, show, tell, mention, spell, cite, convert, ask, remind, stay, go, treat, talk, ignore, limit, be, answer, reply, respond, speak, label, round, just, please, then, assume, use, keep, give, don't, no, nothing, always, never, skip, avoid
determiners: my, our, me, us, the, a, an, your
spans: time, day, week, month, year, morning, night, couple, single, other, few, hour, one, step
after always: on, in, at, with, for, a, the, up, out, be, been
because: like, because, since, unless, though, although, so
asking: ask, asks, asking, complain, vent, paste, forward, switch, aren't, don't, sure, travel, type, upload
no task: have, need, know, want, like, get, try, think, can, cannot, see, find, understand, do, could, would, will, come, go, let
mine: with me, for me, to me, for us, to us, with us
for good: please, pls, always, never, ever, only, me, i'd, nothing
of a task: each, every, all, any, everything, anything, everywhere
unnamed: something, anything, someone, anyone, somebody, anybody
own wish: that, i, we, i'd, it, it'd
annoyed: i never want to see, i never want to hear, i'd sooner you, i'd rather you, i would rather you, i'd prefer you, i'd like it if, i don't want to hear, i don't want to see, it'd be nice if, it would be nice if, i'd appreciate it if, i'd love it if, i hate it, i can't stand it, it annoys me, it bugs me, i dislike it
pleased: that 's how i like, that 's how i want, that 's how i prefer, that 's the way i, i like it when you, i love it when you
appreciated: i'd appreciate, i could do with
wanted: i'd rather have, i'd rather get, i'd rather see, i'd like, i'd prefer, i want, i need, i expect, i prefer, i would like
manner: short, shorter, brief, plain, simple, simpler, easy, concise, clear, slow, small, few, large, big, formal, informal, casual, straight, direct, detailed, long, full, whole, quick, honest, blunt, gentle, dry, everyday, short-ish, ordinary, round, rough, exact, metric, complete, numbered, written, crisp, low, high, soft, british, american, simplified, traditional
answers: options, option, suggestions, choices, ideas, answer, answers, reply, replies, message, messages, sentence, sentences, word, words, paragraph, paragraphs, english, language, step, steps, summary, summaries, list, lists, bullets, bullet, points, prose, text, texts, explanation, explanations, example, examples, letters, lines, terms, print, numbers, figures, version, versions, instructions, emails, mails, email, mail, chunks, talk, font, fonts, units, spelling, headings, names, dates, times, prices, news, conclusion, result, results, reasons, reason, details, price, cost, source, sources, facts, punchline, gist, verdict, takeaway
last: last, after, then, second, later, below, afterwards, underneath, up front, upfront, on top, at the top, at the end, first
suffices: do, fine, enough, plenty, suffice, best, better, grand, good
needs: need, needs, have, means
outputs: ideas, suggestions, recipes, plans, trips, meals, routes, recommendations, itineraries, menus, reminders, bookings, hotels, restaurants, workouts, answers, replies, messages, emails, mails, summaries, lists, explanations, drafts, texts, letters, posts, captions, quotes, prices
given to: wish, send, give, show, offer, ask, suggest, feed, sell, recommend, serve, write, bring, explain, remind, teach, quiz, set, buy, cook
involving: involves, includes, contains, means, needs, requires, has, costs, takes
traded: less, fewer, more
numbered: question, questions, step, page, exercise, item, number, part, verse, line, chapter, slide, q, section, row, column, problem, task, level, option, figure, table, point
names: name, names, person, language
times: noon, midnight, work, lunch, dinner, breakfast, dark, bed, bedtime, half, one, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve, fifty, hundred
"""
