"""Documents of a made-up company and questions about them, any number up to 10,000, by rules from a seed.

A document tells of one thing that is done to one object in one product, and of a message with a code of its own. A
question says the thing in other words than its document and, half of the time, the object too; or it names the code and
nothing else. The first kind is hard to find by words, the second by meaning.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import product

from support_agent.facts.chunks import Source, page_source

ACTIONS = tuple(
    (formal, casual)
    for formal, casual in (
        line.split(" = ")
        for line in """rename = give another name to
delete = get rid of
restore = bring back
share = let my colleagues see
export = download a copy of
import = bring over from another program
archive = put away
duplicate = make a second one of
lock = keep others from changing
unlock = open up again
print = get on paper
encrypt = make unreadable for strangers
schedule = have done at a fixed time
cancel = stop
renew = make last another year
upgrade = get a bigger
downgrade = pay less for a smaller
transfer = hand over to someone else
merge = make one out of two
split = cut into parts
translate = have in another language
sort = bring into order
search = look something up in
approve = say yes to
reject = turn down""".splitlines()
    )
)
OBJECTS = tuple(
    (formal, casual)
    for formal, casual in (
        line.split(" = ")
        for line in """folder = directory
invoice = bill
account = login
password = secret word
calendar = diary
contract = agreement
subscription = plan
photo = picture
message = note
backup = safety copy
report = summary
template = form letter
team = group of people
device = computer
license = permit
signature = name at the end
contact = person I know
channel = place where we talk
survey = list of questions
ticket = request
workspace = area we work in
project = piece of work
board = wall of cards
comment = remark
attachment = file that came along
playlist = list of songs
recording = tape of the call
voucher = gift code
reservation = booking
shipment = parcel
warehouse = store room
budget = money we may spend
payment = money I sent
mailbox = place for my letters
domain = web address
certificate = proof
dashboard = overview
filter = sieve
reminder = nudge
notebook = pad""".splitlines()
    )
)
PRODUCTS = ("Alder", "Birch", "Cedar", "Drift", "Ember", "Fjord", "Grove", "Heron", "Iris", "Juniper")
MENUS = ("Settings", "Tools", "the side bar", "the profile page", "the start page", "Administration")
ROLES = ("Only the owner may do this", "Every member may do this", "An administrator has to agree")
UNITS = ("minutes", "hours", "working days")
OPENINGS = (
    "Hello, how can I",
    "I would like to know how to",
    "Is there a way to",
    "My boss wants me to",
    "Please help me",
)
ASKED_OF_CODES = ("What is the meaning of", "I keep getting", "The screen says", "How do I get rid of")
MOST = len(ACTIONS) * len(OBJECTS) * len(PRODUCTS)


@dataclass(frozen=True)
class Question:
    """What a customer asks, and the keys of the documents that answer it, any of them."""

    text: str
    keys: frozenset[str]


@dataclass(frozen=True)
class Topic:
    """One thing done to one object in one product; a pair is the document's word and the customer's."""

    action: tuple[str, str]
    object: tuple[str, str]
    product: str


def topics(count: int, seed: int) -> list[Topic]:
    """The first topics of all, in an order that follows from the seed."""
    every = [Topic(*parts) for parts in product(ACTIONS, OBJECTS, PRODUCTS)]
    random.Random(seed).shuffle(every)
    return every[:count]


def documents(chosen: list[Topic], seed: int, paragraphs: int) -> list[Source]:
    """A document for each topic, of so many paragraphs of about 170 characters."""
    order = random.Random(seed)
    sources = []
    for number, topic in enumerate(chosen):
        title = f"{topic.product}: {topic.action[0]} a {topic.object[0]}"
        text = "\n\n".join(_paragraph(topic, order, part) for part in range(paragraphs))
        text += f" If you see {code_of(number)}, sign in again."
        sources.append(page_source(key_of(number), title, text))
    return sources


def in_other_words(chosen: list[Topic], count: int, seed: int) -> list[Question]:
    """So many questions about the first 200 topics in turn; a topic that comes again is asked for in other words."""
    order = random.Random(seed)
    asked = []
    for number in _turns(chosen, count):
        topic = chosen[number]
        what = topic.object[order.randrange(2)]
        text = f"{order.choice(OPENINGS)} {topic.action[1]} my {what}? We use {topic.product}."
        asked.append(Question(text, frozenset([key_of(number)])))
    return asked


def by_code(chosen: list[Topic], count: int, seed: int) -> list[Question]:
    """So many questions about the codes of the first 200 topics in turn."""
    order = random.Random(seed)
    return [
        Question(f"{order.choice(ASKED_OF_CODES)} {code_of(number)}?", frozenset([key_of(number)]))
        for number in _turns(chosen, count)
    ]


def key_of(number: int) -> str:
    """The key of a topic's document, by the topic's place from 0."""
    return f"document:{number + 1}"


def code_of(number: int) -> str:
    """The code of a topic's message: no two are alike, and neighbours are not near."""
    return f"E{(number * 7_919) % 90_001 + 10_000}"


def _turns(chosen: list[Topic], count: int) -> list[int]:
    return [turn % min(len(chosen), 200) for turn in range(count)]


def _paragraph(topic: Topic, order: random.Random, part: int) -> str:
    action, what = topic.action[0], topic.object[0]
    how = f"To {action} a {what}, open {order.choice(MENUS)} and choose {action.capitalize()}."
    time = f"It takes up to {order.randrange(2, 60)} {order.choice(UNITS)}."
    role = f"{order.choice(ROLES)}."
    step = f"Step {part + 1} is done when number {order.randrange(100, 999)} is shown."
    return " ".join((how, time, role, step))
