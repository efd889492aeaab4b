#pragma once

#include "tunebench/config/yaml_reader.h"
#include "tunebench/plans/plan_document.h"

namespace tunebench::plans {

/// What a document of the reference system is; its files do not say.
enum class AdoKind { None, Space, Operation, ActuatorConfiguration, SampleStore };
/// By its keys: the kind of which most are there, misspelt ones counting too.
AdoKind ado_kind(const config::YamlNode& root);

/// Reads documents of the reference system that are given together. docs/ado.md says what each key
/// means here.
PlanDocument read_ado(const std::vector<config::YamlDocument>& documents, Diagnostics& problems);

// The parts, each with its mistakes.
void read_ado_space(const config::YamlDocument& file, PlanDocument& document,
                    Diagnostics& problems);
void read_ado_operation(const config::YamlDocument& file, PlanDocument& document,
                        Diagnostics& problems);
void read_ado_actuator(const config::YamlDocument& file, PlanDocument& document,
                       Diagnostics& problems);
void read_ado_store(const config::YamlDocument& file, PlanDocument& document,
                    Diagnostics& problems);
/// name, description, labels; other keys are free.
void read_ado_metadata(config::MappingReader& reader);

}  // namespace tunebench::plans
