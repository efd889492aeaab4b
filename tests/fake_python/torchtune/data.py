import torch


def padded_collate_sft(batch, padding_idx, ignore_idx):
    longest = max(len(row["tokens"]) for row in batch)
    tokens = [row["tokens"] + [padding_idx] * (longest - len(row["tokens"])) for row in batch]
    labels = [row["labels"] + [ignore_idx] * (longest - len(row["labels"])) for row in batch]
    return {"tokens": torch.tensor(tokens), "labels": torch.tensor(labels)}
