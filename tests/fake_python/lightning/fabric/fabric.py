import torch


class Fabric:
    device = torch.device("cpu")

    def backward(self, tensor, *more, **named):
        self.went_backward = tensor
