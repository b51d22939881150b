"""What a ledger file holds: claims, tables of claims, and the numerals that claim nothing.

The models refuse unknown keys and give the JSON Schema of a ledger file
(`Lesson.model_json_schema()`). Everything in them is data: a query names columns and values.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    ValidationError,
    WithJsonSchema,
    model_validator,
)

from attention_scaling.ledger.printed import Printed
from attention_scaling.validation import StrictModel

Kind = Literal["exact", "replayed", "sampled", "trend", "trained", "measured", "cited"]
"""How a claim is judged.

exact: an identity or a closed form, equal to the dtype's rounding or at the printed decimals;
replayed: the lesson's seed and drawing order, equal at the printed decimals;
sampled: drawn with an unknown seed, judged against sampling error;
trend: a slope, a ratio or an order that must hold beyond its error;
trained: an outcome of training; measured: time or memory; cited: literature, not measured here.
"""

Compare = Literal[
    "equals", "within_error", "at_least", "at_most", "less_than", "more_than", "between"
]

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Line = Annotated[int, Field(ge=1)]

LAST_LINE = 1_000_000
"""No text is longer: a slip of the finger in a range of lines must not fill the memory."""


def _fraction(value: Any) -> Any:
    """A number written as a quotient of two integers, such as "1/6", as a float."""
    if isinstance(value, str) and "/" in value:
        try:
            return float(Fraction(value))
        except (ValueError, ArithmeticError):
            return value
    return value


Number = Annotated[
    float,
    BeforeValidator(_fraction),
    WithJsonSchema({"type": ["number", "string"], "pattern": r"^-?\d+/\d+$"}),
]


def _quoted(value: Any) -> Any:
    """Refuse a printed number that YAML has already read as a number."""
    if isinstance(value, int | float):
        raise ValueError('must be quoted, such as "0.40": YAML drops the last zeros of a number')
    return value


PrintedText = Annotated[Text, BeforeValidator(_quoted)]


def _line_numbers(value: Any) -> Any:
    """[5, "7-9"] or "7-9" or 5 as a list of line numbers."""
    lines: list[Any] = []
    for part in value if isinstance(value, list) else [value]:
        first, dash, last = str(part).partition("-")
        if dash and first.strip().isdecimal() and last.strip().isdecimal():
            if int(last) < int(first):
                raise ValueError(f"the range {part!r} ends before it begins")
            if int(last) > LAST_LINE:
                raise ValueError(f"the range {part!r} goes beyond line {LAST_LINE}")
            lines += range(int(first), int(last) + 1)
        else:
            lines.append(part)
    return lines


LineNumbers = Annotated[
    list[Line],
    BeforeValidator(_line_numbers),
    WithJsonSchema(
        {"type": ["integer", "string", "array"], "items": {"type": ["integer", "string"]}}
    ),
]


class Where(StrictModel):
    """Which rows of the measurement table: each key given must equal its column; null asks for null."""

    backend: str | None = None
    device: str | None = None
    dtype: str | None = None
    method: str | None = None
    d_k: int | None = None
    n_keys: int | None = None
    rho: float | None = None
    divisor: Literal["none", "root", "width"] | None = None
    distribution: str | None = None
    step: int | None = None
    cell: str | None = None
    variant: str | None = None

    def conditions(self) -> dict[str, Any]:
        """The columns that the entry names, with the values they must have."""
        named = self.model_fields_set
        return {name: getattr(self, name) for name in type(self).model_fields if name in named}

    def words(self) -> str:
        """The conditions for a sentence: d_k = 8, divisor = root."""
        return ", ".join(f"{name} = {value}" for name, value in self.conditions().items())

    def override(self, other: Where) -> Where:
        """These conditions, with those that `other` names in place of their own."""
        return Where(**(self.conditions() | other.conditions()))


class Query(StrictModel):
    """One quantity of one experiment in one cell."""

    experiment: Name
    quantity: Name
    where: Where = Where()


class PartialQuery(StrictModel):
    """A query that leaves out what it shares with another one."""

    experiment: Name | None = None
    quantity: Name | None = None
    where: Where = Where()

    def filled(self, base: Query) -> Query:
        """The whole query: what is left out is taken from `base`."""
        return Query(
            experiment=self.experiment or base.experiment,
            quantity=self.quantity or base.quantity,
            where=base.where.override(self.where),
        )


class _Common(StrictModel):
    """What a claim and a table of claims share."""

    id: Name
    line: Line = Field(description="line of the lesson's file where the claim stands")
    also: list[Line] = Field([], description="further lines that say the same")
    says: Text = Field(description="the claim in our own words")
    kind: Kind
    compare: Compare | None = Field(
        None, description="default: equals; within_error for the kinds sampled and trend"
    )
    numerals: list[PrintedText] | None = Field(
        None, description="numerals of the text that the claim accounts for; default: `printed`"
    )
    figure: Name | None = None
    page: Name | None = None
    note: Text | None = Field(None, description="what a reader should know beside the verdict")
    skipped: Text | None = Field(None, description="why the claim is not measured")


class _Judged(_Common):
    """What is claimed of a value, and which value it is."""

    printed: PrintedText | None = Field(
        None, description="the number as printed; half a unit in its last place is the tolerance"
    )
    rounded_to: PrintedText | None = Field(
        None, description="unit of the last digit that counts, where it is not the last one printed"
    )
    value: Number | None = Field(None, description="the number, where the text does not print it")
    range: tuple[Number, Number] | None = Field(None, description="for compare: between")
    measure: Query | None = None
    ratio_to: PartialQuery | None = Field(
        None, description="judge the quotient of `measure` and this cell"
    )
    single_run: bool = Field(
        False,
        description="judge against the distribution of one run of the lesson's own design: the rows"
        ' beside the measured one whose variant reads "rows=N qP"',
    )
    roundings: int = Field(
        64, ge=1, description="exact values may be off by this many roundings of their dtype"
    )
    differs: Text | None = Field(
        None, description="a difference that is known, and its explanation"
    )
    cited: Text | None = Field(None, description="the source, for the kind cited")


class Claim(_Judged):
    """One claim, about one value."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.rounded_to and not self.printed:
            raise ValueError("rounded_to goes with printed")
        if self.printed is not None:
            Printed.parse(self.printed, self.rounded_to)
        if (self.cited is not None) != (self.kind == "cited"):
            raise ValueError("cited (the source) and kind: cited go together")
        if self.kind == "cited" or self.skipped:
            return self
        if self.measure is None:
            raise ValueError("needs measure, or skipped with the reason why there is none")
        given = [name for name in ("printed", "value", "range") if getattr(self, name) is not None]
        wanted = ["range"] if self.compare == "between" else ["printed", "value"]
        if len(given) != 1 or given[0] not in wanted:
            raise ValueError(f"needs exactly one of {' and '.join(wanted)}, has {given or 'none'}")
        if self.range and self.range[0] > self.range[1]:
            raise ValueError(f"range: {list(self.range)} ends before it begins")
        if self.single_run and (self.kind != "sampled" or self.compare == "between"):
            raise ValueError("single_run goes with kind: sampled and not with compare: between")
        return self

    @property
    def comparison(self) -> Compare:
        """`compare`, or the default of the kind."""
        return self.compare or ("within_error" if self.kind in ("sampled", "trend") else "equals")

    @property
    def claimed(self) -> float | None:
        """The claimed number, where the claim is one number."""
        return Printed.parse(self.printed, self.rounded_to).value if self.printed else self.value

    @property
    def queries(self) -> list[Query]:
        """The queries that the judge makes; none for what is skipped or cited."""
        if self.measure is None or self.skipped:
            return []
        return [self.measure, *([self.ratio_to.filled(self.measure)] if self.ratio_to else [])]

    @property
    def accounted(self) -> list[str]:
        """The numerals of the text that this claim accounts for."""
        if self.numerals is not None:
            return self.numerals
        return [self.printed] if self.printed else []


