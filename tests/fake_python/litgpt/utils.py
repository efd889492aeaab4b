import torch.optim.optimizer  # noqa: F401, as LitGPT's own imports do


class CycleIterator:
    def __init__(self, batches):
        self.batches = batches
        self.epoch = 0
        self.at = 0

    def __next__(self):
        if self.at == len(self.batches):
            self.at = 0
            self.epoch += 1
        self.at += 1
        return self.batches[self.at - 1]
