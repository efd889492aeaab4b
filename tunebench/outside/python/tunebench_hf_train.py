"""Trains one point with transformers' Trainer, full or with LoRA of PEFT.

usage: python tunebench_hf_train.py SETTINGS.json

It tells nothing itself: tunebench_events watches the Trainer. Texts are cut and padded as trainer native
does, in the order of the file, so that the tokens of both are the same.
"""

import json
import os
import sys

IGNORED_LABEL = -100


def read_texts(path, field, most):
    """The texts of the first `most` records. A file without the field "output" may have "text"."""
    texts = []
    with open(path, encoding="utf-8-sig") as lines:
        for line in lines:
            if len(texts) == most:
                break
            if not line.strip():
                continue
            record = json.loads(line)
            if not texts and field == "output" and field not in record and "text" in record:
                field = "text"
            texts.append(record[field])
    return texts


def load_tokenizer(folder):
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(tokenizer_file=os.path.join(folder, "tokenizer.json"))


def tokenized(texts, tokenizer, length):
    rows = []
    for text in texts:
        ids = tokenizer(text, truncation=True, max_length=length, verbose=False)["input_ids"]
        rows.append({"input_ids": ids})
    return rows


def collate(rows):
    """Pads to the longest of the micro-batch; what is padded is neither attended to nor trained."""
    import torch

    longest = max(len(row["input_ids"]) for row in rows)
    batch = {"input_ids": [], "attention_mask": [], "labels": []}
    for row in rows:
        ids = row["input_ids"]
        padding = longest - len(ids)
        batch["input_ids"].append(ids + [0] * padding)
        batch["attention_mask"].append([1] * len(ids) + [0] * padding)
        batch["labels"].append(ids + [IGNORED_LABEL] * padding)
    return {name: torch.tensor(values, dtype=torch.long) for name, values in batch.items()}


def load_model(settings):
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(
        settings["model"],
        dtype=getattr(torch, settings["torch_dtype"]),
        attn_implementation=settings["attention"],
        local_files_only=True,
    )
    model.config.use_cache = False
    if settings["method"] == "lora":
        from peft import LoraConfig, get_peft_model

        lora = settings["lora"]
        model = get_peft_model(
            model,
            LoraConfig(
                r=lora["r"],
                lora_alpha=lora["alpha"],
                lora_dropout=lora["dropout"],
                target_modules=lora["target_modules"],
                task_type="CAUSAL_LM",
            ),
        )
        if settings["gradient_checkpointing"]:
            model.enable_input_require_grads()
    return model


def training_arguments(settings):
    from transformers import TrainingArguments

    arguments = {
        "output_dir": settings["output_dir"],
        "per_device_train_batch_size": settings["per_device_batch_size"],
        "gradient_accumulation_steps": settings["gradient_accumulation_steps"],
        "max_steps": settings["max_steps"],
        "learning_rate": settings["learning_rate"],
        "weight_decay": settings["weight_decay"],
        "warmup_steps": settings["warmup_steps"],
        "lr_scheduler_type": settings["lr_scheduler_type"],
        "max_grad_norm": settings["max_grad_norm"],
        "optim": settings["optim"],
        "bf16": settings["bf16"],
        "gradient_checkpointing": settings["gradient_checkpointing"],
        "gradient_checkpointing_kwargs": {"use_reentrant": settings["use_reentrant"]},
        "logging_strategy": "steps",
        "logging_steps": 1,
        "save_strategy": "no",
        "eval_strategy": "no",
        "report_to": "none",
        "disable_tqdm": True,
        "seed": settings["seed"],
        "use_cpu": settings["use_cpu"],
        "dataloader_num_workers": 0,
        "dataloader_pin_memory": not settings["use_cpu"],
        "remove_unused_columns": False,
    }
    if settings["backend"] == "FSDP":
        arguments["fsdp"] = "full_shard auto_wrap"
    return TrainingArguments(**arguments)


def in_order(trainer_class):
    import torch

    class InOrder(trainer_class):
        def _get_train_sampler(self, train_dataset=None):
            return torch.utils.data.SequentialSampler(
                self.train_dataset if train_dataset is None else train_dataset
            )

    return InOrder


def main(path):
    with open(path, encoding="utf-8") as file:
        settings = json.load(file)
    import torch
    from transformers import Trainer, set_seed

    if not settings["use_cpu"] and not torch.cuda.is_available():
        # Trainer would train on the CPU and say nothing.
        raise RuntimeError("CUDA is not available to PyTorch, but GPUs were asked for")
    set_seed(settings["seed"])
    texts = read_texts(settings["data"], settings["text_field"], settings["rows"])
    rows = tokenized(texts, load_tokenizer(settings["model"]), settings["length"])
    trainer = in_order(Trainer)(
        model=load_model(settings),
        args=training_arguments(settings),
        train_dataset=rows,
        data_collator=collate,
    )
    trainer.train()


if __name__ == "__main__":
    main(sys.argv[1])
