import torch


class FullModelHFCheckpointer:
    def load_checkpoint(self):
        return {"model": {"a": torch.tensor([[1, 2], [3, 4]]), "b": torch.tensor([5])}}

    def save_checkpoint(self, *_, **__):
        raise AssertionError("nothing is saved")
