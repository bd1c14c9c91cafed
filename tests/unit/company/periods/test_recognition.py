"""The closed set of periods, and what a text says about them."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_agent.company.periods.recognition import (
    has_inexpressible_period,
    have_moved,
    mentioned_periods,
    periods,
)

TODAY = date(2025, 11, 21)
RELATIVE_NAMES = ("this_month", "last_month", "this_quarter", "last_quarter", "this_year", "last_year", "all_time")
DAYS = st.dates(date(2000, 1, 1), date(2090, 12, 31))


@given(DAYS, st.integers(0, 10))
def test_months_and_years_cover_every_day_once(today: date, years_back: int) -> None:
    """From January of the first year to the end of this month, each day is in one month and one year."""
    known = [p for p in periods(today, years_back) if p.name not in RELATIVE_NAMES]
    for length in (4, 7):
        ranges = sorted((p.first, p.last) for p in known if len(p.name) == length)
        assert ranges[0][0] == date(today.year - years_back, 1, 1)
        assert ranges[-1][0] <= today <= ranges[-1][1]
        for (_, last), (first, _) in pairwise(ranges):
            assert first == last + timedelta(days=1)


@given(DAYS)
def test_relative_periods_stand_side_by_side(today: date) -> None:
    """`last_*` ends the day before `this_*` begins, `this_*` holds today, and all lie within `all_time`."""
    by_name = {p.name: p for p in periods(today)}
    assert len(by_name) == len(periods(today)), "names are unique"
    for unit in ("month", "quarter", "year"):
        this, last = by_name[f"this_{unit}"], by_name[f"last_{unit}"]
        assert this.first <= today <= this.last
        assert last.last == this.first - timedelta(days=1)
        assert last.first.day == 1
    everything = by_name["all_time"]
    assert all(everything.first <= p.first <= p.last <= everything.last for p in by_name.values())
    assert by_name[f"{today:%Y-%m}"].first == by_name["this_month"].first


@pytest.mark.parametrize(
    ("name", "today", "first", "last"),
    [
        ("last_month", date(2025, 1, 1), date(2024, 12, 1), date(2024, 12, 31)),
        ("last_month", date(2024, 3, 31), date(2024, 2, 1), date(2024, 2, 29)),
        ("last_quarter", date(2025, 2, 10), date(2024, 10, 1), date(2024, 12, 31)),
        ("this_quarter", date(2025, 12, 31), date(2025, 10, 1), date(2025, 12, 31)),
        ("last_year", date(2025, 1, 1), date(2024, 1, 1), date(2024, 12, 31)),
        ("2023-02", TODAY, date(2023, 2, 1), date(2023, 2, 28)),
    ],
)
def test_a_named_period_is_its_calendar_range(name: str, today: date, first: date, last: date) -> None:
    """January's last month is December of the year before."""
    (period,) = (period for period in periods(today) if period.name == name)
    assert (period.name, period.first, period.last) == (name, first, last)


@pytest.mark.parametrize("name", ["2025-12", "2021", "2026", "yesterday", ""])
def test_a_period_outside_the_set_is_not_offered(name: str) -> None:
    """A month to come has no rows, and an old one cannot be chosen."""
    assert name not in {period.name for period in periods(TODAY)}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("How much did I pay last year?", "last_year"),
        ("Wie viel habe ich letztes Jahr bezahlt?", "last_year"),
        ("¿Cuánto pagué el año pasado?", "last_year"),
        ("my bills of this month so far", "this_month"),
        ("Was kostet es diesen Monat?", "this_month"),
        ("mes pasado, por favor", "last_month"),
        ("in the last quarter", "last_quarter"),
        ("dieses Quartal", "this_quarter"),
        ("What did I pay in 2024?", "2024"),
        ("payments March 2025", "2025-03"),
        ("im März 2025", "2025-03"),
        ("en marzo de 2025", "2025-03"),
        ("Invoice for Nov. 2025", "2025-11"),
        ("invoice 2025-03, please", "2025-03"),
        ("03/2025", "2025-03"),
        ("in March", "2025-03"),
        ("in December", "2024-12"),
        ("in November", "2025-11"),
        ("my March invoice", "2025-03"),
        ("in May", "2025-05"),
        ("in may and june", "2025-05 2025-06"),
        ("In May I paid twice", "2025-05"),
        ("payments in April and May?", "2025-04 2025-05"),
        ("im März letzten Jahres", "2024-03"),
        ("March and April 2024", "2024-03 2024-04"),
        ("in January, February and March", "2025-01 2025-02 2025-03"),
        ("2024 compared with 2023", "2024 2023"),
        ("this year and last year", "this_year last_year"),
        ("vorletztes Jahr", "2023"),
        ("Q3 please", "last_quarter"),
        ("the fourth quarter of 2025", "this_quarter"),
        ("2. Quartal 2025", ""),
        ("all time", "all_time"),
        ("since I signed up", "all_time"),
        ("seit Beginn", "all_time"),
        ("the most I have ever used in one month", "all_time"),
        ("Have I ever paid twice?", "all_time"),
        ("year to date", "this_year"),
        ("dieses und letztes Jahr", "this_year last_year"),
        ("this and last month", "this_month last_month"),
        ("did I pay more this year than last?", "this_year last_year"),
        ("este y el año pasado", "this_year last_year"),
        ("este año y el pasado", "this_year last_year"),
        ("in Jan", "2025-01"),
        ("im Okt. bitte", "2025-10"),
        ("en dic", "2024-12"),
        ("my bill for Feb", "2025-02"),
        ("in Jan and Feb", "2025-01 2025-02"),
        ("Jan/Feb 2024", "2024-01 2024-02"),
        # no period at all
        ("Thanks, April", ""),
        ("May I march on with 2000 files on Windows Server 2022?", ""),
        ("Those who sign in may ask, and this may take long; the app, may I add, may fail", ""),
        ("Die App stürzt die ganze Zeit ab", ""),
        ("invoice HF-2025-003", ""),
        ("it costs EUR 2024", ""),
        ("How many seats do we have?", ""),
    ],
)
def test_a_period_is_read_only_where_it_is_said(text: str, names: str) -> None:
    """Explicit words alone count, in three languages; nothing is guessed from the rest."""
    assert " ".join(mentioned_periods(text, TODAY)) == names


