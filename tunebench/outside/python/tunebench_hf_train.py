"""Trains one point with transformers' Trainer, full or with LoRA or prompt tuning of PEFT, or with TRL's trainers of
preferences: DPO, ORPO, reward models.

usage: python tunebench_hf_train.py SETTINGS.json

It tells nothing itself: tunebench_events watches the Trainer. Texts are cut and padded as trainer native
does, in the order of the file, so that the tokens of both are the same.
"""

import json
import os
import sys

import tunebench_texts

IGNORED_LABEL = -100


def load_tokenizer(folder):
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(tokenizer_file=os.path.join(folder, "tokenizer.json"))


def with_pad_token(tokenizer):
    """TRL wants a padding token, of which every token can be one: what is padded is masked."""
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.convert_ids_to_tokens(0)
    if tokenizer.eos_token is None:
        tokenizer.eos_token = tokenizer.pad_token
    return tokenizer


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


def pairs(rows, length):
    """Preferences made of texts: the first half of a row is the prompt, the rest of it the chosen answer, the rest
    of the next row the rejected one. No answer goes beyond the length."""
    made = []
    for at, row in enumerate(rows):
        ids, other = row["input_ids"], rows[(at + 1) % len(rows)]["input_ids"]
        prompt = ids[: len(ids) // 2]
        rejected = other[len(other) // 2 :][: length - len(prompt)]
        made.append({"prompt_ids": prompt, "chosen_ids": ids[len(prompt) :], "rejected_ids": rejected})
    return made


def load_model(settings):
    import torch
    import transformers

    reward = settings["method"] == "reward"
    kind = transformers.AutoModelForSequenceClassification if reward else transformers.AutoModelForCausalLM
    model = kind.from_pretrained(
        settings["model"],
        dtype=getattr(torch, settings["torch_dtype"]),
        attn_implementation=settings["attention"],
        local_files_only=True,
        **({"num_labels": 1} if reward else {}),
    )
    model.config.use_cache = False
    if settings["method"] == "pt":
        from peft import PromptTuningConfig, get_peft_model

        tuning = PromptTuningConfig(num_virtual_tokens=settings["virtual_tokens"], task_type="CAUSAL_LM")
        model = get_peft_model(model, tuning)
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
    return arguments


def in_order(trainer_class):
    import torch

    class InOrder(trainer_class):
        def _get_train_sampler(self, train_dataset=None):
            return torch.utils.data.SequentialSampler(
                self.train_dataset if train_dataset is None else train_dataset
            )

    return InOrder


def plain_trainer(settings, arguments, rows):
    from transformers import Trainer, TrainingArguments

    return in_order(Trainer)(
        model=load_model(settings),
        args=TrainingArguments(**arguments),
        train_dataset=rows,
        data_collator=collate,
    )


def dpo_trainer(settings, arguments, data, tokenizer):
    from trl import DPOConfig, DPOTrainer

    class Ready(DPOTrainer):
        def _prepare_dataset(self, dataset, *_, **__):
            return dataset

    return in_order(Ready)(
        model=load_model(settings),
        args=DPOConfig(max_length=settings["length"], beta=settings["beta"], **arguments),
        train_dataset=data,
        processing_class=tokenizer,
    )


def orpo_trainer(settings, arguments, data, tokenizer):
    from trl.experimental.orpo import ORPOConfig, ORPOTrainer

    class Ready(ORPOTrainer):
        def tokenize_row(self, feature, model=None):
            prompt = feature["prompt_ids"]
            made = {"prompt_input_ids": prompt, "prompt_attention_mask": [1] * len(prompt)}
            for kind in ("chosen", "rejected"):
                answer = feature[kind + "_ids"]
                made[kind + "_input_ids"] = prompt + answer
                made[kind + "_attention_mask"] = [1] * (len(prompt) + len(answer))
                made[kind + "_labels"] = [IGNORED_LABEL] * len(prompt) + answer
            return made

    # It looks at texts before tokenize_row(), and does nothing with these.
    texts = [dict(row, prompt="p", chosen="c", rejected="r") for row in data]
    return in_order(Ready)(
        model=load_model(settings),
        args=ORPOConfig(max_length=settings["length"], beta=settings["beta"], **arguments),
        train_dataset=data.from_list(texts),
        processing_class=tokenizer,
    )


def reward_trainer(settings, arguments, data, tokenizer):
    from trl import RewardConfig, RewardTrainer

    whole = [
        {kind: row["prompt_ids"] + row[kind] for kind in ("chosen_ids", "rejected_ids")} for row in data
    ]
    return in_order(RewardTrainer)(
        model=load_model(settings),
        args=RewardConfig(max_length=settings["length"], **arguments),
        train_dataset=data.from_list(whole),
        processing_class=tokenizer,
    )


def main(path):
    with open(path, encoding="utf-8") as file:
        settings = json.load(file)
    import torch
    from transformers import set_seed

    if not settings["use_cpu"] and not torch.cuda.is_available():
        # Trainer would train on the CPU and say nothing.
        raise RuntimeError("CUDA is not available to PyTorch, but GPUs were asked for")
    set_seed(settings["seed"])
    texts = tunebench_texts.read_texts(settings["data"], settings["text_field"], settings["rows"])
    tokenizer = load_tokenizer(settings["model"])
    rows = tokenized(texts, tokenizer, settings["length"])
    arguments = training_arguments(settings)
    preferences = {"dpo": dpo_trainer, "orpo": orpo_trainer, "reward": reward_trainer}.get(settings["method"])
    if preferences is None:
        trainer = plain_trainer(settings, arguments, rows)
    else:
        from datasets import Dataset

        data = Dataset.from_list(pairs(rows, settings["length"]))
        trainer = preferences(settings, arguments, data, with_pad_token(tokenizer))
    trainer.train()


if __name__ == "__main__":
    main(sys.argv[1])
