"""Watches LitGPT's fine-tuning loops: batches as they are fetched, losses as they go backward, steps as the
optimizer ends them. LitGPT itself tells its figures by micro-batch and with the time of its set-up inside."""

import contextlib
import importlib.metadata
import sys

import tunebench_events

# More rounds over the data than any run makes: its loop ends there.
_PAST_ALL_EPOCHS = 1 << 60
_adapter_parts = ("lora_", "adapter", "gating_factor")


class _Watched:
    """The running call of fit(); steps before and after it are none."""

    def __init__(self):
        self.told = tunebench_events.teller()
        self.training = False
        self.ending = False


_watched = _Watched()


def _version():
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version("litgpt")
    return ""


def _notes(fabric, model):
    notes = {"recompute": "none"}
    with contextlib.suppress(Exception):
        notes["threads"] = int(sys.modules["torch"].get_num_threads())
    with contextlib.suppress(Exception):
        named = list(model.named_parameters())
        own = [weights for name, weights in named if not any(part in name for part in _adapter_parts)]
        if tunebench_events.environment_world() == 1:
            notes["parameters"] = sum(int(weights.numel()) for weights in own)
        notes["compute_dtype"] = str(own[0].dtype).replace("torch.", "")
        precision = str(getattr(getattr(fabric, "_precision", None), "precision", ""))
        if precision.endswith("-mixed"):
            notes["compute_dtype"] = {"bf16": "bfloat16", "16": "float16"}[precision.split("-")[0]]
    return notes


def watch_loop(module):
    """`module.fit` is the whole training; everything after it is saving."""
    original = module.fit

    def fit(*positional, **named):
        fabric = named.get("fabric", positional[0] if positional else None)
        model = named["model"] if "model" in named else (named.get("state") or {}).get("model")
        told = _watched.told
        told.hello("litgpt", _version(), fabric.device.type, **_notes(fabric, model))
        told.phase("train")
        _watched.training = True
        try:
            result = original(*positional, **named)
        finally:
            _watched.training = False
        told.flush()
        told.memory()
        told.finished = True
        told.phase("save")
        return result

    module.fit = fit


def watch_batches(module):
    """litgpt.utils.CycleIterator hands out the training batches, and only those."""
    cycle = module.CycleIterator
    original = cycle.__next__

    def next_batch(self):
        if not _watched.training:
            return original(self)
        if not _watched.ending:
            _watched.told.begin_step()
        batch = original(self)
        if _watched.ending:
            # The loop looks at this before it trains on the batch.
            self.epoch = _PAST_ALL_EPOCHS
            return batch
        ids, labels = batch["input_ids"], batch["labels"]
        _watched.told.count_numbers(
            int(ids.shape[0]),
            int(ids.numel()),
            batch["token_counts"]["raw_plus_prompt_template"].sum(),
            (labels[..., 1:] != tunebench_events.IGNORED_LABEL).sum(),
        )
        return batch

    cycle.__next__ = next_batch
    watch_steps(sys.modules["torch.optim.optimizer"])
    _watched.told.phase("load")


def watch_losses(module):
    """lightning.fabric.fabric: the loss of a micro-batch, already divided by their number."""
    original = module.Fabric.backward

    def backward(self, tensor, *positional, **named):
        if _watched.training:
            _watched.told.add_loss(tensor.detach())
        return original(self, tensor, *positional, **named)

    module.Fabric.backward = backward


def _norm(optimizer):
    total = 0.0
    for group in optimizer.param_groups:
        for weights in group["params"]:
            if weights.grad is not None:
                total = total + (weights.grad.detach().float() ** 2).sum()
    return float(total) ** 0.5


def watch_steps(module):
    """torch.optim.optimizer has hooks for every optimizer."""
    norms = []

    def before(optimizer, *_):
        # Nothing else works out a norm here; that of the first step, which is never timed, costs no measured time.
        if _watched.training and _watched.told.steps == 0:
            norms.append(_norm(optimizer))

    def after(optimizer, *_):
        if _watched.training and not _watched.ending:
            norm = norms.pop() if norms else None
            lr = optimizer.param_groups[0]["lr"]
            _watched.ending = not _watched.told.end_step(grad_norm=norm, lr=lr)

    module.register_optimizer_step_pre_hook(before)
    module.register_optimizer_step_post_hook(after)


def watch(module):
    """Called with each of the modules when it is loaded."""
    watcher = {"litgpt.utils": watch_batches, "lightning.fabric.fabric": watch_losses}
    watcher.get(module.__name__, watch_loop)(module)