@pytest.mark.parametrize(
    "text",
    [
        "the last 90 days",
        "past three months",
        "over the last year",
        "in den letzten 6 Monaten",
        "en los últimos 30 días",
        "since May",
        "seit Mai 2025",
        "seit Anfang März",
        "desde mayo",
        "from March to June",
        "zwischen Januar und März",
        "de enero a marzo",
        "2023-2024",
        "before 2024",
        "last week",
        "letzte Woche",
        "on 12 March 2025",
        "am 3. März",
        "2025-03-12",
        "05.03.2025",
        "end of 2024",
        "Anfang 2025",
        "first half of 2025",
        "next month",
        "3 months ago",
        "same month last year",
        "How many calls did I make today?",
    ],
)
def test_a_range_that_the_set_lacks_is_reported_and_not_rounded(text: str) -> None:
    """ "Since May" is not May: answering for May would be a true number to another question."""
    assert has_inexpressible_period(text)
    assert has_inexpressible_period(text, TODAY)
    assert not {name for name in mentioned_periods(text, TODAY) if "-" in name}


@pytest.mark.parametrize("text", ["in 2019", "Q1 2025", "in December 2026", "2. Quartal 2025"])
def test_a_whole_period_outside_the_set_is_reported_where_the_day_is_known(text: str) -> None:
    """Which years and quarters are in the set depends on today."""
    assert mentioned_periods(text, TODAY) == ()
    assert has_inexpressible_period(text, TODAY)
    assert not has_inexpressible_period(text)


@pytest.mark.parametrize(
    "text",
    """
    payments of all time except in 2024 / every month but March 2025 / total for 2025 excluding March / without 2024
    not in 2024 / 2025, March excluded / all time apart from last year / everything except Q1
    alle Zahlungen außer 2024 / ohne März / nicht im Jahr 2024 / alles bis auf Mai 2025 / 2025, März ausgenommen
    todo excepto en 2024 / sin marzo / no en 2024 / todos los meses menos marzo de 2025 / salvo el año pasado
    the second half of 2025 / 2nd half of last year / H1 2025 / erstes Halbjahr 2025 / die zweite Hälfte 2025
    el primer semestre / la segunda mitad de 2025 / the rest of 2025 / FY25 / fiscal year 2025 / Geschäftsjahr 2025
    the first three months of 2025 / last 3 months of 2024 / die ersten drei Monate 2025
    los tres primeros meses de 2025 / los primeros tres meses / en 3 meses / my total over 6 months
    week 12 of 2025 / KW 12 / Woche 12 / semana 12 / 2025-W12 / this week / diese Woche / la semana pasada
    year ending March 2025 / the 12 months to March 2025 / el año terminado en marzo / año fiscal 2025
    around Christmas 2024 / over Easter / in summer 2025 / Black Friday / im Sommer 2025 / an Weihnachten
    en verano / en Navidad / Semana Santa / the quarter before last / vorletztes Quartal / el penúltimo trimestre
    the first year / my first month / the month I joined / the year we started / im ersten Jahr / mein erster Monat
    der Monat, in dem ich angefangen habe / el primer año / el mes en que me registré / when I joined
    yesterday / today / on Monday / the 3rd of March / on the 3rd / third of March / gestern / am Montag / am 3. März
    ayer / hoy / el lunes / el 3 de marzo / in 2025 on Mondays / back then / at that time / damals / entonces
    en aquel entonces / Q1 25 / Q1-Q3 / since Q1 / from 2024 on / 2024 and later / last year and the year before
    in '24 / before the summer / seit dem Wochenende / antes del verano / between two months / since the third month
    """.strip()
    .replace("\n    ", " / ")
    .split(" / "),
)
def test_a_time_that_no_period_equals_goes_to_a_person(text: str) -> None:
    """Left out, halved, counted or remembered time would otherwise be answered as the period beside it."""
    assert has_inexpressible_period(text, TODAY)


