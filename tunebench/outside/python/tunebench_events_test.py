"""Tests of tunebench_events with nothing but the standard library: python3 tunebench_events_test.py FAKES
where FAKES is the folder of the fake torch and transformers."""

import json
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
FAKES = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else ""
sys.path.insert(0, HERE)

import tunebench_events as events  # noqa: E402


def batch(**members):
    import torch

    return {name: torch.tensor(values) for name, values in members.items()}


class Line(unittest.TestCase):
    """Runs programs in processes of their own, as a trainer is run."""

    def run_program(self, text, hook=True, environment=None, code=0, name="events"):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        path = os.path.join(self.folder.name, name)
        variables = dict(os.environ)
        for unwanted in ("TUNEBENCH_EVENTS_FD", "TUNEBENCH_STOP", "RANK", "LOCAL_RANK", "WORLD_SIZE"):
            variables.pop(unwanted, None)
        variables["TUNEBENCH_EVENTS"] = path
        variables["PYTHONPATH"] = HERE + ":" + FAKES if hook else FAKES
        variables["PYTHONDONTWRITEBYTECODE"] = "1"
        variables.update(environment or {})
        if "TUNEBENCH_STOP" in variables:
            variables["TUNEBENCH_STOP"] = os.path.join(self.folder.name, variables["TUNEBENCH_STOP"])
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(text)],
            env=variables,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.assertEqual(done.returncode, code, done.stderr)
        self.stderr = done.stderr
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]


TRAIN = """
    import transformers, torch
    from transformers.trainer import Trainer, TrainingArguments
    {more}
    rows = [{{"input_ids": torch.tensor([[5, 6, 7, 0], [5, 6, 7, 8]]),
             "attention_mask": torch.tensor([[1, 1, 1, 0], [1, 1, 1, 1]]),
             "labels": torch.tensor([[5, 6, 7, -100], [-100, -100, 7, 8]])}}] * 100
    Trainer(args=TrainingArguments(max_steps=3, gradient_accumulation_steps=2), train_dataset=rows).train()
    {after}
"""


