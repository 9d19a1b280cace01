#!/usr/bin/env python3
"""Writes crates/core/src/usage/prices.json from the package genai-prices (MIT): pip install genai-prices==0.2.3

    prices.py DAY      DAY is that of the package's prices, such as 2026-11-25

Only the prices of the companies' own interfaces are kept: those of resellers differ. Prices of batches are left out, as
agents send none.
"""
import datetime
import importlib.metadata
import json
import pathlib
import re
import sys

from genai_prices.data import providers
from genai_prices.types import StartDateConstraint, TieredPrices

COMPANIES = ["anthropic", "openai", "google", "x-ai", "mistral", "deepseek", "moonshotai", "zai", "minimax"]
KINDS = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cacheRead": "cache_read_mtok",
    "cacheWrite": "cache_write_mtok",
    "cacheWrite1h": "cache_write_1h_mtok",
    "search": "web_searches_kcount",
}


def patterns(match):
    """The ids that a rule accepts: whole, or their beginnings with an asterisk."""
    kind = type(match).__name__
    if kind == "ClauseOr":
        return [pattern for one in match.or_ for pattern in patterns(one)]
    if kind == "ClauseAnd":
        return patterns(match.and_[0])
    if kind == "ClauseEquals":
        return [match.equals]
    if kind == "ClauseEndsWith":
        return [match.ends_with]
    if kind == "ClauseStartsWith":
        return [match.starts_with + "*"]
    if kind == "ClauseContains":
        return [match.contains + "*"]
    # Ids with a date, such as ^claude-opus-5[-@]\d{8}$, and with a number, such as ^gemini-4-argon-\d.
    literal = re.match(r"\^((?:[\w-]|\\\.)+?)(\[-@\])?(\\d.*)$", match.regex)
    if not literal:
        return []
    start = literal[1].replace("\\.", ".")
    digits = "20" if "{" in literal[3] else "0"
    return [start + separator + digits + "*" for separator in ("-@" if literal[2] else [""])]


def plain(price):
    return format(price.normalize(), "f")


def row(prices):
    """The members of a row, and those of the prices above a number of tokens."""
    base, over, above = {}, {}, None
    for kind, name in KINDS.items():
        price = getattr(prices, name, None)
        if price is None:
            continue
        if isinstance(price, TieredPrices):
            base[kind] = plain(price.base)
            # The first step counts: agents that reach a second are not known.
            if price.tiers:
                above = price.tiers[0].start
                over[kind] = plain(price.tiers[0].price)
        else:
            base[kind] = plain(price)
    return base | ({"above": above, "over": over} if above else {})


def rows(company, model):
    listed = model.prices if isinstance(model.prices, list) else [None]
    for conditional in listed:
        prices, constraint = (model.prices, None) if conditional is None else (conditional.prices, conditional.constraint)
        if constraint is not None and not isinstance(constraint, StartDateConstraint):
            continue
        one = row(prices)
        if "input" not in one or "output" not in one:
            continue
        if constraint is not None:
            one = {"from": constraint.start_date.isoformat(), **one}
        for variant in model.price_variants or []:
            if variant.when in ({"speed": "fast"}, {"service_tier": "fast"}):
                fast = {kind: price for kind, price in row(variant.prices).items() if kind in KINDS}
                one["fast"] = fast
        for pattern in patterns(model.match):
            yield {"provider": company, "match": pattern, **one}


def main():
    as_of = datetime.date.fromisoformat(sys.argv[1]).isoformat()
    found = {}
    for provider in providers:
        if provider.id in COMPANIES:
            for model in provider.models:
                for one in rows(provider.id, model):
                    found.setdefault((one["provider"], one["match"], one.get("from", "")), one)
    version = importlib.metadata.version("genai-prices")
    head = {"source": f"genai-prices {version}, MIT, Pydantic Services Inc.", "asOf": as_of}
    lines = [json.dumps(found[key], separators=(",", ":")) for key in sorted(found)]
    text = json.dumps(head)[:-1] + ', "models": [\n' + ",\n".join(lines) + "\n]}\n"
    target = pathlib.Path(__file__).parent.parent / "crates/core/src/usage/prices.json"
    target.write_text(text)
    print(f"{len(lines)} prices, {len(text)} bytes: {target.name}")


if __name__ == "__main__":
    main()
