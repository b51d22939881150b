"""Fields that the settings of several experiments share."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PositiveInt

from attention_scaling.divisors import DIVISORS


def unique(values: list) -> list:
    """A list without repetitions, as a validator: what names cells twice would count their samples twice."""
    if len(set(values)) != len(values):
        raise ValueError("a value stands twice")
    return values


def _whole(value: Any) -> Any:
    """YAML reads 1e6 as text and 1.0e+6 as a float; both mean the same count."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return value
    return int(value) if isinstance(value, float) and value.is_integer() else value


# Beyond these a slip of the finger would fill the memory before anything is drawn.
SampleSize = Annotated[PositiveInt, Field(le=10**12), BeforeValidator(_whole)]

Size = Annotated[PositiveInt, Field(le=2**32)]

Widths = Annotated[
    list[Size],
    Field(min_length=1, description="Widths d_k of query and key."),
    AfterValidator(unique),
]

KeyCounts = Annotated[
    list[Size],
    Field(min_length=1, description="Numbers of keys in a row."),
    AfterValidator(unique),
]

Correlations = Annotated[
    list[Annotated[float, Field(ge=-1, le=1)]],
    Field(min_length=1, description="Correlations rho between a key's entries and its query's."),
    AfterValidator(unique),
]

Divisors = Annotated[
    list[Literal[DIVISORS]],
    Field(min_length=1, description="What scores are divided by: nothing, sqrt(d_k), d_k."),
    AfterValidator(unique),
]

Dtypes = Annotated[
    list[Literal["float64", "float32", "bfloat16", "float16"]],
    Field(min_length=1, description="Dtypes of the scores' and the softmax's arithmetic."),
    AfterValidator(unique),
]

TargetError = Annotated[
    float | None,
    Field(
        gt=0,
        description="Standard error to reach, with at most `samples` rows; default: draw them all.",
    ),
]