class Cell(StrictModel):
    """One of the cells that a claim speaks of, with what it says of this one alone."""

    name: Name
    where: Where
    printed: PrintedText | None = None
    value: Number | None = None
    range: tuple[Number, Number] | None = None
    numerals: list[PrintedText] | None = None
    differs: Text | None = None
    note: Text | None = None


class ClaimSeries(_Judged):
    """The same claim about several cells: one claim for each, called ID-CELL."""

    measure: Query
    cells: list[Cell] = Field(min_length=1)

    @model_validator(mode="after")
    def _expands(self) -> Self:
        for cell in self.cells:
            try:
                self._claim(cell)
            except ValidationError as error:
                problem = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
                raise ValueError(f"cell {cell.name}: {problem}") from None
        return self

    @property
    def claims(self) -> list[Claim]:
        """One claim a cell."""
        return [self._claim(cell) for cell in self.cells]

    @property
    def accounted(self) -> list[str]:
        """The numerals of the text that these claims account for."""
        return list(dict.fromkeys(text for claim in self.claims for text in claim.accounted))

    def _claim(self, cell: Cell) -> Claim:
        shared = {name: getattr(self, name) for name in _Judged.model_fields}
        own = cell.model_dump(exclude={"name", "where"}, exclude_none=True)
        where = self.measure.where.override(cell.where)
        return Claim(
            **shared
            | own
            | {
                "id": f"{self.id}-{cell.name}",
                "says": f"{self.says} ({cell.where.words()})",
                "measure": self.measure.model_copy(update={"where": where}),
            }
        )


