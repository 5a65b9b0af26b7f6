"""Taximeter: privacy filters and odometers, a durable ledger, and a gate to the data.

>>> import taximeter as tx
>>> f = tx.Filter("1,1e-6")
>>> f.charge(tx.pure("0.05"))
>>> f.left.epsilon
Decimal('0.95')
"""

from taximeter import lab
from taximeter._native import Cost
from taximeter.costs import (
    approximate,
    discrete_gaussian,
    discrete_laplace,
    exponential,
    gaussian,
    laplace,
    pure,
    randomized_response,
    sampled_gaussian,
    zcdp,
)
from taximeter.documents import Balance, Quote, Reading, Receipt, StudyPlan, Verification
from taximeter.errors import (
    BadInput,
    Busy,
    ChargedNoAnswer,
    Error,
    Integrity,
    KeyTaken,
    NotAllowed,
    NotFound,
    Refused,
    Replayed,
    Stopped,
    Storage,
    UnknownOutcome,
)
from taximeter.gate import Answer, Gate
from taximeter.ledger import Account, Ledger, connect
from taximeter.meters import Filter, Odometer
from taximeter.planning import compare, plan

__all__ = [
    "Account",
    "Answer",
    "BadInput",
    "Balance",
    "Busy",
    "ChargedNoAnswer",
    "Cost",
    "Error",
    "Filter",
    "Gate",
    "Integrity",
    "KeyTaken",
    "Ledger",
    "NotAllowed",
    "NotFound",
    "Odometer",
    "Quote",
    "Reading",
    "Receipt",
    "Refused",
    "Replayed",
    "Stopped",
    "Storage",
    "StudyPlan",
    "UnknownOutcome",
    "Verification",
    "approximate",
    "compare",
    "connect",
    "discrete_gaussian",
    "discrete_laplace",
    "exponential",
    "gaussian",
    "lab",
    "laplace",
    "plan",
    "pure",
    "randomized_response",
    "sampled_gaussian",
    "zcdp",
]
