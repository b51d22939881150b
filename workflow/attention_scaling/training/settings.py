"""What a training study may say: its sweeps, and the sizes of its tasks."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, PositiveInt, model_validator

from attention_scaling.experiments.fields import Widths
from attention_scaling.experiments.variants import Variants
from attention_scaling.remedies import BASE_WIDTH
from attention_scaling.validation import StrictModel


class RetrievalSettings(StrictModel):
    """A query must find its own key among others."""

    n_keys: Annotated[int, Field(ge=2, description="Keys in a group; each has one query.")] = 16
    latent_width: Annotated[
        PositiveInt, Field(description="Numbers that an item is made of, at every width.")
    ] = 32
    noise: Annotated[
        float, Field(ge=0, description="Noise on an item as the query sees it, relative to it.")
    ] = 0.3
    batch: Annotated[PositiveInt, Field(description="Groups in a training step.")] = 4
    evaluation_batch: Annotated[PositiveInt, Field(description="Groups for every record.")] = 16


class RecallSettings(StrictModel):
    """Pairs of tokens, then their first tokens again: name the second."""

    pairs: Annotated[int, Field(ge=2, description="Pairs in a sequence.")] = 4
    vocabulary: Annotated[
        int,
        Field(ge=2, description="Tokens that can come first, and as many that can come second."),
    ] = 8
    batch: Annotated[PositiveInt, Field(description="Sequences in a training step.")] = 16
    evaluation_batch: Annotated[PositiveInt, Field(description="Sequences for every record.")] = 64

    @model_validator(mode="after")
    def _enough_tokens(self) -> RecallSettings:
        if self.vocabulary < self.pairs:
            raise ValueError("vocabulary must hold at least as many tokens as there are pairs")
        return self


def _ascending(values: list) -> list:
    if values != sorted(set(values)):
        raise ValueError("must ascend")
    return values


class Sweep(StrictModel):
    """One way of training, over remedies and widths."""

    task: Annotated[
        Literal["retrieval", "recall"],
        Field(description="retrieval: one head finds its key; recall: two layers, next token."),
    ] = "retrieval"
    variants: Variants
    widths: Widths
    optimizer: Literal["adam", "sgd"] = "adam"
    rates: Annotated[
        list[Annotated[float, Field(gt=0)]],
        Field(min_length=1, description="Learning rates; several make a study of the best one."),
        AfterValidator(_ascending),
    ]
    rate_rule: Annotated[
        Literal["fixed", "mup", "matched"],
        Field(
            description="How rates depend on widths. fixed: not at all; mup: those of W_Q and W_K fall as"
            " the width of their inputs grows; matched: that of a folded W_Q makes its steps those of root."
        ),
    ] = "fixed"
    d_model: Annotated[
        PositiveInt | Literal["d_k"],
        Field(description="Width of the inputs of the heads; d_k: it grows with the head."),
    ] = 64
    dtype: Literal["float32", "float64"] = "float32"
    record_at: Annotated[
        list[Annotated[int, Field(ge=0)]],
        Field(min_length=1, description="Steps after which all is recorded; the last ends it."),
        AfterValidator(_ascending),
    ] = [0, 1, 2, 4, 8, 16, 32, 64, 128]

    @model_validator(mode="after")
    def _fits(self) -> Sweep:
        if self.task == "recall" and self.d_model == "d_k":
            raise ValueError("d_model: d_k goes with the task retrieval")
        return self


class TrainingSettings(StrictModel):
    """Settings of the training experiment."""

    seeds: Annotated[int, Field(ge=2, description="Seeds of each run; errors are over them.")] = 5
    seeds_together: Annotated[
        PositiveInt | None,
        Field(description="Seeds that one job trains side by side; default: all."),
    ] = None
    base_width: Annotated[
        PositiveInt,
        Field(description="Width at which `width` equals `root`, and muP's rates the fixed ones."),
    ] = BASE_WIDTH
    retrieval: RetrievalSettings = RetrievalSettings()
    recall: RecallSettings = RecallSettings()
    sweeps: Annotated[dict[str, Sweep], Field(min_length=1, description="Sweeps by name.")]