class Column(StrictModel):
    """A column of a printed table."""

    name: Name
    says: Text
    quantity: Name
    where: Where = Where()
    rounded_to: PrintedText | None = None


class Row(StrictModel):
    """A row of a printed table: its cell and what is printed in each column."""

    name: Name
    where: Where
    printed: list[PrintedText]


class Printout(StrictModel):
    """A table as a lesson's code prints it."""

    experiment: Name
    where: Where = Where()
    columns: list[Column] = Field(min_length=1)
    rows: list[Row] = Field(min_length=1)

    @model_validator(mode="after")
    def _rectangular(self) -> Self:
        for row in self.rows:
            if len(row.printed) != len(self.columns):
                raise ValueError(
                    f"row {row.name} prints {len(row.printed)} numbers for {len(self.columns)} columns"
                )
            for column, text in zip(self.columns, row.printed, strict=True):
                Printed.parse(text, column.rounded_to)
        return self


class ClaimTable(_Common):
    """Every cell of a printed table as a claim of its own, called ID-COLUMN-ROW."""

    table: Printout

    @property
    def accounted(self) -> list[str]:
        """The numerals of the text that the table accounts for: what code prints is not in it."""
        return self.numerals or []

    @property
    def claims(self) -> list[Claim]:
        """One claim a cell, row by row."""
        shared = {name: getattr(self, name) for name in _Common.model_fields}
        return [
            Claim(
                **shared
                | {
                    "id": f"{self.id}-{column.name}-{row.name}",
                    "says": f"{self.says}: {column.says}, {row.name}",
                    "numerals": [],
                    "printed": printed,
                    "rounded_to": column.rounded_to,
                    "measure": Query(
                        experiment=self.table.experiment,
                        quantity=column.quantity,
                        where=self.table.where.override(column.where).override(row.where),
                    ),
                }
            )
            for row in self.table.rows
            for column, printed in zip(self.table.columns, row.printed, strict=True)
        ]


class NoClaim(StrictModel):
    """Numerals that claim nothing, and why."""

    lines: LineNumbers = Field(
        min_length=1, description='a line, a range such as "94-106", or a list of both'
    )
    numerals: list[PrintedText] | None = Field(
        None, description="default: every numeral of these lines"
    )
    why: Text


class Coverage(StrictModel):
    """How many numerals the lesson's text has, as last counted."""

    numerals: int = Field(ge=0)
    claimed: int = Field(ge=0)
    no_claim: int = Field(ge=0)


def _form(value: Any) -> str:
    for key, model, form in (
        ("table", ClaimTable, "a table of claims"),
        ("cells", ClaimSeries, "a series of claims"),
    ):
        if isinstance(value, model) or (isinstance(value, dict) and key in value):
            return form
    return "a claim"


ClaimItem = Annotated[
    Annotated[Claim, Tag("a claim")]
    | Annotated[ClaimSeries, Tag("a series of claims")]
    | Annotated[ClaimTable, Tag("a table of claims")],
    Discriminator(_form),
]
"""The keys `table` and `cells` decide which, so that a mistake is told of the model that was meant."""


class Lesson(StrictModel):
    """A ledger file: one lesson."""

    lesson: Name
    title: Text
    source: Text | None = Field(None, description="where the lesson can be read")
    file: Text = Field(description="the lesson's text, a file of the lessons' folder")
    formulas_twice: bool = Field(
        False, description="the text carries each formula twice: as it is seen and then as LaTeX"
    )
    coverage: Coverage | None = None
    claims: list[ClaimItem] = Field(min_length=1)
    no_claim: list[NoClaim] = []

    @property
    def entries(self) -> list[Claim]:
        """All claims in the order of the file, series and tables cell by cell."""
        return [
            claim
            for item in self.claims
            for claim in ([item] if isinstance(item, Claim) else item.claims)
        ]
