"""The shape of LitGPT's loop: what it asks for, in its order."""

from lightning.fabric.fabric import Fabric
from litgpt.utils import CycleIterator
from torch.optim.optimizer import Optimizer


class Model:
    def __init__(self, weights):
        self.weights = weights

    def named_parameters(self):
        return list(self.weights.items())


def fit(fabric, state, batches, accumulate, max_steps, epochs):
    iterator = CycleIterator(batches)
    optimizer = state["optimizer"]
    steps = taken = 0
    while steps < max_steps:
        taken += 1
        batch = next(iterator)
        if iterator.epoch >= epochs:
            break
        fabric.backward(batch["loss"])
        if taken % accumulate == 0:
            optimizer.step()
            steps += 1
    return steps


def main(batches, weights, accumulate=2, max_steps=3, epochs=9):
    optimizer = Optimizer(list(weights.values()), 1e-5)
    # A step outside fit() is none of the training.
    optimizer.step()
    return fit(
        fabric=Fabric(),
        state={"model": Model(weights), "optimizer": optimizer},
        batches=batches,
        accumulate=accumulate,
        max_steps=max_steps,
        epochs=epochs,
    )
