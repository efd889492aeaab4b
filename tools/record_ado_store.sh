#!/usr/bin/env bash
# Records tests/golden/ado-store with ado itself: two sample stores in SQLite, filled from CSV files
# and by an operation each, and what ado exports of them.
#
#     python3.11 -m venv V && V/bin/pip install ado-core==2.3.0 typer==0.27.3 ado-sfttrainer==1.8.12
#     PATH=V/bin:$PATH tools/record_ado_store.sh tests/golden/ado-store [history|sft]...
#
# The second store needs ado-sfttrainer, which trains nothing here: its two points break a rule.
# Ids and times differ at each recording.
set -euo pipefail

inputs=$(cd "$(dirname "$0")/../tests/golden/ado-store" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
projects=("$@")
((${#projects[@]} > 0)) || projects=(history sft)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$inputs"/*.csv "$inputs"/*.yaml "$work"
cd "$work"
export HOME=$work XDG_CONFIG_HOME=$work/.config

id_of() {
  sqlite3 "$1.db" "select identifier from resources where kind = '$2' limit 1"
}

for project in "${projects[@]}"; do
  printf 'project: %s\nmetadataStore: {scheme: sqlite, path: %s}\n' \
    "$project" "$work/$project.db" >context.yaml
  ado create context -f context.yaml
  ado context "$project"
  ado create store -f "$project-store.yaml"
  store=$(id_of "$project" samplestore)
  sed "s/STORE/$store/" "$project-space.yaml" >space.yaml
  ado create space -f space.yaml
  sed "s/SPACE/$(id_of "$project" discoveryspace)/" walk.yaml >operation.yaml
  if [[ -f $project-actuator.yaml ]]; then
    ado create actuatorconfiguration -f "$project-actuator.yaml"
    printf 'actuatorConfigurationIdentifiers: [%s]\n' \
      "$(id_of "$project" actuatorconfiguration)" >>operation.yaml
  fi
  ado create operation -f operation.yaml
  operation=$(id_of "$project" operation)
  for format in target observed; do
    ado show measurements operation "$operation" --property-format $format -o csv \
      >"$out/$project-operation-$format.csv"
    ado show measurements samplestore "$store" --property-format $format -o csv \
      >"$out/$project-store-$format.csv"
  done
  sqlite3 "$project.db" vacuum
  cp "$project.db" "$out/$project.db"
done
