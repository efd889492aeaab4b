"""Hands the model back as it is."""


class LoraConfig:
    def __init__(self, r, lora_alpha, lora_dropout, target_modules, task_type):
        assert isinstance(target_modules, list) and r > 0 and task_type == "CAUSAL_LM"


def get_peft_model(model, config):
    return model
