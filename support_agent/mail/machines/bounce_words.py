# ruff: noqa: RUF001 - words in Cyrillic and other letters
"""The words of bounces, by language: failure, delay, status, and where the returned mail begins.

Data only; the rules are in `bounce_wording`. The lists hold words that servers share, never one server's whole notice.
Checked by tests/unit/mail/machines/test_bounce_wording.py.
"""

from __future__ import annotations

import re

from support_agent.mail.text.wording import words, words_at_start

BOUNCE_SUBJECT = words_at_start(
    r"(undeliver(able|ed)|non[- ]?deliver(y|able)|returned (e-?)?mail|failure notice|failed (e-?)?mail"
    r"|mail failed)\b",
    r"((e-?)?mail|message) (system |processing )?error\b|processing error\b",
    r"((e-?)?mail|message|mail system) (delivery|send) (has )?(failed|failure|problem|warning|system|error"
    r"|report|status)",
    r"delivery (has )?(status|failed|failure|failing|report|error|problem|delayed|unsuccessful|notification)\b",
    r"error during delivery\b|permanent delivery\b|(could|can)(not| not|n't) (be )?(sent|send|deliver(ed)?)\b",
    r"(mail|message)\b.{0,60}\b(delayed|not (yet )?(been )?delivered|was rejected|rejected by|blocked)\b",
    r"return(ed|ing)( message)?( to)? (the )?sender\b|rejected (mail|message)\b|delayed mail\b",
    r"(user|recipient|address|mailbox|host) (unknown|not found|unavailable)\b|unknown (user|recipient|address)\b",
    r"mail ?box (is )?(full|over quota)|deliver(y|ing) (attempt )?fail|unable to deliver\b"
    r"|bounced? (mail|message)\b",
    r"(unzustellbar|nicht zustellbar|nicht zugestellt)|unzustellbarkeit|zustellung\b.{0,40}\bfehlgeschlagen",
    r"no se (puede|pudo|ha podido) entregar|(error|fallo) (de|en la) entrega|no entregad"
    r"|mensaje (devuelto|rechazado)",
    r"non remis|non distribu|[ée]chec (de )?(la )?(remise|distribution|livraison)"
    r"|notification d'[ée]tat de remise",
    r"non recapitabile|mancat[ao] (recapito|consegna)|impossibile recapitare|messaggio respinto",
    r"falha n[ao] (entrega|envio)|n[ãa]o entreg|mensagem (devolvida|rejeitada)"
    r"|n[ãa]o foi poss[íi]vel entregar",
    r"onbestelbaar|niet (afgeleverd|bezorgd)|nie ?dostarcz|nedoru[čc]|ej levere?rat|ikke leveret"
    r"|kunne ikke leveres",
    anywhere=(
        r"не доставлен|недоставлен|не удалось доставить|ошибка доставки|возвра[тщ]",
        r"退信|投递失败|无法(投递|送达)|投遞失敗|無法傳[送遞]|配信(でき|不能|エラー|失敗)"
        r"|送信エラー|返送|반송|[발전]송(이|에)? ?실패",
    ),
)
"""Words in the subject of a bounce."""