@pytest.mark.parametrize("text", ["2024/2025", "2024/25", "2024-2025", "2024\u201325", "payments 2023 / 2024"])
def test_two_years_with_a_stroke_are_a_span(text: str) -> None:
    """ "2024/25" is a business year or both years: which one is not guessed."""
    assert has_inexpressible_period(text, TODAY)
    assert mentioned_periods(text, TODAY) == ()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("average per month last year", "last_year"),
        ("list my payments month by month this year", "this_year"),
        ("how much do I pay a year?", ""),
        ("monthly total for 2025", "2025"),
        ("what do I pay each month?", ""),
        ("every month in 2025, please", "2025"),
        ("I have been with you for a year now. What did I pay in 2024?", "2024"),
        ("Is there a 30-day refund?", ""),
        ("I have a 12 month contract. What did I pay last year?", "last_year"),
        ("Please answer within 24 hours: what did I pay last month?", "last_month"),
        ("What is the most I used in one day this year?", "this_year"),
        ("the month with the highest payment in 2025", "2025"),
        ("the month in which we used most in 2024", "2024"),
        ("Last year we switched plans. What did we pay last year?", "last_year"),
        ("What did I pay last year without VAT?", "last_year"),
        ("Which months did I not pay in 2025?", "2025"),
        ("Happy New Year! What did I pay last year?", "last_year"),
        ("On Saturday night I do my taxes. What did I pay last year?", "last_year"),
        ("Durchschnitt pro Monat im letzten Jahr", "last_year"),
        ("Zahlungen 2025 nach Monat", "2025"),
        ("Was zahle ich jeden Monat?", ""),
        ("¿Cuánto pago al mes?", ""),
        ("Guten Morgen, was zahle ich pro Jahr?", ""),
        ("What have we paid since the day we became a customer?", "all_time"),
        ("total mensual de 2025", "2025"),
        ("media por mes del año pasado", "last_year"),
        ("My payments 2025 minus 2024", "2025 2024"),
        ("my 3 biggest payments in 2025", "2025"),
    ],
)
def test_everyday_words_about_time_are_no_period(text: str, names: str) -> None:
    """ "Per month" is a form of the answer and "a 12 month contract" a thing: neither sends it to a person."""
    assert not has_inexpressible_period(text, TODAY)
    assert " ".join(mentioned_periods(text, TODAY)) == names


def test_a_day_word_beside_a_period_is_no_period() -> None:
    """ "I tried yesterday" is about something else when the question names a year."""
    assert not has_inexpressible_period("I tried it yesterday. What did I pay last year?", TODAY)


@given(DAYS, st.text(max_size=60))
def test_any_text_gives_members_of_the_set_only(today: date, text: str) -> None:
    """Whatever a mail says, what comes back can be asked for."""
    assert set(mentioned_periods(text, today)) <= {period.name for period in periods(today)}
    has_inexpressible_period(text, today)


@given(DAYS, st.data())
def test_every_year_and_month_of_the_set_is_understood(today: date, data: st.DataObject) -> None:
    """What the set can express, a text can ask for by its name."""
    period = data.draw(st.sampled_from([p for p in periods(today) if p.name not in RELATIVE_NAMES]))
    assert mentioned_periods(f"What did I pay in {period.name}?", today) == (period.name,)


def test_one_period_by_two_names_is_one() -> None:
    """ "2026" in the subject and "this year" in the text are not two periods to compare."""
    assert mentioned_periods("Costs 2026. What did we pay this year?", date(2026, 11, 21)) == ("2026",)


@pytest.mark.parametrize(
    ("text", "has_moved"),
    [
        ("What did I pay this month?", True),
        ("Was habe ich letzten Monat bezahlt?", True),
        ("What did I pay in December?", True),
        ("What did I pay in the first quarter?", True),
        ("What did I pay this year?", True),
        ("What did I pay in 2025?", False),
        ("What did I pay in November?", False),
        ("What did I pay in total, all time?", False),
        ("Can I get a refund?", False),
    ],
)
def test_a_period_that_begins_on_another_day_than_before_has_moved(text: str, has_moved: bool) -> None:
    """Written on the last day of November, read on the first of January."""
    assert have_moved(text, date(2025, 11, 30), date(2026, 1, 1)) is has_moved
    assert not have_moved(text, date(2025, 11, 30), date(2025, 11, 30))
    assert not have_moved(text, date(2025, 11, 1), date(2025, 11, 30))
