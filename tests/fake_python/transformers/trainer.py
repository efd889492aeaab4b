import time

import torch


class TrainerCallback:
    def __getattr__(self, name):
        if name.startswith("on_"):
            return lambda *more, **named: None
        raise AttributeError(name)


class Control:
    should_training_stop = False
    should_save = True
    should_evaluate = True


class State:
    global_step = 0


class TrainingArguments:
    def __init__(self, **given):
        self.__dict__.update(given)
        self.device = torch.device("cpu")
        self.bf16 = given.get("bf16", False)
        self.fp16 = False
        self.gradient_checkpointing = given.get("gradient_checkpointing", False)


DEFAULT_CALLBACKS = []


def set_seed(seed):
    pass


class Config:
    use_cache = True


class Model:
    def __init__(self, kind="cpu"):
        self.weight = torch.Tensor([0], kind)
        self.config = Config()

    def parameters(self):
        return [self.weight]

    def enable_input_require_grads(self):
        pass


class AutoModelForCausalLM:
    @staticmethod
    def from_pretrained(folder, dtype=None, attn_implementation="sdpa", local_files_only=False):
        with open(folder + "/config.json", encoding="utf-8"):
            return Model()


class PreTrainedTokenizerFast:
    """One token a byte, as the tokenizer of the tests' model folders has."""

    def __init__(self, tokenizer_file):
        with open(tokenizer_file, encoding="utf-8"):
            pass

    def __call__(self, text, truncation=True, max_length=0, verbose=True):
        return {"input_ids": [3 + byte for byte in text.encode()][:max_length]}


class Trainer:
    def __init__(self, model=None, args=None, train_dataset=None, data_collator=None):
        self.model = model or Model()
        self.args = args
        self.train_dataset = train_dataset
        self.data_collator = data_collator
        self.callbacks = [kind() for kind in DEFAULT_CALLBACKS]
        self.control = Control()
        self.state = State()

    def call(self, event, **named):
        for callback in self.callbacks:
            getattr(callback, event)(self.args, self.state, self.control, **named)

    def epoch(self):
        """Micro-batches of one pass, in order."""
        if self.data_collator is None:
            return list(self.train_dataset)
        size = self.args.per_device_train_batch_size
        rows = self.train_dataset
        return [self.data_collator(rows[at : at + size]) for at in range(0, len(rows), size)]

    def get_batch_samples(self, batches, count):
        time.sleep(0.001)
        return batches[:count]

    def training_step(self, model, inputs, count=None):
        time.sleep(0.001)
        return torch.Tensor(2.5 / self.args.gradient_accumulation_steps)

    def train(self):
        self.call("on_train_begin")
        while self.state.global_step < self.args.max_steps and not self.control.should_training_stop:
            self.train_epoch()
        self.call("on_train_end")

    def train_epoch(self):
        batches = self.epoch()
        count = self.args.gradient_accumulation_steps
        for at in range(0, len(batches), count):
            micro = self.get_batch_samples(batches[at:], count)
            self.call("on_step_begin")
            for inputs in micro:
                self.training_step(self.model, inputs)
            self.state.global_step += 1
            self.call("on_step_end")
            self.call("on_log", logs={"loss": 2.5, "grad_norm": 0.75, "learning_rate": 1e-05})
            if self.control.should_training_stop or self.state.global_step == self.args.max_steps:
                break