FAILED_WORDS = words_at_start(
    r"(could|can|was|were|has|have|had|will|is|did)(not| not|n't) (yet )?(be|been)? ?(able to be )?"
    r"(deliver(ed)?|reach(ed)?|relay(ed)?|forwarded|accepted|sent)\b[^?]{0,160}",
    r"(unable|fail(ed|s)?|(wasn't|not|isn't) able|impossible) to (deliver|send|relay|reach|forward)",
    r"undeliver(able|ed)|non-?deliver(y|able)|not delivered\b|did not (receive|reach)\b",
    r"deliver(y|ing)\b[^.?]{0,80}\b(failed|failure|aborted|unsuccessful|not possible|postponed|delayed"
    r"|problems?)\b",
    r"failed (recipient|address|deliver|to deliver)|fail(ed|ure) to deliver|return(ed"
    r"|ing)\b[^.?]{0,30}\bto (the )?sender",
    r"permanent(ly)? (fatal )?(error|fail)|fatal errors?\b|giv(ing|en) up\b|too many hops\b",
    r"(user|recipient|mailbox|address(ee)?|account|host|domain)s?( name)?( is| was)? (unknown|disabled"
    r"|inactive|suspended)\b",
    r"unknown (or illegal )?(user|recipient|address|mailbox|account|host|domain)",
    r"no such (user|recipient|mailbox|address|account|person|domain|host)|not listed in\b"
    r"|invalid (final )?(recipient|address)",
    r"(user|recipient|mailbox|address(ee)?|account|name|host|domain)\b[^.?]{0,60}"
    r"\b(not (be )?(found|recogni[sz]ed|exist|match|valid|listed|available|active)|does(n't| not) (exist|have)"
    r"|unavailable)",
    r"(mail ?box|inbox|quota|storage)\b[^.?]{0,40}\b(full|exceed(ed|s)?|over)\b|over ?quota\b|exceed(ed"
    r"|s)\b[^.?]{0,30}\bquota",
    r"address(es|\(es\))? (had|with|failed|failing)\b|delivery (problem|error)s?\b|automatically rejected\b",
    r"(message|mail)\b[^.?]{0,60}\b(was|been|is being|has) (rejected|refused|returned|bounced|blocked|delayed)\b",
    r"(5[0-7]\d)[ -](#?5\.\d{1,3}\.\d|(?=[a-z<]).{0,80}\b(user|mailbox|address|recipient|relay|reject|denied|quota"
    r"|unknown|refused))",
    r"unzustellbar|nicht (zugestellt|zustellbar|ausgeliefert|erreicht)|zustellung\b[^.?]{0,60}\bfehlgeschlagen",
    r"empf[äa]nger\b[^.?]{0,50}\b(unbekannt|existiert nicht|nicht gefunden)|postfach\b[^.?]{0,30}\bvoll",
    r"impossible de (remettre|d[ée]livrer|distribuer)|bo[îi]te\b[^.?]{0,30}\bpleine",
    r"no (se )?(ha|pudo|puede|fue|han) (podido |posible )?(ser )?(entrega|enviar|encontr)"
    r"|destinatario\b[^.?]{0,50}(desconocido|no existe)",
    r"buz[óo]n\b[^.?]{0,30}\blleno|non (è|e') stato possibile|impossibile recapitare"
    r"|casella\b[^.?]{0,30}\bpiena",
    r"n[ãa]o (foi|p[ôo]de|pode) (poss[íi]vel )?(ser )?entreg|caixa\b[^.?]{0,30}\bcheia"
    r"|niet (worden )?(afgeleverd|bezorgd)",
    r"nie (można|mogła|została)\b.{0,30}(dostarcz|doręcz)|kunde inte levereras|kunne ikke leveres"
    r"|ei voitu toimittaa",
    anywhere=(
        r"n'existe pas",
        r"n'a(uraient)? pas pu [êe]tre|\bnon remis|[ée]chec de (la )?(remise|distribution)"
        r"|\bdestinataire\b[^.?]{0,50}\binconnu",
        r"не (было |был[ао]? |может быть |могло быть )?доставлен|не удалось доставить|не (найден|существует)"
        r"|ящик.{0,30}переполнен",
        r"退信|无法(投递|送达|发送)|投递失败|不存在|無法(傳送|投遞|送達)"
        r"|配信(でき|不能|され)|配送でき|送信でき|見つかりません"
        r"|반송|[발전]송(이|에)? ?실패|(전송|배달)하지 못",
    ),
)
"""A notice says that a mail or a recipient failed, or that the mail is delayed."""

DELAY_WORDS = words(
    r"\b(delayed|postponed|deferred)\b|\(delay\)|\bdelivery delay\b|\bwarning: (message|could not send)"
    r"|\bwarning message only\b|\bstill (being )?retr",
    r"\b(keep|keeps|go on) (trying|retrying)\b|\bwill retry\b",
    r"\bwill (continue|keep)\b[^.]{0,40}\b(try|trying|retry|attempt|deliver|be (made|attempted))"
    r"|\bwill (be )?(re)?tr(y|ied) (again|to)\b",
    r"\bdelivery attempts will continue\b|\bnot yet been delivered\b|\bwill be retried\b|\bdo not need to resend\b",
    r"\bno action is required\b|\btemporary (problem|delay)|\bwird weiter(hin)? versucht|verz[öo]ger"
    r"|\bretard[ée]|\bretras",
    r"\bs[eé] seguir[áa] intentando|\bnous continuerons|配信が遅|задерж",
)
FINAL_WORDS = words(
    r"\b(giv(ing|en)|gave) (it )?up\b|\bpermanent(ly)?\b|\bfatal\b|\bwill not be retried\b|\breturn(ed"
    r"|ing)\b[^.]{0,30}\bto sender",
    r"\b(retry|delivery|queue) ?(time ?out|time|period)\b[^.]{0,30}\b(exceeded|expired)|\b5\.\d{1,3}\.\d{1,3}\b"
    r"|\bno longer\b",
    r"\b(has|have) been (returned|removed)|\bendg[üu]ltig|\bd[ée]finitive",
)
"""The server has given up."""
CONDITION = words(
    r"(?:^|(?<=[.!?]\s))(?:should|si|se|wenn)\b[^.!?]{0,300}",
    r"\b(?:if|unless|in case|sollte|falls|(?:be|get) notified)\b[^.!?]{0,300}",
)
"""A condition ("if ..."), up to the end of its sentence."""

