"""Tests of the watcher of LitGPT, over stand-ins: python3 tunebench_watch_litgpt_test.py FAKE_PYTHON_FOLDER"""

import json
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
FAKES = os.path.abspath(sys.argv.pop(1))

TRAIN = """
    import torch
    from litgpt.finetune import full
    weights = {{"wte.weight": torch.tensor([[1, 2], [3, 4]]), "lora_A": torch.tensor([[9]])}}
    for one in weights.values():
        one.grad = None
    def batch(loss):
        return {{"input_ids": torch.tensor([[5, 6, 7, 8], [5, 6, 0, 0]]),
                "labels": torch.tensor([[5, 6, 7, 8], [5, 6, -100, -100]]),
                "token_counts": {{"raw_plus_prompt_template": torch.tensor([4, 2])}},
                "loss": torch.tensor(loss)}}
    {more}
    print(full.main([batch(1.0), batch(0.5)], weights))
    {after}
"""


class LitGpt(unittest.TestCase):
    def run_program(self, more="", after="", stop=False, code=0):
        with tempfile.TemporaryDirectory() as folder:
            events = os.path.join(folder, "events")
            if stop:
                open(os.path.join(folder, "stop"), "w", encoding="ascii").close()
            environment = dict(os.environ, TUNEBENCH_EVENTS=events, TUNEBENCH_STOP=os.path.join(folder, "stop"))
            environment["PYTHONPATH"] = HERE + ":" + FAKES
            program = textwrap.dedent(TRAIN.format(more=more, after=after))
            done = subprocess.run(
                [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60
            )
            self.assertEqual(done.returncode, code, done.stderr)
            self.stdout, self.stderr = done.stdout, done.stderr
            with open(events, encoding="utf-8") as lines:
                return [json.loads(line) for line in lines]

    def test_tells_steps_of_the_loop_and_no_others(self):
        lines = self.run_program()
        self.assertEqual(
            [line["event"] for line in lines],
            ["phase", "hello", "phase", "step", "memory", "step", "step", "memory", "phase", "memory", "end"],
        )
        self.assertEqual(lines[1]["trainer"], "litgpt")
        self.assertEqual((lines[1]["device"], lines[1]["recompute"]), ("cpu", "none"))
        self.assertEqual(lines[1]["parameters"], 4, "without those of LoRA")
        for step in (line for line in lines if line["event"] == "step"):
            self.assertEqual((step["samples"], step["tokens"]), (4, 16))
            self.assertEqual(step["tokens_nonpad"], 12)
            self.assertEqual(step["tokens_trained"], 8, "after the shift by one")
            self.assertEqual(step["loss"], 1.5)
            self.assertEqual(step["lr"], 1e-5)
        self.assertEqual(lines[-1], {"event": "end", "status": "ok", "steps": 3})
        self.assertEqual(self.stdout, "3\n")

    def test_stops_when_asked_and_ends_well(self):
        lines = self.run_program(stop=True)
        self.assertEqual([line["event"] for line in lines].count("step"), 1)
        self.assertEqual(lines[-1], {"event": "end", "status": "ok", "steps": 1})
        self.assertEqual(self.stdout, "1\n")

    def test_a_failure_after_training_is_no_good_end(self):
        lines = self.run_program(after="raise ValueError('saving')", code=1)
        self.assertNotIn("end", [line["event"] for line in lines])

    def test_a_failure_in_training_is_no_good_end(self):
        lines = self.run_program(more="weights = None", code=1)
        self.assertNotIn("end", [line["event"] for line in lines])


if __name__ == "__main__":
    unittest.main()
