"""Tells tunebench what a trainer does: the step protocol of docs/step-protocol.md.

Standard library only. Two ways to use it:

- Anything built on transformers' Trainer needs nothing: with this folder on PYTHONPATH the trainer is
  watched from outside (install(), called by sitecustomize).
- A loop of one's own calls hello() once, then per optimizer step begin_step(), count(batch) for each
  micro-batch and end_step(), or `with step() as one: ...`; it ends when end_step() returns False, and
  calls end(). Without tunebench around it the calls do nothing.

Every process of a distributed trainer tells its own steps, with its rank; tunebench puts them together.
"""

import atexit
import contextlib
import ctypes
import faulthandler
import importlib.abc
import importlib.util
import json
import math
import os
import select
import signal
import stat
import sys
import threading
import time

IGNORED_LABEL = -100
_LONGEST_TEXT = 500
# Less than the ten minutes after which tunebench gives up.
SILENT_S = 300


def now_ns():
    return time.monotonic_ns()


def environment_rank():
    return int(os.environ.get("RANK", "0") or 0)


def environment_world():
    return int(os.environ.get("WORLD_SIZE", "1") or 1)


def _torch():
    """torch when the trainer has imported it; it is never imported from here."""
    return sys.modules.get("torch")


def _cuda():
    torch = _torch()
    if torch is None or not hasattr(torch, "cuda"):
        return None
    return torch.cuda if torch.cuda.is_available() and torch.cuda.is_initialized() else None


def synchronize():
    """Waits until the devices have done what they were asked for."""
    cuda = _cuda()
    if cuda is not None:
        cuda.synchronize()


def host_peak_bytes():
    """Largest resident memory of this process so far."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return 0


def device_peak_bytes():
    """Largest memory that tensors took on this process's fullest device."""
    cuda = _cuda()
    if cuda is None:
        return 0
    return max((int(cuda.max_memory_allocated(index)) for index in range(cuda.device_count())), default=0)


class Channel:
    """Where events go and where the request to stop comes from."""

    def __init__(self, environment=None):
        environment = os.environ if environment is None else environment
        self._descriptor = None
        self._lock = threading.Lock()
        self._stop_file = environment.get("TUNEBENCH_STOP") or None
        self._control = None
        path = environment.get("TUNEBENCH_EVENTS")
        number = environment.get("TUNEBENCH_EVENTS_FD")
        # The path first: of a descriptor's number a launcher may have made something else.
        if path:
            self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        elif number is not None:
            self._descriptor = int(number)
            os.fstat(self._descriptor)
        control = environment.get("TUNEBENCH_CONTROL_FD")
        if control is not None and self._stop_file is None:
            with contextlib.suppress(OSError, ValueError):
                if stat.S_ISSOCK(os.fstat(int(control)).st_mode):
                    self._control = int(control)
        self._stop = False

    @property
    def active(self):
        return self._descriptor is not None

    def write(self, event):
        if self._descriptor is None:
            return
        line = (json.dumps(event, allow_nan=False) + "\n").encode()
        with self._lock:
            try:
                # One write: up to 4096 bytes the lines of several processes do not mix.
                os.write(self._descriptor, line)
            except BrokenPipeError:
                # Nobody is left to read: the measurement is over, whatever this process does.
                os._exit(1)

    def stop_requested(self):
        if self._stop:
            return True
        if self._stop_file is not None:
            self._stop = os.path.exists(self._stop_file)
        elif self._control is not None:
            readable, _, _ = select.select([self._control], [], [], 0)
            if readable:
                self._stop = True
        return self._stop

    def agreed_stop(self, step, rank, world):
        """Whether to stop after `step`, the same answer in all ranks: rank 0 writes down the last
        step, one ahead, and no rank can end that step before rank 0 has begun it."""
        if world <= 1 or self._stop_file is None:
            return self.stop_requested()
        agreement = self._stop_file + ".last_step"
        if rank == 0 and self.stop_requested() and not os.path.exists(agreement):
            with open(agreement + ".new", "w", encoding="ascii") as file:
                file.write(str(step + 1))
            os.replace(agreement + ".new", agreement)
        try:
            with open(agreement, encoding="ascii") as file:
                return step >= int(file.read())
        except (OSError, ValueError):
            return False


def _number(value):
    """A finite number, or None, which stands for one that is not finite."""
    if value is None:
        return None
    value = float(value.item() if hasattr(value, "item") else value)
    return value if math.isfinite(value) else None


