"""The study's configuration: what config/*.yaml may say, checked before anything runs."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PositiveInt

from attention_scaling import experiments
from attention_scaling.backends import NAMES
from attention_scaling.errors import UserError
from attention_scaling.experiments.fields import unique
from attention_scaling.validation import StrictModel, load_yaml, validate


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class Study(StrictModel):
    """What all experiments share."""

    seed: Annotated[int, Field(ge=0, description="Seed of every random stream of the study.")]
    backends: Annotated[
        list[Literal[NAMES]],
        Field(min_length=1, description="Array libraries that run each experiment."),
        AfterValidator(unique),
    ] = ["numpy", "torch"]
    devices: Annotated[
        list[Literal["cpu", "cuda", "auto"]],
        BeforeValidator(_listed),
        Field(
            min_length=1,
            description="Devices for PyTorch. auto: the CPU, and CUDA where the job finds it.",
        ),
    ] = ["auto"]
    shards: Annotated[
        PositiveInt,
        Field(
            le=10_000,
            description="Jobs over which the blocks of sampled experiments spread.",
        ),
    ] = 1
    unmatched_claims: Annotated[
        Literal["skip", "refuse"],
        Field(description="What becomes of claims about cells that the study does not measure."),
    ] = "skip"
    lessons: Annotated[Path, Field(description="Folder of the ledger files.")] = Path(
        "config/lessons"
    )
    lessons_dir: Annotated[
        Path, Field(description="Folder of the lessons' texts, for the coverage count.")
    ] = Path("../shared/lessons")


class Config:
    """A validated configuration file."""

    def __init__(self, path: Path, study: Study, blocks: dict[str, Any]) -> None:
        self.path = path
        self.study = study
        self._blocks = blocks

    @property
    def experiments(self) -> list[str]:
        """The experiments that the study runs, in the file's order."""
        return list(self._blocks)

    def block(self, name: str) -> dict[str, Any]:
        """The experiment's block as the file has it."""
        if name not in self._blocks:
            raise UserError(f"{self.path}: experiments: no block for {name!r}")
        return self._blocks[name]

    def experiment(self, name: str) -> Any:
        """The experiment's validated settings; imports the experiment's module alone."""
        model = experiments.get(name).module().Settings
        return validate(model, self.block(name), f"{self.path}: experiments.{name}")

    def digest(self, name: str) -> str:
        """What stands for all that an experiment's numbers depend on: the seed and its block of the file."""
        text = json.dumps([self.study.seed, self.block(name)], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()

    def devices(self, backend: str) -> list[str]:
        """The devices on which jobs of `backend` are started."""
        if backend == "numpy":
            return ["cpu"]
        wanted = ["cpu", "cuda"] if "auto" in self.study.devices else self.study.devices
        return list(dict.fromkeys(wanted))


def load_config(path: Path | str) -> Config:
    """The configuration at `path`, its shared part checked and its experiments known by name.

    An experiment's own block is checked when it is asked for (or by `check_config`, all of them), so that a job
    imports no experiment but its own.
    """
    path = Path(path)
    data = load_yaml(path)
    if not isinstance(data, dict):
        raise UserError(f"{path}: must be a mapping of settings")
    blocks = data.pop("experiments", None)
    if not isinstance(blocks, dict) or not blocks:
        raise UserError(f"{path}: experiments: must be a mapping with at least one experiment")
    study = validate(Study, data, str(path))
    for name in blocks:
        if name not in experiments.REGISTRY:
            raise UserError(
                f"{path}: experiments.{name}: no such experiment; "
                f"allowed are {', '.join(experiments.REGISTRY)}"
            )
    return Config(path, study, {name: block or {} for name, block in blocks.items()})


def check_config(path: Path | str) -> Config:
    """The configuration at `path`, every experiment's block checked."""
    config = load_config(path)
    for name in config.experiments:
        config.experiment(name)
    return config


def config_schema() -> dict[str, Any]:
    """The JSON Schema of a configuration file, generated from the models."""
    schema = Study.model_json_schema()
    schema["title"] = "Configuration of an attention-scaling study"
    definitions = schema.setdefault("$defs", {})
    blocks = {}
    for name, experiment in experiments.REGISTRY.items():
        block = experiment.module().Settings.model_json_schema()
        for title, definition in block.pop("$defs", {}).items():
            definitions.setdefault(title, definition)
        blocks[name] = block
    schema["properties"]["experiments"] = {
        "type": "object",
        "properties": blocks,
        "additionalProperties": False,
        "minProperties": 1,
    }
    schema["required"] = [*schema.get("required", []), "experiments"]
    return schema
