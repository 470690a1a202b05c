"""Does a text announce an action and stop without doing it?

Small models write "Let me read the file:" and end their turn. The rule is deliberately narrow: it looks at the
last sentence only, wants a first-person announcement of something a tool does, and never fires on questions,
offers, conditions, code, or on a long answer that merely ends politely.
"""

from __future__ import annotations

import re

_ACTIONS = (
    "add analyse analyze apply begin browse build call change check clone compare compile compute convert copy "
    "create delete determine do download edit examine execute explore fetch find fix generate get go implement "
    "inspect install investigate invoke list load locate look make modify move navigate open perform proceed "
    "query read refactor remove rename replace retrieve rewrite review run save scan search see send start test "
    "try update use verify view visit write"
)
_OPENING = r"(?:(?:ok|okay|sure|great|alright|right|now|next|first|then|so|and|perfect|certainly|of course)\b[\s,.!:-]*)*"
_SUBJECT = r"(?:let me|let['’]s|let us|i['’]ll|i will|i['’]m going to|i am going to|i need to|i should)"
_ADVERBS = (
    r"(?:(?:now|first|next|then|also|just|quickly|go ahead and|start by|begin by|try to|try and|need to)\s+)*"
)
_ANNOUNCEMENT = re.compile(
    rf"{_OPENING}{_SUBJECT}\s+{_ADVERBS}(?:{'|'.join(_ACTIONS.split())})(?:ning|ting|ing)?\b",
    re.IGNORECASE,
)
# Whoever is asked something, offered something or told of a condition has an answer to react to.
_SATISFYING = re.compile(
    r"\?|\blet me know\b|\bif you\b|\bwould you\b|\bshall i\b|\bonce you\b|\bwhen you\b|\bfor you to\b|\bplease\b|"
    r"\bunable\b|\bcannot\b|\bcan['’]t\b|\bwithout\b|\bwait(?:ing)?\b|\blater\b|\bremember\b|\bkeep in mind\b|"
    r"\bfrom now on\b|\bgoing forward\b|\bin (?:the )?future\b|\bnext time\b|\btomorrow\b|\btry to (?:be|keep|stay|avoid)\b|"
    r"\b(?:add|mention|say) that\b|"
    # How the model will speak from here on, what it chose, and what it waits for, are answers too.
    r"\b(?:call|send|write|whether) you\b|\byour (?:approval|permission|consent|confirmation|answer|reply|feedback|input)\b|"
    r"\bwrite in\b|\bgo with\b|\buse (?!.*(?:\b(?:tools?|functions?|commands?|api|to)\b|[_`]))",
    re.IGNORECASE,
)
_CARRIED_OUT = re.compile(r": +\S+ \S+ \S")
"""What was announced follows in the same sentence."""
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|\n+")

_LONGEST_WITH_COLON = 1500
_LONGEST_WITHOUT_COLON = 240
_LONGEST_SENTENCE = 240
_MOST_SENTENCES = 3


def announces_action(text: str) -> bool:
    """True when ``text`` ends by announcing an action that the model then did not take.

    A text that ends in a colon may be up to 1,500 characters long; one that ends in a full stop or an ellipsis
    must be a short remark of at most three sentences, since a longer answer is one the user can use.
    """
    text = text.strip()
    colon = text.endswith(":")
    if not text or len(text) > (_LONGEST_WITH_COLON if colon else _LONGEST_WITHOUT_COLON) or "```" in text:
        return False
    sentences = [s for s in _SENTENCE_END.split(text) if s.strip()]
    last = sentences[-1].strip(" *_#>-\t")
    if len(last) > _LONGEST_SENTENCE or not _ANNOUNCEMENT.match(last):
        return False
    if colon:
        return not _SATISFYING.search(last)
    if len(sentences) > _MOST_SENTENCES or _CARRIED_OUT.search(last):
        return False
    return not _SATISFYING.search(text)