def _total(values):
    """Sums numbers and tensors; tensors of a device are read once, here."""
    total = 0
    for value in values:
        total = total + value
    return int(total.item() if hasattr(total, "item") else total)


def _elements(tensor):
    return int(tensor.numel())


def _shifted_labels(labels):
    """Positions with a loss: a token is predicted from those before it, so the first has none."""
    return (labels[..., 1:] != IGNORED_LABEL).sum()


class Counts:
    """Samples and tokens of one optimizer step, added up over its micro-batches."""

    def __init__(self):
        self.samples = []
        self.tokens = []
        self.nonpad = []
        self.trained = []

    def add_batch(self, batch, pairs=False, pad_id=None):
        """A batch as a model gets it. Every `*input_ids` counts but `prompt_*`, which preference
        trainers hand on without computing it. Padding is where the attention mask is 0, or, without
        one, where the pad id stands. `pairs`: rows are answers to the same prompt, two a sample."""
        rows = 0
        for key in list(batch.keys()):
            tensor = batch[key]
            if not key.endswith("input_ids") or key.startswith("prompt_") or not hasattr(tensor, "numel"):
                continue
            prefix = key[: -len("input_ids")]
            self.tokens.append(_elements(tensor))
            mask = _get(batch, prefix + "attention_mask")
            if mask is not None:
                self.nonpad.append(mask.sum())
            elif pad_id is not None:
                self.nonpad.append((tensor != pad_id).sum())
            else:
                self.nonpad.append(_elements(tensor))
            rows = max(rows, int(tensor.shape[0]) if len(tensor.shape) > 1 else 1)
            self._add_trained(batch, prefix)
        self.samples.append(rows // 2 if pairs and rows > 1 else rows)

    def _add_trained(self, batch, prefix):
        labels = _get(batch, prefix + "labels")
        if labels is None:
            labels = _get(batch, "labels") if prefix == "" else None
        completion = _get(batch, prefix + "completion_mask")
        if labels is not None and len(labels.shape) > 1:
            self.trained.append(_shifted_labels(labels))
        elif completion is not None:
            self.trained.append(completion.sum())
        else:
            # Without labels every answer is scored: reward models.
            self.trained.append(self.nonpad[-1])

    def add(self, samples, tokens, tokens_nonpad, tokens_trained):
        self.samples.append(samples)
        self.tokens.append(tokens)
        self.nonpad.append(tokens_nonpad)
        self.trained.append(tokens_trained)

    def values(self):
        return {
            "samples": _total(self.samples),
            "tokens": _total(self.tokens),
            "tokens_nonpad": _total(self.nonpad),
            "tokens_trained": _total(self.trained),
        }


def _get(batch, key):
    try:
        return batch[key]
    except (KeyError, AttributeError, TypeError):
        return None


class Teller:
    """The events of one process."""

    def __init__(self, channel=None):
        self.channel = Channel() if channel is None else channel
        self.rank = environment_rank()
        self.world = environment_world()
        self.steps = 0
        self.finished = False
        self.failed = False
        self._said_hello = False
        self._said_end = False
        self._t0 = None
        self._counts = Counts()
        self._pending = None
        self._loss = []

    def _write(self, event, **members):
        line = {"event": event}
        line.update(members)
        if self.rank > 0 or event == "hello":
            line["rank"] = self.rank
        self.channel.write(line)

    def hello(self, trainer, version="", device="", **notes):
        if self._said_hello:
            return
        self._said_hello = True
        line = {"trainer": trainer, "version": version, "pid": os.getpid(), "world": self.world, "device": device}
        line.update({name: value for name, value in notes.items() if value is not None})
        self._write("hello", **line)

    def phase(self, name):
        self.flush()
        self._write("phase", name=name, t=now_ns())

    def begin_step(self):
        """Before the step's first batch is made. Again in the same step it does nothing."""
        if self._t0 is None:
            self.flush()
            synchronize()
            self._t0 = now_ns()

    def count(self, batch, pairs=False, pad_id=None):
        self._counts.add_batch(batch, pairs, pad_id)

    def count_numbers(self, samples, tokens, tokens_nonpad, tokens_trained):
        self._counts.add(samples, tokens, tokens_nonpad, tokens_trained)

    def add_loss(self, loss):
        """A micro-batch's share of the step's loss."""
        self._loss.append(loss)

    def end_step(self, loss=None, grad_norm=None, lr=None, wait=False):
        """After the optimizer's step. False when the trainer is asked to stop. `wait`: the step is
        told with the next call of add_logs(), begin_step(), phase() or end()."""
        synchronize()
        t1 = now_ns()
        self.steps += 1
        line = {"n": self.steps, "t0": t1 if self._t0 is None else self._t0, "t1": t1}
        line.update(self._counts.values())
        if loss is None and self._loss:
            loss = sum(self._loss[1:], self._loss[0])
        for name, value in (("loss", loss), ("grad_norm", grad_norm), ("lr", lr)):
            if value is not None:
                line[name] = _number(value)
        self._t0 = None
        self._counts = Counts()
        self._loss = []
        self._pending = line
        if not wait:
            self.flush()
        if self.steps == 1:
            faulthandler.cancel_dump_traceback_later()
            self.memory()
        return not self.channel.agreed_stop(self.steps, self.rank, self.world)

    def add_logs(self, grad_norm=None, lr=None):
        if self._pending is not None:
            for name, value in (("grad_norm", grad_norm), ("lr", lr)):
                if value is not None and name not in self._pending:
                    self._pending[name] = _number(value)
            self.flush()

    def flush(self):
        if self._pending is not None:
            pending, self._pending = self._pending, None
            self._write("step", **pending)

    def memory(self):
        self._write(
            "memory", t=now_ns(), device_peak_bytes=device_peak_bytes(), host_peak_bytes=host_peak_bytes()
        )

    def error(self, kind, message):
        self.failed = True
        text = " ".join(str(message).split())[:_LONGEST_TEXT]
        self._write("error", kind=kind, message=text, step=self.steps + 1 if self._said_hello else 0)

    def end(self, status="ok"):
        if self._said_end:
            return
        self._said_end = True
        self.flush()
        self.memory()
        self._write("end", status=status, steps=self.steps)

    def stop_requested(self):
        return self.channel.stop_requested()


_teller = None


def teller():
    global _teller
    if _teller is None:
        _teller = Teller()
    return _teller


# For a loop of one's own.


def hello(trainer, version="", device="", **notes):
    teller().hello(trainer, version, device, **notes)


def phase(name):
    teller().phase(name)


def begin_step():
    teller().begin_step()


def count(batch, pairs=False, pad_id=None):
    teller().count(batch, pairs, pad_id)


def count_numbers(samples, tokens, tokens_nonpad, tokens_trained):
    teller().count_numbers(samples, tokens, tokens_nonpad, tokens_trained)


def end_step(loss=None, grad_norm=None, lr=None):
    return teller().end_step(loss, grad_norm, lr)


@contextlib.contextmanager
def step():
    """`with step() as one: one.count(batch); ...`: the block is the optimizer step."""
    teller().begin_step()
    yield teller()
    teller().end_step()


def stop_requested():
    return teller().stop_requested()


def memory():
    teller().memory()


def error(kind, message):
    teller().error(kind, message)


def end(status="ok"):
    teller().end(status)


# Watching from outside.


class _Loader(importlib.abc.Loader):
    """Loads a module as its own loader does, then hands it to `after`."""

    def __init__(self, loader, after):
        self._loader = loader
        self._after = after

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        self._loader.exec_module(module)
        try:
            self._after(module)
        except Exception as problem:  # a trainer must not fail because it is watched
            sys.stderr.write("tunebench_events: cannot watch %s: %r\n" % (module.__name__, problem))

    def __getattr__(self, name):
        return getattr(self._loader, name)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, wanted):
        self._wanted = dict(wanted)

    def find_spec(self, name, path=None, target=None):
        after = self._wanted.pop(name, None)
        if after is None:
            return None
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, after)
        return spec


