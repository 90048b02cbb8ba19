"""Tables that a policy is drafted from."""

from __future__ import annotations

import datetime as dt
import decimal
import random
import re

import pyarrow as pa


def german(rows: int = 600) -> str:
    """A hospital's file: semicolons, decimal commas, umlauts, two rows a patient."""
    rng = random.Random(3)
    lines = ["Patienten-Nr;Nachname;PLZ;Geburtsdatum;Geschlecht;Jahreseinkommen;Größe;Diagnose"]
    for row in range(rows):
        if row % 2 == 0:
            born = dt.date(1930, 1, 1) + dt.timedelta(days=rng.randint(0, 27_000))
            name = rng.choice(["Müller", "Weiß", "Öztürk", "Meier"])
            place, sex = rng.choice(["01067", "10115", "20095", "80331"]), rng.choice("wmd")
        income = f"{rng.randint(1, 99)}.{rng.randint(0, 999):03d},{rng.randint(0, 99):02d}"
        lines.append(
            f"{1000 + row // 2};{name};{place};{born};{sex};"
            f"{income};{rng.randint(150, 199) / 100:.2f};".replace(".", ",", 0)
            + rng.choice(["Grippe", "Asthma", "Krebs", "Diabetes"])
        )
    # Only the height is left to write with a comma.
    return "\n".join(re.sub(r";1\.(\d\d);", r";1,\1;", line) for line in lines) + "\n"


def lists_and_dates(rows: int = 500) -> pa.Table:
    rng = random.Random(4)
    day = dt.date(2020, 1, 1)
    return pa.table(
        {
            "born": [dt.date(1940, 1, 1) + dt.timedelta(days=rng.randint(0, 25_000))
                     for _ in range(rows)],
            "admitted": [dt.datetime(2020, 1, 1, 8) + dt.timedelta(hours=rng.randint(0, 9000))
                         for _ in range(rows)],
            "diagnoses": [rng.sample(["flu", "cold", "hiv", "asthma"], rng.randint(0, 3))
                          for _ in range(rows)],
            "visits": [[day + dt.timedelta(days=rng.randint(0, 300))] for _ in range(rows)],
            "sex": [rng.choice("MF") for _ in range(rows)],
            "smoker": [rng.choice([True, False, None]) for _ in range(rows)],
            "paid": [decimal.Decimal(rng.randint(0, 10_000)) / 100 for _ in range(rows)],
            "where": [{"lat": rng.random()} for _ in range(rows)],
        }
    )  # fmt: skip


def two_hundred(rows: int = 800) -> pa.Table:
    rng = random.Random(5)
    columns: dict[str, list[object]] = {
        "respondent_id": [f"R{row:05d}" for row in range(rows)],
        "age": [rng.randint(18, 92) for _ in range(rows)],
        "region": [rng.choice(["north", "south", "east", "west"]) for _ in range(rows)],
        "voted for": [rng.choice(["red", "blue", "green", "none"]) for _ in range(rows)],
        "survey_wgt": [round(rng.uniform(0.5, 3), 3) for _ in range(rows)],
    }
    for place in range(195):
        columns[f"q{place:03d}"] = [rng.randint(1, 5) for _ in range(rows)]
    return pa.table(columns)
