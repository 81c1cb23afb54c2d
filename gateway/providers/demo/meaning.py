"""Vectors of texts without a network and without AI: the words of a text, their stems, and a short table of words that
mean about the same. What is not in the table is near to nothing but itself and words that are spelled like it.

It exists so that search by meaning can be seen, and tested, without a key.
"""

import hashlib
import math
import re

DIMENSIONS = 512
# So many characters of a text are looked at.
_READ = 20_000
_WORD = re.compile(r"[^\W_]+")
# What a word of the table, another word, and the spelling of a word count.
_MEANING, _STEM, _SPELLING = 4.0, 1.0, 0.25
_ENDINGS = ("ations", "ation", "ings", "ing", "ies", "ied", "es", "ed", "ly", "s", "e", "y")
_IGNORED = frozenset(
    re.findall(
        r"\w+",
        "a about all an and any are as at be been but by can did do does for from had has have he her his how i if in "
        "into is it its me my no not of on or our she so than that the their them then there they this to up us was we "
        "were what when where which who will with you your",
    )
)
_SAME = """
    automobile auto car vehicle sedan
    doctor physician medic clinic gp surgeon
    dentist tooth teeth dental
    house home flat apartment dwelling residence
    rent lease landlord tenancy
    buy purchase acquire shopping
    sell sale vend
    money cash funds finance finances budget
    pay payment salary wage wages earnings
    invoice bill receipt
    job work employment occupation career
    boss manager supervisor chief
    colleague coworker teammate
    meeting appointment conference call
    holiday vacation leave trip travel journey
    flight plane airplane aircraft airport
    train railway rail station
    bicycle bike cycle cycling
    hotel lodging accommodation hostel
    restaurant diner eatery bistro
    food meal dish cuisine
    dinner supper lunch breakfast
    bread loaf bakery baker
    meat beef pork steak
    child kid children toddler son daughter
    mother mom mum mama
    father dad papa daddy
    wife husband spouse partner
    dog puppy hound
    cat kitten feline
    phone telephone mobile smartphone cellphone
    computer laptop pc notebook
    password passphrase credential pin secret
    key keys lock
    email mail letter message
    photo picture image photograph snapshot
    film movie cinema
    song music tune melody
    book novel reading
    school university college class
    exam test quiz
    teacher tutor professor instructor
    illness sick ill disease unwell flu
    medicine drug pill medication tablet
    pain ache hurt sore
    gym exercise workout fitness training
    run running ran jog jogging
    birthday anniversary celebration party
    gift present
    weather rain snow storm forecast
    garden yard lawn plants
    clothes clothing garments dress shirt
    shoe shoes boots sneakers footwear
    begin start commence launch
    end finish complete stop
    big large huge great
    small little tiny
    fast quick rapid speedy
    cheap inexpensive bargain discount
    expensive costly pricey
    happy glad joyful cheerful
    sad unhappy gloomy
    fix repair mend maintenance
    error bug fault defect failure
    customer client buyer
    contract agreement treaty
    insurance policy coverage
    tax taxes levy duty
    bank account
    address street location place
    idea thought concept
    problem issue trouble difficulty
    answer reply response
    question query
"""
# A group has a number of the vector for itself.
_GROUPS: dict[str, int] = {}


def vector(text: str) -> list[float]:
    """A vector of length 1 and DIMENSIONS numbers; of a text without words all zeros."""
    numbers = [0.0] * DIMENSIONS
    found: dict[str, float] = {}
    for word in _WORD.findall(text[:_READ].casefold()):
        if word in _IGNORED:
            continue
        stem = _stem(word)
        group = _GROUPS.get(word, _GROUPS.get(stem))
        if group is not None:
            numbers[group] = _MEANING
            continue
        found[f"- {stem}"] = _STEM
        for at in range(len(word) - 2):
            found[f"~ {word[at : at + 3]}"] = _SPELLING
    for feature, weight in found.items():
        digest = int.from_bytes(hashlib.blake2b(feature.encode(), digest_size=8).digest())
        numbers[_OTHERS + digest % (DIMENSIONS - _OTHERS)] += weight if digest >> 32 & 1 else -weight
    length = math.sqrt(sum(number * number for number in numbers))
    return [number / length for number in numbers] if length else numbers


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word


for _number, _line in enumerate(_SAME.strip().split("\n")):
    for _each in _line.split():
        _GROUPS.setdefault(_each, _number)
        _GROUPS.setdefault(_stem(_each), _number)
_OTHERS = max(_GROUPS.values()) + 1
