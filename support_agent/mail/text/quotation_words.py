# ruff: noqa: RUF001 - words in Cyrillic and other letters
"""The words that mail programs write around a quotation, by language: copied headers, separators, attributions.

Data only; the rules are in `quotation` and `signatures`. A word is listed because a mail program writes it, never
because a person does. Checked by tests/unit/mail/text/test_quotation_words.py, which has a reply in each language.
"""

from __future__ import annotations

from support_agent.mail.text.wording import listed

FROM_LABELS = listed(
    """
    from, von, de, da, van, od, från, fra, frá, lähettäjä, от, від, од, kimden, feladó, από, expéditeur, remitente,
    mittente, afzender, nadawca, odesílatel, odosielateľ, šalje, pošiljatelj, saatja, no, nuo, từ, người gửi, dari,
    daripada, จาก, 差出人, 发件人, 寄件者, 寄件人, 發件人, 보낸 사람, מאת, من
    """
)
"""The sender: the first line of Outlook's copied header. All lists here are in lower case."""
SENT_LABELS = listed(
    """
    sent, gesendet, gesendet am, enviado, enviado el, enviado em, enviada em, enviat, envoyé, envoyé le, inviato,
    verzonden, wysłano, wysłane, skickat, sendt, lähetetty, отправлено, надіслано, відправлено, изпратено, послато,
    odesláno, odoslané, poslano, poslato, saadetud, nosūtīts, sūtīts, išsiųsta, đã gửi, ngày gửi, gửi, dikirim,
    terkirim, dihantar, ส่ง, ส่งเมื่อ, gönderildi, elküldve, küldve, στάλθηκε, 送信日時, 送信, 发送时间, 寄件日期, 傳送時間,
    发送日期, 보낸 날짜, נשלח, تم الإرسال, trimis
    """
)
"""The date, with a label that only programs use: a person who writes about a journey has a date, but no "Sent"."""
DATE_LABELS = listed(
    """
    date, datum, fecha, data, dato, päivämäärä, дата, датум, tarih, dátum, kuupäev, datums, tanggal, tarikh, ngày,
    วันที่, ημερομηνία, 日付, 日期, 날짜
    """
)
TO_LABELS = listed(
    """
    to, an, para, à, a, aan, do, till, til, vastaanottaja, кому, komu, pre, kime, címzett, προς, destinataire,
    destinatario, per a, до, за, коме, za, prima, primatelj, kome, adressaat, kellele, kam, đến, tới, kepada, ถึง,
    宛先, 收件人, 收件者, 받는 사람, אל, إلى, către
    """
)
OTHER_LABELS = listed(
    """
    cc, bcc, kopie, kopia, kopi, copie, copia, kopio, копия, копія, копие, копија, kopija, koopia, tembusan, tembusan
    kepada, สำเนา, dw, 抄送, 副本, 참조, bilgi, reply-to, antwort an, reply to, répondre à, responder a, on behalf of,
    im auftrag von, importance, wichtigkeit, priority, priorität, attachments, anlagen, anhänge, organization
    """
)
SUBJECT_LABELS = listed(
    """
    subject, betreff, asunto, assumpte, objet, oggetto, onderwerp, assunto, temat, ämne, emne, efni, aihe, тема,
    относно, предмет, předmět, predmet, zadeva, tema, teema, tēma, temats, konu, tárgy, θέμα, chủ đề, tiêu đề, perihal,
    subjek, subyek, judul, เรื่อง, หัวเรื่อง, 件名, 主题, 主旨, 主題, 제목, נושא, الموضوع, subiect
    """
)
RULER_WORDS = listed(
    """
    original message, original appointment, original email, forwarded message, forwarded by .{1,80},
    ursprüngliche nachricht, urspruengliche nachricht, originalnachricht, original-nachricht, weitergeleitete
    nachricht, weitergeleitet von .{1,80}, ursprünglicher termin, mensaje original, mensaje reenviado, message
    d['’]origine, message original, message transféré, message transmis, courriel original, messaggio originale,
    messaggio inoltrato, messaggio originario, oorspronkelijk bericht, origineel bericht, doorgestuurd bericht,
    doorgestuurd door .{1,80}, mensagem original, mensagem encaminhada, wiadomość oryginalna, oryginalna
    wiadomość, wiadomość przekazana dalej, przekazana wiadomość, ursprungligt meddelande, originalmeddelande,
    vidarebefordrat meddelande, vidarebefordrat brev, oprindelig meddelelse, videresendt meddelelse, videresendt
    besked, opprinnelig melding, videresendt melding, alkuperäinen viesti, välitetty viesti, edelleenlähetetty
    viesti, исходное сообщение, пересылаемое сообщение, пересланное сообщение, оригинальное сообщение, původní
    zpráva, přeposlaná zpráva, pôvodná správa, orijinal mesaj, özgün ileti, iletilmiş mesaj, eredeti üzenet,
    továbbított üzenet, αρχικό μήνυμα, original meldung, 元のメッセージ, 転送されたメッセージ, 元のメール,
    原始邮件, 转发的邮件, 转发邮件信息, 原始郵件,
    轉寄郵件, 轉寄訊息, 原本のメール, 원본 메시지, 원본 메일, 전달된 메시지, mesaj original,
    izvorna poruka, originalna poruka, proslijeđena poruka, prosleđena poruka, оригинална порука, прослеђена порука,
    izvirno sporočilo, posredovano sporočilo, preposlaná správa, оригинално съобщение, препратено съобщение, вихідне
    повідомлення, початкове повідомлення, оригінальне повідомлення, переслане повідомлення, переадресоване
    повідомлення, algne sõnum, algsõnum, originaalkiri, edastatud sõnum, edastatud kiri, sākotnējais ziņojums,
    oriģinālais ziņojums, pārsūtīts ziņojums, pārsūtīta ziņa, pradinis pranešimas, pirminis pranešimas, originalus
    laiškas, persiųstas pranešimas, persiųstas laiškas, persiunčiamas laiškas, thư gốc, tin nhắn gốc, thư đã chuyển
    tiếp, thư chuyển tiếp, tin nhắn đã chuyển tiếp, pesan asli, pesan terusan, pesan yang diteruskan, mesej asal, mesej
    yang dimajukan, mesej dimajukan, ข้อความต้นฉบับ, ข้อความเดิม, ข้อความที่ส่งต่อ, missatge original, missatge reenviat
    """
)
"""Phrases between dashes above the old mail (Outlook, Gmail, Thunderbird, Lotus Notes, QQ Mail); patterns."""
FORWARD_LINES = listed(
    """
    begin forwarded message, anfang der weitergeleiteten nachricht, inicio del mensaje reenviado, début du
    message réexpédié, début du message transféré, inizio messaggio inoltrato, inizio del messaggio inoltrato,
    begin doorgestuurd bericht, início da mensagem encaminhada, początek przekazywanej wiadomości,
    vidarebefordrat brev, start på videresendt besked, videresendt melding, välitetty viesti alkaa, начало
    переадресованного сообщения, начало пересылаемого сообщения, 転送されたメッセージ, 開始轉寄郵件,
    下面是被转发的邮件, 以下は転送されたメッセージです
    """
)
"""The line that Apple Mail puts above a forwarded mail."""
REPLY_ABOVE = listed(
    r"""
    (?:reply|type your reply|write) above this line, antwort(?:en)? (?:sie )?(?:bitte )?(?:ober|über)\w* dieser
    (?:linie|zeile), geben sie ihre antwort (?:bitte )?(?:ober|über)\w* dieser (?:linie|zeile) ein, responda por encima
    de esta línea, escriba su respuesta por encima de esta línea, répond\w* au-dessus de cette ligne, veuillez saisir
    votre réponse au-dessus de cette ligne, rispond\w* (?:al di )?sopra (?:a )?questa (?:riga|linea), digita la tua
    risposta sopra questa (?:riga|linea), digite sua resposta acima desta linha, typ uw antwoord boven deze regel
    """
)
"""The line that help desks put on top of their mails; everything below it is theirs; patterns."""
WROTE = listed(
    r"""
    wrote, writes, hat geschrieben, schreibt, escribió, escribio, ha escrito, a écrit, ha scritto, scrive, heeft
    geschreven, escreveu, napisał, napisała, napisał\(a\), napisał/a, pisze, kirjoitti,
    написал, написала, написал\(а\), писал, писала, писал\(а\),
    пишет, написав, пише, написа, napsal, napsala, napsal\(a\), napísal, napísal\(a\), şunu yazdı, yazdı, ezt írta,
    írta, έγραψε, a scris, va escriure, je napisao, je napisala, je napisao/la, napisao je, napisala je, napisao/la je,
    napisala, napisal/a, је написао, је написала, је написао/ла, написао је, kirjutas, rašė, rakstīja, menulis, đã viết,
    เขียนว่า, เขียน, skrifaði, כתב, כתבה, كتب, geschrieben, geschreven
    """
)
"""The verb of an attribution ("On <date>, <name> wrote:") where it ends its line; patterns."""
WROTE_BEFORE_NAME = listed(
    """
    schrieb, schrieben, schreef, skrev, כתב, כתבה, كتب, skriver, skreiv, kirjutas
    """
)
"""The same verb in languages that put the name after it."""
WROTE_SUFFIXES = listed(
    """
    님이 작성, 님이 작성하였습니다, 작성, のメール, は書きました, が書きました, のメッセージ, さんからのメール,
    写道, 寫道, 撰写, 撰寫, 编写, 来信, 來信
    """
)
"""The same verb in scripts that join it to the name."""
FOLLOWING = listed(
    """
    the following, folgendes, följande, følgende, het volgende, lo siguiente, ce qui suit, quanto segue
    """
)
"""Words between the verb and the colon."""
ATTRIBUTION_STARTS = listed(
    """
    on, at, am, el, le, il, op, den, em, w dniu, dnia, dne, dňa, pe, în, la, på, a, il giorno, in data, il dì,
    le lun, user, użytkownik, в, от, у, στις, в отговор, pada, vào, em data, ב, בתאריך, في, 在, 於, 于, in article,
    quoting, zitat von
    """
)
"""Words that begin the date of an attribution."""

