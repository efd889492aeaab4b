#include "tunebench/outside/yaml_text.h"

#include <gtest/gtest.h>

namespace tunebench::outside {
namespace {

std::string yaml(const char* json) {
  return yaml_text(Json::parse(json, "json"));
}

TEST(YamlText, NestsObjectsAndLists) {
  EXPECT_EQ(yaml(R"({"a": {"b": [1, {"c": true, "d": null}, []], "e": {}}, "f": "x"})"),
            "a:\n"
            "  b:\n"
            "    - 1\n"
            "    - c: true\n"
            "      d: null\n"
            "    - []\n"
            "  e: {}\n"
            "f: x\n");
}

TEST(YamlText, NumbersAreNumbersToReadersOfTheOlderVersion) {
  EXPECT_EQ(yaml(R"([1e-05, 0.0, 2.5, 1e20, -3])"), "- 1.0e-05\n- 0.0\n- 2.5\n- 1.0e+20\n- -3\n");
}

TEST(YamlText, TextsThatLookLikeSomethingElseStandInQuotes) {
  EXPECT_EQ(
      yaml(
          R"(["no", "1.5", "a b", "/m/x-1.jsonl", "", "it's: #", "32-true", "torch.optim.AdamW"])"),
      "- \"no\"\n- \"1.5\"\n- \"a b\"\n- /m/x-1.jsonl\n- \"\"\n- \"it's: #\"\n- \"32-true\"\n"
      "- torch.optim.AdamW\n");
}

}  // namespace
}  // namespace tunebench::outside