class WatchedTrainer(Line):
    def test_tells_a_whole_run(self):
        lines = self.run_program(TRAIN.format(more="", after=""))
        self.assertEqual(
            [line["event"] for line in lines],
            ["phase", "hello", "phase", "memory", "step", "step", "step", "memory", "phase", "memory", "end"],
        )
        hello = lines[1]
        self.assertEqual(hello["trainer"], "transformers.Trainer")
        self.assertEqual(hello["version"], "5.fake")
        self.assertEqual((hello["device"], hello["world"], hello["rank"]), ("cpu", 1, 0))
        self.assertEqual(hello["threads"], 2)
        self.assertEqual(lines[-1], {"event": "end", "status": "ok", "steps": 3})

    def test_counts_padding_and_labels_after_the_shift(self):
        steps = [line for line in self.run_program(TRAIN.format(more="", after="")) if line["event"] == "step"]
        for step in steps:
            self.assertEqual(step["samples"], 4)
            self.assertEqual(step["tokens"], 16)
            self.assertEqual(step["tokens_nonpad"], 14)
            # Of each pair of rows: 6 and 7 of the first, 7 and 8 of the second.
            self.assertEqual(step["tokens_trained"], 8)
            self.assertEqual(step["loss"], 2.5)
            self.assertEqual((step["grad_norm"], step["lr"]), (0.75, 1e-05))

    def test_times_hold_the_making_of_the_batch_and_do_not_overlap(self):
        steps = [line for line in self.run_program(TRAIN.format(more="", after="")) if line["event"] == "step"]
        for step in steps:
            self.assertGreater(step["t1"] - step["t0"], 3_000_000)
        for before, after in zip(steps, steps[1:]):
            self.assertGreaterEqual(after["t0"], before["t1"])

    def test_stops_when_asked(self):
        lines = self.run_program(
            TRAIN.format(more="import os; open(os.environ['TUNEBENCH_STOP'], 'w').close()", after=""),
            environment={"TUNEBENCH_STOP": "stop"},
        )
        self.assertEqual([line["event"] for line in lines].count("step"), 1)
        self.assertEqual(lines[-1], {"event": "end", "status": "ok", "steps": 1})

    def test_a_failure_after_training_is_no_good_end(self):
        lines = self.run_program(TRAIN.format(more="", after="raise ValueError('saving')"), code=1)
        self.assertNotIn("end", [line["event"] for line in lines])
        self.assertIn("ValueError: saving", self.stderr)

    def test_a_run_that_never_trains_tells_no_end(self):
        lines = self.run_program("import transformers.trainer")
        self.assertEqual([line["event"] for line in lines], ["phase"])

    def test_subclasses_are_watched_too_and_pairs_are_halved(self):
        lines = self.run_program(
            """
            import torch
            from transformers.trainer import Trainer, TrainingArguments
            class DPOTrainer(Trainer):
                pass
            rows = [{"input_ids": torch.tensor([[5, 6], [5, 7]]), "completion_mask": torch.tensor([[0, 1], [0, 1]]),
                     "attention_mask": torch.tensor([[1, 1], [1, 1]])}] * 9
            DPOTrainer(args=TrainingArguments(max_steps=1, gradient_accumulation_steps=2), train_dataset=rows).train()
            """
        )
        step = [line for line in lines if line["event"] == "step"][0]
        self.assertEqual((step["samples"], step["tokens"], step["tokens_trained"]), (2, 8, 4))

    def test_out_of_memory_is_told_by_its_kind(self):
        for kind, outcome in (("MemoryError", "oom_host"), ("OutOfMemoryError", "oom_gpu")):
            lines = self.run_program(
                """
                class OutOfMemoryError(RuntimeError): pass
                raise %s("no room\\nat all")
                """
                % kind,
                code=1,
            )
            self.assertEqual(lines[-1]["event"], "error")
            self.assertEqual(lines[-1]["kind"], outcome)
            self.assertEqual(lines[-1]["message"], kind + ": no room at all")

    def test_what_cannot_be_watched_still_trains(self):
        lines = self.run_program(
            """
            import transformers.trainer as module
            print(module.Trainer.train)
            """,
            environment={"TUNEBENCH_EVENTS": "/no/such/folder/events"},
        )
        self.assertEqual(lines, [])
        self.assertIn("cannot watch transformers.trainer", self.stderr)

    def test_without_tunebench_nothing_is_touched(self):
        lines = self.run_program(
            "import sys, transformers.trainer as m; assert not m.DEFAULT_CALLBACKS; sys.exit(0)",
            environment={"TUNEBENCH_EVENTS": ""},
        )
        self.assertEqual(lines, [])

    def test_the_machines_own_sitecustomize_still_runs(self):
        with tempfile.TemporaryDirectory() as other:
            with open(os.path.join(other, "sitecustomize.py"), "w", encoding="utf-8") as file:
                file.write("import os; os.environ['OWN'] = 'ran'\n")
            self.run_program(
                "import os, tunebench_events; assert os.environ['OWN'] == 'ran'",
                environment={"PYTHONPATH": HERE + ":" + other},
            )

    def test_a_rank_names_itself(self):
        lines = self.run_program(TRAIN.format(more="", after=""), environment={"RANK": "1", "WORLD_SIZE": "2"})
        self.assertTrue(all(line["rank"] == 1 for line in lines), lines)
        self.assertEqual([line["world"] for line in lines if line["event"] == "hello"], [2])


class Silence(Line):
    WAIT = """
        import time, torch, tunebench_events as told
        told.tell_where_it_hangs(0.2)
        {before}
        def waits_for_the_others():
            time.sleep(0.6)
        waits_for_the_others()
        """

    def test_a_run_without_a_step_says_where_it_hangs(self):
        self.run_program(self.WAIT.format(before=""))
        self.assertIn("in waits_for_the_others", self.stderr)

    def test_after_the_first_step_nothing_is_said(self):
        self.run_program(
            self.WAIT.format(before="told.begin_step(); told.count_numbers(1, 2, 2, 1); told.end_step()")
        )
        self.assertEqual(self.stderr, "")


