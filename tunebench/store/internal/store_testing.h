#pragma once

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include "tunebench/record/record.h"
#include "tunebench/store/store.h"

namespace tunebench::store {

/// What tests begin runs with.
inline NewRun new_run(const std::string& command = "x", std::int64_t planned = 1) {
  return {.command = command, .planned = planned, .plan = {}, .simulated = false};
}

/// A record with everything a store looks at. For tests.
inline record::Record sample_record(const std::string& run, const std::string& key = "key") {
  record::Record record;
  record.id = record::new_record_id();
  record.run = run;
  record.key = key;
  record.experiment = "finetune_full_benchmark-v1.0.0";
  record.inputs = {{"model_name", "tiny"}, {"batch_size", 4}};
  record.trainer = "native";
  record.trainer_version = "0.1.0";
  record.started_at = "2026-12-01T08:30:00Z";
  record.set("tokens_per_s", 100.5);
  return record;
}

/// Runs `body` in a child process, which ends without running anything of the parent's exit.
inline pid_t start_child(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      body();
      _exit(0);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
      _exit(1);
    }
  }
  return child;
}

/// Exit code of a child, 128 + signal when one ended it.
inline int wait_for(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) {
    return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace tunebench::store