def _device_of(trainer):
    device = getattr(getattr(trainer, "args", None), "device", None)
    try:
        # What the weights lie on says more than what was asked for.
        return next(iter(trainer.model.parameters())).device.type
    except (AttributeError, StopIteration, TypeError):
        return getattr(device, "type", "") or ""


def _notes_of(trainer):
    notes = {}
    torch = _torch()
    with contextlib.suppress(Exception):
        notes["threads"] = int(torch.get_num_threads())
    with contextlib.suppress(Exception):
        notes["compute_dtype"] = str(next(iter(trainer.model.parameters())).dtype).replace("torch.", "")
        if getattr(trainer.args, "bf16", False) or getattr(trainer.args, "fp16", False):
            notes["compute_dtype"] = "bfloat16" if trainer.args.bf16 else "float16"
    if environment_world() == 1:
        # Sharded, a rank knows only its part. A trainer may have added or cut rows of embeddings: then this
        # is another number than the model's own.
        with contextlib.suppress(Exception):
            own = [weights for name, weights in trainer.model.named_parameters() if "lora_" not in name]
            notes["parameters"] = sum(int(weights.numel()) for weights in own)
    with contextlib.suppress(Exception):
        notes["recompute"] = "block" if trainer.args.gradient_checkpointing else "none"
    return notes


