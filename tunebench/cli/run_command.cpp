#include <utility>

#include "tunebench/cli/asked.h"
#include "tunebench/cli/command.h"
#include "tunebench/cli/detach.h"
#include "tunebench/cli/measuring.h"
#include "tunebench/store/store.h"

namespace tunebench::cli {

namespace {

int run(const Invocation& invocation, Console& console) {
  const std::optional<Wanted> wanted = prepare(invocation, nullptr, console);
  if (!wanted) {
    return kUsage;
  }
  if (const config::GivenOption* save = invocation.line.find("save_plan")) {
    return save_plan(wanted->asked, save->value, console);
  }
  const bool quiet = invocation.line.has("quiet");
  if (!invocation.line.has("detach")) {
    return measure(*wanted, quiet, console);
  }
  return run_detached(
      store::folder_of_store(wanted->location) / "logs", console,
      [&](Console& log, const Started& started) { return measure(*wanted, quiet, log, started); });
}

}  // namespace

Command run_command() {
  config::CommandSpec spec{
      .name = "run",
      .summary =
          "measure every combination of the given inputs. An input takes one value, a list 4,8 or "
          "a range 1..8, 512..2048:512 or 1e-6..1e-3*10. What was measured before is reused.",
      .details =
          "FILE is a plan (docs/file-formats.md) or files of ado, given together "
          "(docs/ado.md); options win over what it says. tunebench plan takes the same words and "
          "only tells what a run would do.",
      .arguments = {{.name = "FILE",
                     .help = "a plan file, or files of ado",
                     .required = false,
                     .repeats = true}},
      .options = asking_options(),
      .examples = {"tunebench run --model tiny --length 32,64 --batch 1,2",
                   "tunebench run --model smollm2-135m --length 512,1024 --batch 1,2",
                   "tunebench run plan.yaml --repeats 5",
                   "tunebench run --model tiny --length 32,64 --batch 1..8 --where "
                   "'model_max_length * batch_size <= 256' --save-plan plan.yaml",
                   "tunebench run space.yaml operation.yaml actuatorconfiguration.yaml",
                   "tunebench run --model DIR --dataset FILE.jsonl --length 512 --batch 1 "
                   "--until 1%",
                   "tunebench run --model tiny --length 32 --batch 1 --trainer simulated "
                   "--simulation FILE.json",
                   "tunebench run --model DIR --length 512 --batch 1,2 --trainer native,hf",
                   "tunebench run --model DIR --length 512 --batch 1 --trainer command -- "
                   "python train.py --model {model_name} --steps {planned_steps}"},
      .words_after = "PROGRAM [ARGUMENTS]"};
  spec.options.push_back(
      {.name = "detach",
       .takes_value = false,
       .help = "measure in the background, also after the terminal is closed; tells the run's name "
               "at once. tunebench watch NAME, tunebench stop NAME"});
  return {std::move(spec), run};
}

}  // namespace tunebench::cli
