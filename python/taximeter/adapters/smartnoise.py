"""SmartNoise SQL: a private reader that charges an account before it answers.

Tested with SmartNoise SQL 1.0.10. Every noisy column of the rewritten query is charged with its ε and δ, at their exact binary values.

>>> import pandas as pd, snsql, taximeter as tx
>>> table = {"row_privacy": True, "rows": 4, "censor_dims": False, "age": {"type": "int", "lower": 0, "upper": 120}}
>>> people = pd.DataFrame({"age": [34, 51, 28, 60]})
>>> reader = snsql.from_connection(people, metadata={"": {"": {"people": table}}}, privacy=snsql.Privacy(epsilon=0.25))
>>> account = tx.Ledger(folder / "budgets.db", create=True).create("people", "1,1e-6", mechanism_delta="1e-9")
>>> ask = charged(reader, account)
>>> columns, row = ask("SELECT COUNT(*) AS n, SUM(age) AS total FROM people", key="report-17")
>>> columns, account.left.epsilon
(['n', 'total'], Decimal('0.5'))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from taximeter._native import Cost
from taximeter.adapters import binary
from taximeter.costs import approximate, pure
from taximeter.errors import bad_input
from taximeter.ledger import Account


def costs(reader: Any, query: str) -> list[Cost]:
    """The cost of every noisy column of a query, as the reader would run it."""
    parsed = reader.parse_query_string(query)
    if parsed.use_dpsu:
        raise bad_input("query", "the reader would choose groups by dpsu, whose epsilon of 1 it does not count; set use_dpsu to False")
    # The reader takes these from the query when it runs it, but not when it only tells the cost.
    for option, of_query in {"row_privacy": "row_privacy", "censor_dims": "censor_dims", "reservoir_sample": "sample_max_ids"}.items():
        setattr(reader._options, option, getattr(parsed, of_query))
    spends = [(binary("epsilon", spend[0]), binary("delta", spend[1])) for spend in reader._get_mechanism_costs(query) if spend]
    return [approximate(epsilon, delta) if delta else pure(epsilon) for epsilon, delta in spends]


def charged(reader: Any, account: Account, *, by: str | None = None, note: str | None = None) -> Callable[..., Any]:
    """The reader as a function of a query that charges the account before it answers with rows, the first of them the names.

    A `key` makes a query that was charged before raise Replayed instead of releasing new noise for an old charge.
    """

    def ask(query: str, *, key: str | None = None) -> Any:
        with account.charge(costs(reader, query), key=key, by=by, note=note):
            return reader.execute(query)

    return ask