def _is_pairs(trainer):
    """Preference and reward trainers stack the chosen and the rejected answer in one batch."""
    names = [kind.__name__ for kind in type(trainer).__mro__]
    return any(name.startswith(("DPO", "Reward")) for name in names)


def watch_transformers(module):
    """Watches every Trainer of `transformers.trainer`, subclasses included."""
    told = teller()
    trainer_class = module.Trainer
    callback_class = module.TrainerCallback
    original_step = trainer_class.training_step
    original_batches = getattr(trainer_class, "get_batch_samples", None)
    watched = {"trainer": None}

    def training_step(self, model, inputs, *more, **named):
        if watched["trainer"] is self:
            told.begin_step()
            told.count(inputs, pairs=_is_pairs(self))
        loss = original_step(self, model, inputs, *more, **named)
        if watched["trainer"] is self:
            told.add_loss(loss)
        return loss

    def get_batch_samples(self, *more, **named):
        if watched["trainer"] is self:
            told.begin_step()
        return original_batches(self, *more, **named)

    def train(self, *more, **named):
        watched["trainer"] = self
        return original_train(self, *more, **named)

    class StepTeller(callback_class):
        def on_train_begin(self, args, state, control, **named):
            trainer = watched["trainer"]
            told.hello(
                "transformers." + (type(trainer).__name__ if trainer is not None else "Trainer"),
                getattr(sys.modules.get("transformers"), "__version__", ""),
                _device_of(trainer),
                **_notes_of(trainer),
            )
            told.phase("train")

        def on_step_end(self, args, state, control, **named):
            if not told.end_step(wait=True):
                control.should_training_stop = True
                control.should_save = False
                control.should_evaluate = False
            return control

        def on_log(self, args, state, control, logs=None, **named):
            logs = logs or {}
            told.add_logs(logs.get("grad_norm"), logs.get("learning_rate"))

        def on_train_end(self, args, state, control, **named):
            told.flush()
            told.memory()
            told.finished = True
            told.phase("save")

    original_train = trainer_class.train
    trainer_class.train = train
    trainer_class.training_step = training_step
    if original_batches is not None:
        trainer_class.get_batch_samples = get_batch_samples
    module.DEFAULT_CALLBACKS.append(StepTeller)
    told.phase("load")


def _out_of_memory(kind, problem):
    names = [base.__name__ for base in kind.__mro__]
    if "OutOfMemoryError" in names:
        return "oom_gpu"
    return "oom_host" if issubclass(kind, MemoryError) else None


def _tell_exception(kind, problem, trace):
    with contextlib.suppress(Exception):
        teller().failed = True
        memory_kind = _out_of_memory(kind, problem)
        if memory_kind is not None:
            teller().error(memory_kind, "%s: %s" % (kind.__name__, problem))
    _original_excepthook(kind, problem, trace)


def _tell_end():
    told = _teller
    if told is not None and told.finished and not told.failed:
        with contextlib.suppress(Exception):
            told.end()


def die_with_parent():
    """A rank whose launcher is killed must not train on: launchers give it a session of its own."""
    with contextlib.suppress(Exception):
        parent = os.getppid()
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)


def tell_where_it_hangs(seconds=SILENT_S):
    """Where all threads are, on standard error, when no step has ended by then: a rendezvous that waits
    for a missing process prints nothing of itself."""
    with contextlib.suppress(Exception):
        faulthandler.dump_traceback_later(seconds)


_original_excepthook = sys.excepthook


def install():
    """Called at the start of every Python process of a measured trainer."""
    if not (os.environ.get("TUNEBENCH_EVENTS") or os.environ.get("TUNEBENCH_EVENTS_FD")):
        return
    if "LOCAL_RANK" in os.environ:
        die_with_parent()
    sys.meta_path.insert(0, _Finder({"transformers.trainer": watch_transformers}))
    sys.excepthook = _tell_exception
    tell_where_it_hangs()
    atexit.register(_tell_end)
