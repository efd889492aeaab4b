"""As much of transformers as tests of the watcher and the drivers need: a Trainer that calls what the
real one calls, in its order, and trains nothing."""

import importlib

__version__ = "5.fake"


def __getattr__(name):
    if name in ("Trainer", "TrainingArguments", "set_seed", "AutoModelForCausalLM", "PreTrainedTokenizerFast"):
        return getattr(importlib.import_module("transformers.trainer"), name)
    raise AttributeError(name)
