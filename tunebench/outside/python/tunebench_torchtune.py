"""Components that torchtune's configuration files name: rows, counting, telling, and a checkpointer that does not
save. Nothing of torchtune is changed."""

import contextlib
import importlib.metadata
import sys

import torch
import tunebench_events
import tunebench_texts
from torchtune.data import padded_collate_sft
from torchtune.training import FullModelHFCheckpointer

_state = {"dtype": "", "checkpointing": False, "parameters": None, "version": "", "training": False}


class Tokenizer:
    """Only what the recipes ask a tokenizer for; the rows bring their own."""

    pad_id = 0

    def __init__(self, path, max_seq_len):
        self.path = path
        self.max_seq_len = max_seq_len


class Texts(torch.utils.data.Dataset):
    """Texts as they are: no prompt template, no end token, in the order of the file."""

    def __init__(self, tokenizer, path, field, rows, samples):
        encoder = tunebench_texts.load_tokenizer(tokenizer.path, tokenizer.max_seq_len)
        self.rows = tunebench_texts.Rows(path, field, rows, samples, encoder)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        ids = self.rows[index]
        return {"tokens": ids, "labels": list(ids)}


def collate(batch, padding_idx=0, ignore_idx=tunebench_events.IGNORED_LABEL):
    """Pads to the longest of the micro-batch. It is called as the loop asks for a batch: a step begins with its
    first."""
    told = tunebench_events.teller()
    if not _state["training"]:
        _state["training"] = True
        told.phase("train")
    told.begin_step()
    padded = padded_collate_sft(batch, padding_idx, ignore_idx)
    told.count_numbers(
        len(batch),
        int(padded["tokens"].numel()),
        sum(len(row["tokens"]) for row in batch),
        (padded["labels"][..., 1:] != ignore_idx).sum(),
    )
    return padded


class NoSave(FullModelHFCheckpointer):
    """Loads as torchtune does. What it would write at the end is no part of the measurement."""

    def load_checkpoint(self):
        loaded = super().load_checkpoint()
        _state["parameters"] = sum(int(weights.numel()) for weights in loaded["model"].values())
        return loaded

    def save_checkpoint(self, *_, **__):
        tunebench_events.teller().finished = True


class Steps:
    """A metric logger: torchtune calls it once for each optimizer step."""

    def __init__(self, **_):
        tunebench_events.phase("load")

    def log_config(self, config):
        _state["dtype"] = {"fp32": "float32", "bf16": "bfloat16"}.get(str(config.dtype), str(config.dtype))
        _state["checkpointing"] = bool(config.enable_activation_checkpointing)
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            _state["version"] = importlib.metadata.version("torchtune")

    def log(self, name, data, step):
        pass

    def log_dict(self, payload, step):
        told = tunebench_events.teller()
        norm = payload.get("grad_norm")
        # Asked for a GPU that is not there, torchtune trains on the CPU: the gradients know.
        device = getattr(getattr(norm, "device", None), "type", "")
        told.hello(
            "torchtune",
            _state["version"],
            device,
            threads=int(torch.get_num_threads()),
            compute_dtype=_state["dtype"],
            parameters=_state["parameters"],
            recompute="block" if _state["checkpointing"] else "none",
        )
        if not told.end_step(loss=payload.get("loss"), grad_norm=norm, lr=payload.get("lr")):
            told.finished = True
            sys.exit(0)

    def close(self):
        tunebench_events.teller().finished = True
