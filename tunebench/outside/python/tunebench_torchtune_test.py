"""Tests of torchtune's components of ours, over stand-ins: python3 tunebench_torchtune_test.py FAKE_PYTHON_FOLDER"""

import json
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
FAKES = os.path.abspath(sys.argv.pop(1))

# The order in which a recipe asks its components.
RECIPE = """
    import types, torch, tunebench_torchtune as own
    logger = own.Steps()
    logger.log_config(types.SimpleNamespace(dtype="bf16", enable_activation_checkpointing=True))
    saver = own.NoSave()
    saver.load_checkpoint()
    data = own.Texts(own.Tokenizer("{folder}", 5), path="{folder}/d.jsonl", field="output", rows=3, samples=8)
    assert len(data) == 8 and [len(data[at]["tokens"]) for at in range(8)] == [5, 2, 3, 5, 2, 3, 5, 2]
    for step in range(2):
        for micro in range(2):
            at = 4 * step + 2 * micro
            own.collate([data[at], data[at + 1]], padding_idx=0, ignore_idx=-100)
        logger.log_dict({{"loss": 2.5, "lr": 0.5, "grad_norm": torch.tensor(3.0)}}, step=step + 1)
    {end}
"""


class Torchtune(unittest.TestCase):
    def run_program(self, end, stop=False, code=0):
        with tempfile.TemporaryDirectory() as folder:
            events = os.path.join(folder, "events")
            with open(os.path.join(folder, "d.jsonl"), "w", encoding="utf-8") as file:
                for text in ("abcdefg", "ab", "abc", "never reached"):
                    file.write(json.dumps({"output": text}) + "\n")
            open(os.path.join(folder, "tokenizer.json"), "w", encoding="ascii").close()
            if stop:
                open(os.path.join(folder, "stop"), "w", encoding="ascii").close()
            environment = dict(os.environ, TUNEBENCH_EVENTS=events, TUNEBENCH_STOP=os.path.join(folder, "stop"))
            environment["PYTHONPATH"] = HERE + ":" + FAKES
            program = textwrap.dedent(RECIPE.format(folder=folder, end=end))
            done = subprocess.run(
                [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60
            )
            self.assertEqual(done.returncode, code, done.stderr)
            with open(events, encoding="utf-8") as lines:
                return [json.loads(line) for line in lines]

    def test_tells_each_step_with_what_was_collated(self):
        lines = self.run_program("saver.save_checkpoint({}, epoch=0); logger.close()")
        self.assertEqual(
            [line["event"] for line in lines],
            ["phase", "phase", "hello", "step", "memory", "step", "memory", "end"],
        )
        hello = lines[2]
        self.assertEqual((hello["trainer"], hello["device"], hello["parameters"]), ("torchtune", "cpu", 5))
        self.assertEqual((hello["compute_dtype"], hello["recompute"]), ("bfloat16", "block"))
        first, second = (line for line in lines if line["event"] == "step")
        self.assertEqual((first["samples"], first["tokens"], first["tokens_nonpad"]), (4, 20, 15))
        self.assertEqual(first["tokens_trained"], 11, "after the shift by one")
        self.assertEqual((second["tokens"], second["tokens_nonpad"]), (16, 12))
        self.assertEqual((first["loss"], first["grad_norm"], first["lr"]), (2.5, 3.0, 0.5))
        self.assertEqual(lines[-1], {"event": "end", "status": "ok", "steps": 2})

    def test_stops_when_asked_and_ends_well(self):
        lines = self.run_program("raise AssertionError('trained on')", stop=True)
        self.assertEqual([line["event"] for line in lines].count("step"), 1)
        self.assertEqual(lines[-1], {"event": "end", "status": "ok", "steps": 1})

    def test_a_recipe_that_fails_tells_no_end(self):
        lines = self.run_program("raise ValueError('later')", code=1)
        self.assertNotIn("end", [line["event"] for line in lines])


if __name__ == "__main__":
    unittest.main()