DEVICES = (
    r"(?:diese nachricht wurde |diese e-?mail wurde )?(?:von|vom|mit|über) (?:mein\w* )?(?:[\w.-]+ ){1,6}"
    r"(?:gesendet|gesandt|verschickt|geschrieben)",
    r"(?:gesendet|verschickt|verfasst) (?:von|mit|über) (?:[\w.-]+ ){0,5}[\w.-]+",
    r"sent (?:from|with|via|using|by) (?:[\w.'\u2019-]+ ){0,7}[\w.()\u2019'-]+",
    r"enviad[oa] (?:desde|con|do|a partir do|pelo|através d[oe]|via) (?:[\w.-]+ ){0,6}[\w.-]+",
    r"envoyé (?:de|depuis|à partir de|avec|via|par) (?:l['\u2019])?(?:[\w.-]+ ){0,6}[\w.-]+",
    r"inviat[oa] (?:da|dal|dalla|con|tramite) (?:[\w.-]+ ){0,6}[\w.-]+",
    r"(?:verzonden|verstuurd) (?:vanaf|vanuit|via|met|met behulp van) (?:[\w.-]+ ){0,6}[\w.-]+",
    r"wysłan[eoay] (?:z|ze|za pomocą|przez) (?:[\w.'\u2019-]+ ){0,6}[\w.'\u2019-]+",
    r"(?:skickat|skickades|sendt) (?:från|fra|med|via) (?:[\w.-]+ ){0,6}[\w.-]+",
    r"отправлено (?:с|со|из|через) (?:[\w.-]+ ){0,6}[\w.-]+",
    r"(?:lähetetty|надіслано|odesláno|odoslané|gönderildi|trimis) (?:[\w.-]+ ){0,5}[\w.-]+",
    r"[\w.'\u2019-]+ (?:\w+ ){0,3}gönderildi",
    r"[\w .-]{2,30}(?:から送信|より送信)(?:されました)?",
    r"(?:发自|發自|从|從)(?:我的|我) ?[\w .-]{2,30}(?:发送|傳送|寄出)?",
    r"(?:나의|내) [\w .-]{2,30}에서 보냄",
    r"get (?:bluemail|spark) for \w+",
    r"(?:[\w'\u2019-]+ ){0,4}outlook (?:[\w'\u2019-]+ ){0,4}(?:ios|android|windows|mac)(?: [^\W\d]+){0,2}",
    r"yahoo mail: .{3,60}",
)
"""The whole line that a phone or a mail program puts under a mail; patterns."""
PERSONAL = listed(
    """
    i, we, you, it, is, was, but, and, not, ich, wir, es, ist, und, aber, nicht, je, nous, est, et, mais, yo,
    no, pero,
    y, io, non, ma, ik, maar, en, não, mas, och, men, og
    """
)
"""Words of a person's sentence; no program writes them in that line."""
WISHING = listed(
    """
    please, pls, bitte, favor, plaît, plait, favore, cortesia, alsjeblieft, alstublieft, proszę, prosím, molim, prosim,
    моля, прошу, пожалуйста, ласка, lütfen, kérem, vänligen, palun, lūdzu, prašau, παρακαλώ, rog, lòng, tolong, sila,
    i, i', i’, ich, mir, mich, je, j', j’, yo, io, ik, eu, jag, jeg, я, мне, меня, мені, мене, mnie
    """
)
"""Words of people about themselves or their wishes; they do not occur in contact data."""
CLOSINGS = listed(
    r"""
    (?:kind |kindest |best |warm |warmest |with best |with kind |many )?regards, best(?: wishes)?, all the best,
    sincerely, yours(?: \w+)?, cheers, thanks, thank you, many thanks, thx, (?:mit
    )?(?:freundliche|beste|herzliche|viele|liebe|schöne)[nrm]? gr(?:ü|ue)(?:ß|ss)e?n?, gru(?:ß|ss), gr(?:ü|ue)(?:ß|ss)e,
    mfg, lg, vg, danke, vielen dank, besten dank, hochachtungsvoll, (?:un )?saludos?(?: \w+)?, atentamente, gracias,
    muchas gracias, cordialmente, (?:bien )?cordialement, (?:sincères |meilleures )?salutations, bien à vous, merci,
    (?:cordiali |distinti )?saluti, grazie, (?:met )?(?:vriendelijke|hartelijke) groet(?:en)?, groet(?:en|jes)?, mvg,
    atenciosamente, (?:com os melhores )?cumprimentos, obrigad[oa], pozdrawiam, z poważaniem, dziękuję, (?:med )?vänliga
    hälsningar, hälsningar, (?:med )?(?:venlig|vennlig) hilsen, hilsen, mvh, terveisin, ystävällisin terveisin, с
    уважением, з повагою, с уважение, s pozdrav(?:em|om), děkuji, ďakujem, hvala, lep pozdrav, (?:srdačan |lijep
    )?pozdrav, üdvözlettel, saygılarımla, teşekkürler, με εκτίμηση, cu stimă, mulțumesc, lugupidamisega, ar cieņu,
    pagarbiai, trân trọng, hormat saya, salam
    """
)
"""Closing formulas above the name; patterns."""
