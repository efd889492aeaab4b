#include <algorithm>
#include <cmath>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/files.h"
#include "tunebench/experiment/property.h"
#include "tunebench/plans/plan_document.h"
#include "tunebench/plans/test_options.h"
#include "tunebench/record/record.h"

namespace tunebench::plans {
namespace {

using testing::IsEmpty;

/// The part of JSON Schema that our schema uses; any other keyword fails the test.
class Checker {
 public:
  explicit Checker(const Json& schema) : root_(schema) {}

  bool fits(const Json& value, const Json& schema) const {
    for (const auto& [keyword, rule] : schema.as_object()) {
      if (!keeps(value, keyword, rule, schema)) {
        return false;
      }
    }
    return true;
  }
  [[nodiscard]] bool fits(const Json& value) const { return fits(value, root_); }

 private:
  bool keeps(const Json& value, const std::string& keyword, const Json& rule,
             const Json& schema) const {
    if (keyword == "$ref") {
      const std::string name = rule.as_string().substr(std::string("#/definitions/").size());
      return fits(value, root_.at("definitions").at(name));
    }
    if (keyword == "anyOf") {
      return std::any_of(rule.as_array().begin(), rule.as_array().end(),
                         [&](const Json& one) { return fits(value, one); });
    }
    if (keyword == "enum") {
      return std::find(rule.as_array().begin(), rule.as_array().end(), value) !=
             rule.as_array().end();
    }
    if (keyword == "const") {
      return value == rule;
    }
    if (keyword == "type") {
      const Json::Array types = rule.is_array() ? rule.as_array() : Json::Array{rule};
      return std::any_of(types.begin(), types.end(),
                         [&](const Json& one) { return has_type(value, one.as_string()); });
    }
    if (keyword == "properties" && value.is_object()) {
      return std::all_of(value.as_object().begin(), value.as_object().end(), [&](const auto& one) {
        const Json* found = rule.find(one.first);
        return found == nullptr ? schema.find("additionalProperties") == nullptr
                                : fits(one.second, *found);
      });
    }
    if (keyword == "required" && value.is_object()) {
      return std::all_of(rule.as_array().begin(), rule.as_array().end(),
                         [&](const Json& key) { return value.find(key.as_string()) != nullptr; });
    }
    if (keyword == "items" && value.is_array()) {
      return std::all_of(value.as_array().begin(), value.as_array().end(),
                         [&](const Json& item) { return fits(item, rule); });
    }
    if (keyword == "minItems" && value.is_array()) {
      return value.as_array().size() >= static_cast<std::size_t>(rule.as_int());
    }
    if (keyword == "minimum" && value.is_number()) {
      return value.as_double() >= rule.as_double();
    }
    if (keyword == "exclusiveMaximum" && value.is_number()) {
      return value.as_double() < rule.as_double();
    }
    if (keyword == "pattern" && value.is_string()) {
      EXPECT_EQ(rule.as_string(), "\\.\\.");
      return value.as_string().find("..") != std::string::npos;
    }
    static const std::set<std::string> kOther{
        "description", "default",  "title", "definitions", "$schema", "additionalProperties",
        "properties",  "required", "items", "minItems",    "minimum", "exclusiveMaximum",
        "pattern"};
    EXPECT_TRUE(kOther.contains(keyword)) << keyword;
    return true;
  }

  static bool has_type(const Json& value, const std::string& type) {
    return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
           (type == "string" && value.is_string()) || (type == "boolean" && value.is_bool()) ||
           (type == "number" && value.is_number()) ||
           (type == "integer" && value.is_number() &&
            value.as_double() == std::floor(value.as_double()));
  }

  const Json& root_;
};

Json yaml(std::string_view text) {
  Diagnostics problems;
  const auto documents = config::parse_yaml(text, "p.yaml", problems);
  EXPECT_THAT(problems, IsEmpty()) << text;
  return documents.at(0).root.json();
}

TEST(PlanSchema, TakesTheExampleOfTheRepository) {
  const Json schema = plan_schema(test_options());
  EXPECT_EQ(schema.at("$schema"), Json("http://json-schema.org/draft-07/schema#"));
  EXPECT_TRUE(Checker(schema).fits(yaml(read_file(TB_EXAMPLE))));
}

TEST(PlanSchema, KnowsEveryInputMetricAndMethod) {
  const Json schema = plan_schema(test_options());
  const Json& inputs = schema.at("definitions").at("inputs").at("properties");
  for (const experiment::Property& property : experiment::properties()) {
    const Json& one = inputs.at(property.name);
    EXPECT_FALSE(one.at("description").as_string().empty());
    EXPECT_EQ(one.find("default") == nullptr, property.required) << property.name;
    if (!property.required) {
      EXPECT_TRUE(Checker(schema).fits(property.default_value, one)) << property.name;
    }
  }
  for (const SearchMethod& method : search_methods()) {
    EXPECT_TRUE(Checker(schema).fits(Json::object({{"search", method.name}})));
  }
  EXPECT_TRUE(Checker(schema).fits(yaml("optimize: max tokens_per_s")));
  EXPECT_EQ(schema.at("properties").find("json"), nullptr);
}

TEST(PlanSchema, AgreesWithTheReader) {
  const Json schema = plan_schema(test_options());
  const std::vector<std::pair<const char*, bool>> cases{
      {"repeats: 3\nfresh: true\norder: random\n", true},
      {"order: sorted\n", false},
      {"repeat: 3\n", false},
      {"inputs: {batch_size: [1, 2..8], model_name: tiny}\n", true},
      {"inputs: {batch_size: {from: 1, to: 8, factor: 2}}\n", true},
      {"inputs: {batch_size: 0}\n", false},
      {"inputs: {batch_size: 1.5}\n", false},
      {"inputs: {bacth_size: 1}\n", false},
      {"inputs: {torch_dtype: [float32, bfloat16]}\n", true},
      {"inputs: {torch_dtype: float33}\n", false},
      {"inputs: {fast_kernels: [\"True\", \"True\", \"True\"]}\n", true},
      {"search: {method: tpe, seed: 4}\n", true},
      {"search: {method: tpe, block: 4}\n", false},
      {"search: tpes\n", false},
      {"optimize: {max: tokens_per_s, min: [host_peak_bytes]}\n", true},
      {"optimize: token_per_s\n", false},
      {"stop: {points: 5, time: 2 h}\n", true},
      {"stop: {pints: 5}\n", false},
      {"where: [batch_size > 1]\n", true},
      {"where: 4\n", false},
      {"experiments: [{experiment: finetune_full_benchmark-v1.0.0, inputs: {max_steps: 4}}]\n",
       true},
      {"experiments: [{inputs: {max_steps: 4}}]\n", false},
      {"compare: {baseline: x, by: [batch_size]}\nfail_if: tokens_per_s < -3%\n", true},
      {"compare: {by: [batch_size]}\n", false},
  };
  for (const auto& [text, fits] : cases) {
    EXPECT_EQ(Checker(schema).fits(yaml(text)), fits) << text;
    Diagnostics problems;
    const auto documents = config::parse_yaml(text, "p.yaml", problems);
    read_plan(documents.at(0), test_options(), problems);
    EXPECT_EQ(problems.empty(), fits || std::string_view(text).starts_with("order"))
        << text << (problems.empty() ? "" : problems[0].line());
  }
}

}  // namespace
}  // namespace tunebench::plans