class OwnLoop(Line):
    def test_tells_a_loop_of_ones_own(self):
        lines = self.run_program(
            """
            import torch, tunebench_events as told
            told.hello("mine", "7", "cpu", threads=3)
            told.phase("train")
            for n in range(3):
                with told.step() as one:
                    one.count({"input_ids": torch.tensor([[1, 2, 0]])}, pad_id=0)
                    one.add_loss(float("nan") if n == 1 else 2.0)
            told.end()
            """
        )
        steps = [line for line in lines if line["event"] == "step"]
        self.assertEqual([step["n"] for step in steps], [1, 2, 3])
        self.assertEqual((steps[0]["tokens"], steps[0]["tokens_nonpad"], steps[0]["tokens_trained"]), (3, 2, 2))
        self.assertIsNone(steps[1]["loss"], "not finite")
        self.assertEqual(lines[-1], {"event": "end", "status": "ok", "steps": 3})

    def test_does_nothing_without_tunebench(self):
        self.run_program(
            """
            import tunebench_events as told
            told.hello("mine")
            told.begin_step(); told.count_numbers(1, 2, 2, 1); assert told.end_step(loss=1.0)
            told.end()
            """,
            environment={"TUNEBENCH_EVENTS": ""},
        )

    def test_ranks_agree_on_the_last_step(self):
        with tempfile.TemporaryDirectory() as folder:
            stop = os.path.join(folder, "stop")
            channel = events.Channel({"TUNEBENCH_STOP": stop})
            self.assertFalse(channel.agreed_stop(1, 0, 2))
            open(stop, "w", encoding="ascii").close()
            # Rank 0 has ended step 2 and writes down 3; rank 1 is still in step 2 or ends it later.
            self.assertFalse(channel.agreed_stop(2, 0, 2))
            other = events.Channel({"TUNEBENCH_STOP": stop})
            self.assertFalse(other.agreed_stop(2, 1, 2))
            self.assertTrue(other.agreed_stop(3, 1, 2))
            self.assertTrue(channel.agreed_stop(3, 0, 2))

    def test_a_device_is_waited_for_and_its_fullest_peak_told(self):
        sys.path.insert(0, FAKES)
        import torch

        torch.cuda.devices = 2
        try:
            before = torch.cuda.waits
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "events")
                told = events.Teller(events.Channel({"TUNEBENCH_EVENTS": path}))
                told.begin_step()
                told.count(batch(input_ids=[[1, 2, 3]]))
                told.end_step()
                self.assertEqual(torch.cuda.waits, before + 2)
                with open(path, encoding="utf-8") as file:
                    memory = [json.loads(line) for line in file if '"memory"' in line]
                self.assertEqual(memory[0]["device_peak_bytes"], 300)
                self.assertGreater(memory[0]["host_peak_bytes"], 1 << 20)
        finally:
            torch.cuda.devices = 0

    def test_prompts_that_are_not_computed_are_not_counted(self):
        sys.path.insert(0, FAKES)
        counts = events.Counts()
        counts.add_batch(
            batch(
                prompt_input_ids=[[1, 2, 3, 4]],
                chosen_input_ids=[[1, 2, 3]],
                chosen_attention_mask=[[1, 1, 1]],
                chosen_labels=[[-100, 2, 3]],
                rejected_input_ids=[[1, 9, 0]],
                rejected_attention_mask=[[1, 1, 0]],
                rejected_labels=[[-100, 9, -100]],
            )
        )
        self.assertEqual(
            counts.values(), {"samples": 1, "tokens": 6, "tokens_nonpad": 5, "tokens_trained": 3}
        )


if __name__ == "__main__":
    unittest.main()
