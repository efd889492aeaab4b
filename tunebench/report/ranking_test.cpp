#include "tunebench/report/ranking.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tunebench::report {
namespace {

using testing::HasSubstr;

/// The granite rows of section 3.5 of the project's specification.
RankedPoints granite() {
  RankedPoints points{.origin = "brisk-otter",
                      .objectives = {{"tokens_per_s", true}, {"peak_mem_gib", false}}};
  const auto add = [&](const char* model, int gpus, double rate, double gib) {
    points.inputs.push_back({{"model_name", model}, {"number_gpus", gpus}});
    points.figures.push_back({{rate}, {gib}});
  };
  add("a", 1, 5200, 31.5);
  add("b", 1, 6100, 47.0);
  add("a", 2, 9300, 22.4);
  add("b", 2, 11300, 34.9);
  return points;
}

TEST(ParetoText, ShowsTheFrontAndWhoDominates) {
  const RankedPoints points = granite();
  const auto front = analyze::pareto(points.figures, points.objectives);
  EXPECT_EQ(pareto_text(points, front),
            "pareto of brisk-otter: max tokens_per_s, min peak_mem_gib\n"
            "model  gpus  tokens_per_s  peak_mem_gib  front\n"
            "a         1         5,200         31.50  dominated by model=a gpus=2\n"
            "b         1         6,100         47.00  dominated by model=a gpus=2\n"
            "a         2         9,300         22.40  *\n"
            "b         2        11,300         34.90  *\n"
            "2 of 4 points on the front\n");
}

TEST(ParetoText, MarksWhatIsWithinTheIntervals) {
  RankedPoints points = granite();
  points.figures[2] = {{11290, 20}, {34.9}};
  points.left_out = 1;
  const auto front = analyze::pareto(points.figures, points.objectives);
  const std::string text = pareto_text(points, front);
  EXPECT_THAT(text, HasSubstr("~ close to model=b gpus=2\n"));
  EXPECT_THAT(text, HasSubstr("~: better only by less than the joint 95 % interval"));
  EXPECT_THAT(text, HasSubstr("1 point left out: no value of an objective\n"));
}

TEST(ParetoJson, IsVersioned) {
  const RankedPoints points = granite();
  const Json json = pareto_json(points, analyze::pareto(points.figures, points.objectives));
  EXPECT_EQ(json.at("schema").as_string(), "tunebench.pareto/1");
  EXPECT_EQ(json.at("points").as_array()[0].at("dominated_by").as_int(), 2);
  EXPECT_TRUE(json.at("points").as_array()[3].at("on_front").as_bool());
  EXPECT_EQ(
      json.at("points").as_array()[3].at("figures").at("peak_mem_gib").at("value").as_double(),
      34.9);
}

TEST(BestText, NamesTheNextAndTies) {
  RankedPoints points = granite();
  points.objectives.pop_back();
  points.figures = {{{71480}}, {{63940}}, {{63900}}, {{10}}};
  const std::vector<BestOfGroup> groups = {
      {.group = {"x"},
       .members = {0, 1},
       .best = *analyze::best_of(std::vector<analyze::Figure>{{71480}, {63940}}, true)},
      {.group = {"y"},
       .members = {1, 2},
       .best = *analyze::best_of(std::vector<analyze::Figure>{{63940}, {63900}}, true)}};
  EXPECT_EQ(best_text(points, std::vector<std::string>{"model"}, groups),
            "model=x: best tokens_per_s: model=a gpus=1 (71,480; next is model=b gpus=1: 63,940, "
            "-10.5 %)\n"
            "model=y: best tokens_per_s: model=b gpus=1 (63,940; next is model=a gpus=2: 63,900, "
            "-0.1 %)\n"
            "  tie: cannot be told from model=a gpus=2 (below 1 %, or the intervals overlap)\n");
  const Json json = best_json(points, std::vector<std::string>{"model"}, groups);
  EXPECT_EQ(json.at("schema").as_string(), "tunebench.best/1");
  EXPECT_EQ(json.at("groups").as_array()[1].at("tied").as_array().size(), 1U);
  EXPECT_EQ(json.at("groups").as_array()[0].at("group").at("model").as_string(), "x");
}

}  // namespace
}  // namespace tunebench::report
