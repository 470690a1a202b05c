"""What a sentence before a call may say about it: that it is an example, a quotation, an option, a refusal.

Two kinds of evidence. Words that say so outright count before every notation. A sentence that ends in a colon and
merely *presents* what follows ("The request body is:") counts only before text that people write as well, plain JSON
or a code block, and only if the speaker announces no action of its own ("I will send this:", "Checking the log:").
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

_DO = r"(?:run|call|execute|invoke|send|issue|emit|perform|use|make|trigger|write|do)"
_STRONG = (
    r"\b(?:such as\b|(?:something|anything|body|request|payload|object|message|string) like\b"
    r"|(?:an?|the|this|following|previous) (?:\w+ )?(?:example|sample|snippet|template|placeholder)s?"
    r"(?=\s*(?:[:.,]|$|(?:of|is|are|call|request|format|syntax|below|above|you|that|which)\b))|(?:^|\s)examples?:"
    r"|(?:call|format|syntax|block|tag)s?"
    r" (?:would |will |might |should |could )?(?:looks? (?:like|as follows)|reads?\b|is written|has (?:this|the following) (?:form|shape))"
    r"|(?:request|message|reply|response|output|json|one|it|this)s? (?:would |will |might |should |could )?(?:looks? as follows|is written"
    r"|(?:looks? like|reads?)(?: this| that| these| so| the following| as follows)?\W*\Z|has (?:this|the following) (?:form|shape))"
    r"|(?:model|assistant|agent|bot|llm) (?:should|must|would|could|has to|is to) (?:output|emit|produce|print|write|generate|reply|answer|return)\b"
    r"|(?:call|request|command|one)s? (?:i|we|you) (?:made|sent|ran|used|issued|tried) (?:earlier|before|previously|last)\b|\bthe original (?:\w+ )?was\W*\Z"
    r"|(?:rejected|refused|received|logged|feeds|fed) (?:this|that|the following)\b|\btells? the (?:model|assistant|agent) to\b"
    r"|(?:formatted|corrected|escaped|minified|indented) (?:json|xml|text|version|output) (?:is|of your)\b|\b(?:only|just) show\b"
    r"|\A\W*(?:you|the user|someone) (?:just )?(?:wrote|sent|pasted|posted|quoted)\b|\A\W*(?:request|response) body\W*\Z|\b(?:one|an|another) option is\W*\Z"
    r"|(?:typical|minimal|equivalent|canonical|generic|dummy) (?:\w+ )?(?:call|request|invocation|usage|json|xml|python|syntax)\b"
    r"|(?:sample|expected|actual) (?:output|input|request|response|reply|result|call|json)\b|(?:copy and )?paste this\b"
    r"|(?:last|previous|earlier) (?:message|reply|response|answer)s?\b"
    r"|\bdraft(?:ing)? (?:it|this|that|the call|a call)\b|demo:|as an? (?:illustration|demonstration)\b|(?:one|another|the (?:right|usual|normal|proper)) way (?:to|of|is)\b"
    r"|(?:use|call|invoke|try) (?:it|calling it|the function|this function) (?:this way|in|with|from|as follows)\b"
    r"|(?:is|was) (?:this|that) what\b|did you mean\b|what (?:does|do|would) (?:this|that|these|it)\b"
    r"|(?:format|syntax|schema|template|shape|usage|documentation|docs|notation|convention|specification)"
    r" (?:is|are|for|of|looks?|shows?|says?|reads?|uses?|expects?)\b|usage:|syntax:|format:|template:"
    r"|here(?:['’]s| is| are) (?:how|what) (?:you|one|it|a|an|the|that|such|to)\b"
    r"|here(?:['’]s| is| are) the (?:format|syntax|template|shape|way)\b"
    r"|hypothetical\w*|option [a-z0-9]\b|(?:first|second|third|other|another|safer|only) option\b|(?:two|three|four|several|these|following) (?:options|ways|alternatives)\b"
    r"|log (?:shows|says|contains)|(?:was|were) called with"
    r"|(?:previous|earlier|last) (?:\w+ )?(?:run|call|turn|attempt) (?:was|were|ended|failed|used|returned|looked|had)\b"
    r"|(?:earlier|previously),? (?:i|we)\b|(?:i|we|it) (?:already|previously|earlier) (?:called|ran|executed|sent|used))"
)
"""The text shows, quotes or reports a call, unless it goes on to say what is done (:data:`_GOES_ON`)."""
_GIVEN = r"\b(?:for (?:example|instance)\b|e\.g\.?)"
"""The same, unless what is done is said to follow from it (:data:`_CONCLUDED`)."""
_DOING = (
    r"(?:(?:i['’]ll|i will(?! not)|let me|let['’]s|i['’]m (?:going to|now)|i am (?:going to|now)|i need to|i have to)"
    r"(?! (?:\w+ )?(?:show|give|explain|illustrate|demonstrate|quote|describe|write|format|paste|print|repeat|tell)\b)"
    r"|(?:i['’]m |i am )?(?:re)?(?:running|checking|listing|reading|looking|opening|trying|fetching|searching|calling|executing|testing|verifying"
    r"|inspecting|doing|starting)\b)"
)
_GOES_ON = rf"(?:[,;:.–—-] ?|\b(?:so|and|but|then|thus|hence|therefore) )(?:so |and |but |now,? |then,? |first,? |next,? ){{0,2}}{_DOING}"
_CONCLUDED = rf"(?:;|\b(?:so|thus|hence|therefore)\b),? (?:now,? |first,? )?{_DOING}"
_RUN = (
    r"\b(?:i['’]ll|i will(?! not)|let me|let['’]s|i['’]m (?:going to|now)) (?:\w+ )?(?:run|execute|test|try|build|open|read|check|fix|edit|update|save|delete)"
    r" (?:an?|the|this|that|your) (?:\w+ )?(?:example|sample|snippet|template)"
)
"""The example is a thing with which something is done."""
_WEAK = (
    rf"\b(?:would (?:\w+ )?(?:have|be|look|{_DO}|never|not)\b|you['’]d\b|i['’]d (?:then |just |simply )?{_DO}\b|wouldn['’]t|(?:could|might) (?:have (?:\w+ )?|also )?{_DO}(?:ed|ing|t)?\b"
    rf"|(?:will not|won['’]t|cannot|can['’]t|can not|should (?:not|never)|shouldn['’]t|must not|do not|don['’]t|did not"
    rf"|didn['’]t|never|not going to|refus\w+ to|declin\w+ to) (?:\w+ ){{0,2}}?{_DO}(?:ning|ing|ting)?\b"
    rf"|(?:you|users?|one|agents?|models?|people|clients?|they|developers?) (?:can|could|may|might|would|should|must|need to|have to)"
    rf" (?:\w+ )?(?:{_DO}|test|try|pass|type)\b|you (?:simply |just |then |only )?(?:call|pass|send|write|type|invoke)\b"
    r"|your (?:\w+ )?(?:code|client|script|app|program|server|parser|test|request|body|payload|json|config)s? (?:should|must|would|can|could|may|might)\b"
    r"|(?:the|an?) (?:tests?|readme|docs|documentation|manual|tutorial|article|page|issue|ticket|spec)"
    r" (?:says?|said|contains?|shows?|quotes?|mentions?|suggests?|recommends?)\b"
    r"|in the (?:\w+ )?(?:logs?|docs|readme|tests?|trace|transcript|documentation|manual|changelog) (?:i|we|you) (?:can )?(?:see|find|found|saw)\b"
    r"|(?:models?|agents?|clients?|servers?|they|people) (?:\w+ )?(?:write|emit|send|print|produce|generate|use)s?\b"
    r"|if (?:you|we|they) (?:had|wanted|were|would|ever|need)\b|if i (?:had|were|may|can|could|should)\b|(?:should|shall|may|can) i\b"
    r"|(?:do you want|would you like|want) (?:me )?to\b|imagin\w+|suppose\b|pretend\b)"
)
"""The text speaks about what is not done, unless it goes on to say what is (:data:`_ANNOUNCED`)."""
_ANNOUNCED = r"\b(?:i['’]ll|i will(?! not)|let me|let['’]s|i['’]m (?:going to|now)|i am (?:going to|now)|now|so i|instead,? i|first)\b"
_MANNER = r"\blike (?:this|so|the following|these)\b"
"""The text shows how a call is made, unless it says that it is being made (:data:`_MADE`)."""
_MADE = rf"\b(?:i['’]ll|i will(?! not)|let me|i['’]m (?:going to|now)|i am (?:going to|now)) (?:\w+ ){{0,2}}?{_DO}\b"

_OTHER_LANGUAGES = (
    r"\b(?:beispiel|z\. ?b\.|ejemplo|exemple|esempio|exemplo|voorbeeld|bijvoorbeeld|przykład|örnek|örneğin|например|к примеру"
    r"|приме(?:р|ра|ры)|ví dụ|misalnya|contoh\w*|eksempel|exempel|esimerk\w*|példa\w*|például|například|příklad\w*|napríklad"
    r"|exemplu|наприклад|приклад|παράδειγμα|παραδείγματος|לדוגמה|למשל)(?!\w)|ตัวอย่าง|مثال|例如|例子|比如|譬如|示例|范例|範例|例えば|たとえば|の例|예를 들|예시|उदाहरण"
    r"|على سبيل المثال"
    r"|\b(?:wie folgt|so aus|aussehen|folgende(?:rmaßen| form)|como (?:este|esto|sigue)|esta forma|(?:ressemble|comme (?:ceci|suit))"
    r"|come (?:segue|questo)|como segue|desta forma|выглядит так|следующим образом|в таком виде)(?!\w)"
    r"|如下|(?:这样|這樣)的|次のような|以下のような|다음과 같"
    r"|\bich (?:werde|würde|kann|darf)\b[^.]*\bnicht\b|\bno (?:voy a|puedo|debo|pienso)\b|\bne (?:vais|peux|dois) pas\b|\bnon (?:posso|devo|voglio)\b"
    r"|\bnão (?:vou|posso|devo|\w+rei)\b|\bя не (?:буду|могу|стану|можу)\b|\bno \w+ré\b|\bnon \w+rò\b|\bje n[e'’] ?\w+rai pas\b"
    r"|\bnie (?:mogę|będę|wykonam|uruchomię|wywołam|wyślę)\b|\bik (?:zal|ga|kan|mag|wil)\b[^.]*\bniet\b|(?<!\w)لن أ\w|(?:不会|不會|不能|不要)(?:执行|執行|调用|調用|运行|發送|发送)"
    r"|(?:実行|呼び出|送信|呼)\w*ません|(?:실행|호출)하지 않"
)
"""The commonest of these in other languages."""

_FORM = (
    r"\b(?:json|xml|yaml|markup|code|payloads?|snippets?|syntax|format|form|template|calls?|invocations?|requests?|response|reply"
    r"|messages?|body|objects?|lines?|blocks?|commands?|output|strings?|structure|samples?|examples?|entry|entries|records?|variants?|alternatives?|usage)\b"
)
"""What a text is called as a text."""
_PRESENTING = (
    rf"(?:{_FORM}"
    r"|\b(?:the following|(?:this|these)(?: \w+)?|below|instead)\W*\Z"
    r"|\b(?:says?|said|writes?|wrote|prints?|printed|returns?|returned|replie[sd]|answer(?:s|ed)|gives?|gave|shows?|showed|reads"
    r"|contain(?:s|ed)|emit(?:s|ted)?|produce[sd]?|logged|sends?|expects?|allows?|accepts?|forwards?|sent|received|becomes?|became|got)(?: \w+){0,2}\W*\Z"
    r"|\b(?:with|as|like|to|is|are|was|were|be|been)\W*\Z"
    r"|\A\W*(?:this|that|it) (?:is|was) (?:\w+ ){0,2}\w+\W*\Z"
    r"|\b(?:must|should|can|could|may|might|would|cannot) (?:\w+ ){0,3}\w+\W*\Z"
    r"|\byou (?!asked|wanted|requested|mentioned|gave|need|want|said)(?:\w+ )+)"
)
_RUNNING_ON = r"\b(?:with|as|like|to|by|is|are|be|been|expects?|returns?|generates?|emits?|sends?|produces?|prints?|says?|writes?)\Z"
"""The sentence goes on in the text behind it."""
_HEADING = (
    r"\A\W*(?:#|\*\*|__)\W*(?:\w+ )?(?:examples?|usage|requests?|responses?|syntax|format|inputs?|outputs?|samples?|templates?|reference"
    r"|demo)(?: \d+)?\W*\Z"
)
"""The heading of a section that shows how something is written."""
_TOLD = (
    r"\bplease (?!wait|hold|stand|bear|be )|\A\W*(?:put|paste|copy|replace|type|insert|compare|consider|note|see)\b"
    r"|(?:\A\W*|, |then )(?:(?:send|post|submit|pass|try|use|write|enter|add)|(?:run|call|execute|invoke) (?:this|the following|it))"
    r"(?: (?:this|the following|it)(?: \w+){0,3})?\W*\Z"
)
"""The reader is told to do something."""
_LABEL = (
    r"\A\W*(?:in)?(?:correct|valid)\b|\A\W*(?:wrong|right|good|bad|better|worse|before|after|old|new|equivalent|note|reference|versus|vs)\W*\Z"
    r"|\A\W*for (?:reference|comparison|illustration|completeness)\b|\bto illustrate\b"
)
"""Things are set side by side."""
_OWN = (
    r"\b(?:i|i['’]\w+|we|we['’]\w+|let['’]s|my|me)\b(?! would| could)"
    r"|(?:\A\W*|[,;:–—-] ?|\b(?:so|and|now|then|okay|ok) )(?!following|string|thing|during|regarding|concerning|according|missing)[a-z]{2,}ing\b"
    r"|\b(?:next(?: \w+)?|step|tool(?: to use| for (?:this|that|it))?) (?:is|are)\W*\Z|\A\W*(?:first|then|next|now|finally|also|and|step \d+)\b"
    r"|\bhere(?:['’]s| is| are) (?:the|my|an?) (?:json (?:for|of) (?:the|my|an?) )?(?:\w+ )?(?:(?:function|tool|api) calls?\b|calls?\W*\Z)"
    r"|\A\W*(?:the )?(?:function |tool |api )?(?:calls?|output|response|reply|json|request|command)(?: \d+)?\W*\Z"
)
"""The speaker says what it does itself, or names no more than the act."""

_SENTENCE = re.compile(r"[.!?](?:[\"')\]]*)(?=\s|\Z)|[。！？]|\n\s*\n")


_LONGEST = 300
"""Characters of a sentence that are looked at."""


@cache
def _cue(pattern: str) -> re.Pattern[str]:
    """For text in lower case: with IGNORECASE no alternative is passed over by its first letter."""
    return re.compile(pattern)


def last_sentence(text: str) -> str:
    """The sentence with which ``text`` ends, white space around it included or not; at most its last two lines."""
    text = text.rstrip()
    start = max(text.rfind("\n", 0, max(text.rfind("\n"), 0)) + 1, len(text) - _LONGEST)
    for match in _SENTENCE.finditer(text, start):
        if match.end() < len(text):
            start = match.end()
    return text[start:].lstrip("\n")


@lru_cache(maxsize=128)
def speaks_of_example(sentence: str, *, written_out: bool = False) -> bool:
    """Whether ``sentence`` says that the call behind it is not made; ``written_out`` as in the module's text."""
    sentence = sentence.lower()
    if _cue(_OTHER_LANGUAGES).search(sentence):
        return True
    given = _cue(_GIVEN).search(sentence)
    if given is not None and not _cue(_CONCLUDED).search(sentence, given.end()):
        return True
    shown = None if _cue(_RUN).search(sentence) else _cue(_STRONG).search(sentence)
    if shown is not None and not _cue(_GOES_ON).search(sentence, shown.end()):
        return True
    manner = _cue(_MANNER).search(sentence)
    if manner is not None and not _cue(_MADE).search(sentence, 0, manner.start()):
        return True
    weak = _cue(_WEAK).search(sentence)
    if weak is not None and not (
        _cue(_ANNOUNCED).search(sentence, weak.end()) or _cue(_GOES_ON).search(sentence, weak.end())
    ):
        return True
    return written_out and _presents(sentence)


def _presents(sentence: str) -> bool:
    """Whether a sentence that ends in a colon, or in the middle, presents a text rather than announcing an action."""
    if _cue(_HEADING).search(sentence):
        return True
    if sentence[-1:] not in (":", "：") and not _cue(_RUNNING_ON).search(sentence):
        return False
    if _cue(_TOLD).search(sentence):
        return True
    if _cue(_OWN).search(sentence):
        return False
    return _cue(_LABEL).search(sentence) is not None or _cue(_PRESENTING).search(sentence) is not None