STATUS_WORDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "2.2",
        words(
            r"\b(mail ?box|inbox|quota|storage|buz[óo]n|postfach|casella)\b[^.]{0,40}\b(full|exceed|over"
            r"|lleno|voll|pien)"
        ),
    ),
    ("2.2", words(r"\bover[ -]?quota\b|\bquota exceed|\binsufficient (disk|storage)|ящик.{0,30}переполнен")),
    (
        "1.2",
        words(
            r"\b(host|domain)\b[^.]{0,30}\b(unknown|not found|does not exist|not be found|lookup failed)"
            r"|\bunrouteable|\bunknown (host|domain)|\bnameserver error"
        ),
    ),
    (
        "2.1",
        words(
            r"\b(account|mailbox|user|address)\b[^.]{0,30}\b(disabled|inactive|suspended|deactivated"
            r"|closed|discontinued)|\bmailbox (is )?(not available|unavailable)"
        ),
    ),
    (
        "1.1",
        words(
            r"\b(user|recipient|mailbox|address(ee)?|account|name)\b[^.]{0,60}\b(unknown|not (be )?(found"
            r"|recogni[sz]ed|exist|listed|valid)|does(n't| not) (exist|have))"
        ),
    ),
    (
        "1.1",
        words(
            r"\bunknown (or illegal )?(user|recipient|address|mailbox|account)|\bno such (user|recipient"
            r"|mailbox|address|account|person)|\binvalid (final )?(recipient|address|mailbox|user)"
        ),
    ),
    (
        "1.1",
        words(
            r"\bempf[äa]nger\b[^.]{0,50}\b(unbekannt|existiert nicht)|\bdestinataire\b[^.]{0,50}\binconnu"
            r"|\bdestinatario\b[^.]{0,50}(desconocido|no existe)|n'existe pas|получател.{0,50}не (найден"
            r"|существует)"
        ),
    ),
    ("4.6", words(r"\btoo many hops\b|\bmail loop|\brouting loop")),
    (
        "4.7",
        words(
            r"\b(timed? ?out|expired|too (long|old)|retry timeout|queue)\b[^.]{0,40}\b(exceeded|expired"
            r"|delivery|queue)"
        ),
    ),
    (
        "3.4",
        words(
            r"\b(message|mail)\b[^.]{0,40}\b(too (large|big)|exceeds? (the )?(maximum|size|limit))"
            r"|\bsize limit"
        ),
    ),
    (
        "7.1",
        words(
            r"\b(spam|blacklist|blocklist|blocked|policy|relay(ing)? (access )?denied|not permitted"
            r"|access denied|virus)\b"
        ),
    ),
)
"""Subject and detail of a status code (RFC 3463), and the wording that means it where no code is given."""

RETURNED = words(
    r"^[>\s]*+[-=*_#+]{2,}.{0,60}\b(original|returned|unsent|undelivered|copy of|below this line|begin"
    r"|message text|header)",
    r"^[>\s]*+[-=*_ ]*(here is your returned mail|(the )?(text of )?(your |the )?(original |returned "
    r"|unsent )(message|mail|headers?)"
    r"( (header|text|is|was|as|details)s?)? ?(follows?|attached|below|begins?|:))",
    r"^[>\s]*+[-=*_ ]*(this is a copy of (the|your) (message|mail)|a copy of (the|your)( original)? (message"
    r"|mail)|message (header|text)s? follow)",
    r"^[>\s]*+(included is|attached is|enclosed is) (a copy|the)|\b(first|top) \d+ lines of (your"
    r"|the) (original )?(message|mail)",
    r"^[>\s]*+[-=*_ ]*(your (original )?message reads|old message:|ihre (original)?nachricht|mensaje original"
    r"|message (d'origine|original))",
    r"^[>\s]*+(return-path|received|delivered-to):\s",
    r"^[>\s]*+message-id:\s*<",
)
"""Where the notice ends and the returned mail begins."""

OTHERS_LINE = words(
    r"^\s*(from|sender|reply-to|return-path|message-id|references|in-reply-to|received|date|subject|cc|x-[\w-]+"
    r"|von|de|da|mail from)\s*:",
    r"\bmail from:|\b(contact|assistance|help ?desk|questions?|abuse|administrator|problems? to|report (this|the))\b",
    r"\bplease (send|write|e?-?mail|forward|reply|notify)|\b(further|more) (help|information|details)|\bid:"
    r"|\bhttps?://|\bkontakt",
)
"""Lines whose addresses are those of other people: the sender, or whom to ask."""
