"""The data module that LitGPT's configuration file names."""

import torch
import tunebench_texts
from litgpt.data import DataModule, get_sft_collate_fn
from litgpt.prompts import Default
from torch.utils.data import DataLoader, Dataset


class Samples(Dataset):
    """What LitGPT's loop and its search for the longest row read of a row."""

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        ids = torch.tensor(self.rows[index], dtype=torch.int64)
        counts = {"raw": len(ids), "raw_plus_prompt_template": len(ids)}
        return {"input_ids": ids, "labels": ids.clone(), "token_counts": counts}


class Texts(DataModule):
    """Texts as they are: no prompt template, no end token, not shuffled, nothing to validate with."""

    def __init__(self, tokenizer: str, path: str, field: str, rows: int, samples: int):
        super().__init__()
        self.tokenizer_folder = tokenizer
        self.path = path
        self.field = field
        self.rows = rows
        self.samples = samples
        self.prompt_style = Default()
        self.batch_size = 1
        self.length = 0
        self.train = []

    def connect(self, tokenizer=None, batch_size: int = 1, max_seq_length: int | None = None, **_) -> None:
        self.batch_size = batch_size
        self.length = max_seq_length

    def setup(self, stage: str = "") -> None:
        tokenizer = tunebench_texts.load_tokenizer(self.tokenizer_folder, self.length)
        self.train = tunebench_texts.Rows(self.path, self.field, self.rows, self.samples, tokenizer)

    def _loader(self, rows):
        collate = get_sft_collate_fn(max_seq_length=self.length)
        return DataLoader(
            Samples(rows), batch_size=self.batch_size, shuffle=False, num_workers=0, collate_fn=collate
        )

    def train_dataloader(self):
        return self._loader(self.train)

    def val_dataloader(self):
        return self._loader([])
