#include "tunebench/space/domain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tunebench::space {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using enum VariableType;

std::pair<Decimal, Decimal> range(const char* from, const char* to) {
  return {*parse_decimal(from), *parse_decimal(to)};
}

Domain good(const DomainText& text) {
  std::string problem;
  const std::optional<Domain> domain = Domain::make(text, problem);
  EXPECT_EQ(problem, "");
  return domain.value_or(Domain{});
}

std::string bad(const DomainText& text) {
  std::string problem;
  EXPECT_EQ(Domain::make(text, problem), std::nullopt);
  return problem;
}

using Values = std::vector<Json>;
const Decimal kTwo{2, 0};

TEST(Domain, InfersTheType) {
  EXPECT_EQ(good({.values = Values{2, 2.5, true}}).type(), Discrete);
  EXPECT_EQ(good({.values = Values{1, "x"}}).type(), Categorical);
  EXPECT_EQ(good({.range = range("0", "1")}).type(), Continuous);
  EXPECT_EQ(good({.interval = kTwo, .range = range("1", "9")}).type(), Discrete);
  EXPECT_EQ(good({.interval = kTwo}).type(), Discrete);
  EXPECT_EQ(good({}).type(), Unknown);
  EXPECT_EQ(good({.range = range("0", "1"), .type = Unknown}).type(), Continuous);
}

TEST(Domain, RefusesPartsThatContradict) {
  EXPECT_EQ(bad({.values = Values{1}, .interval = kTwo}),
            "interval goes with domainRange, not with values")
      << "D1";
  EXPECT_EQ(bad({.values = Values{1, 9}, .range = range("1", "9")}),
            "values has 9, which is outside domainRange [1, 9)")
      << "D2";
  EXPECT_EQ(good({.values = Values{1, 8}, .range = range("1", "9")}).json().dump(),
            R"({"values":[1,8]})")
      << "D2, D6";
  EXPECT_EQ(bad({.type = Categorical}), "CATEGORICAL_VARIABLE_TYPE needs values") << "D3";
  EXPECT_EQ(bad({.values = Values{"a"}, .range = range("0", "1"), .type = Categorical}),
            "domainRange goes with numbers, and values holds others")
      << "D3";
  EXPECT_EQ(good({.values = Values{0}, .range = range("0", "1"), .type = Categorical}).type(),
            Categorical)
      << "D3: all numbers";
  EXPECT_EQ(bad({.range = range("0", "1"), .type = Discrete}),
            "DISCRETE_VARIABLE_TYPE needs values or an interval")
      << "D4";
  EXPECT_EQ(bad({.values = Values{1}, .type = Continuous}),
            "CONTINUOUS_VARIABLE_TYPE takes neither values nor an interval")
      << "D5";
  EXPECT_EQ(bad({.values = Values{}}), "values is an empty list");
  EXPECT_EQ(bad({.values = Values{1, 2, 1.0}}), "values has 1 twice");
  EXPECT_EQ(bad({.range = range("2", "2")}), "domainRange [2, 2) is empty");
  EXPECT_EQ(bad({.interval = Decimal{0, 0}, .range = range("1", "2")}), "interval must be above 0");
  EXPECT_EQ(bad({.values = Values{0, 1}, .type = Binary}),
            "BINARY_VARIABLE_TYPE takes no values but [false, true]");
  EXPECT_EQ(bad({.interval = Decimal{1, 0}, .range = range("0", "1e9")}),
            "domainRange with this interval is 1000000000 values, more than 1000000");
}

TEST(Domain, WritesWhatCannotBeInferred) {
  EXPECT_EQ(good({.values = Values{1, 2}, .type = Discrete}).json().dump(), R"({"values":[1,2]})");
  EXPECT_EQ(good({.values = Values{1, 2}, .type = Categorical}).json().dump(),
            R"({"values":[1,2],"variableType":"CATEGORICAL_VARIABLE_TYPE"})");
  EXPECT_EQ(good({.interval = Decimal{5, -1}, .range = range("1.0", "3")}).json().dump(),
            R"({"interval":0.5,"domainRange":[1,3]})");
}

TEST(Domain, HasMembersAndSize) {
  EXPECT_THAT(good({.type = Binary}).members(), ElementsAre(false, true));
  EXPECT_THAT(good({.values = Values{"b", "a"}}).members(), ElementsAre("b", "a"));
  EXPECT_THAT(good({.interval = Decimal{3, -1}, .range = range("0", "0.9")}).members(),
              ElementsAre(0, 0.3, 0.6));
  EXPECT_EQ(good({.interval = kTwo, .range = range("1", "9")}).size(), 4);
  for (const DomainText& infinite :
       {DomainText{.range = range("0", "1")}, DomainText{}, DomainText{.interval = kTwo},
        DomainText{.type = Identifier}, DomainText{.values = Values{1}, .type = OpenCategorical}}) {
    EXPECT_EQ(good(infinite).size(), std::nullopt);
    EXPECT_THAT(good(infinite).members(), IsEmpty());
  }
}

TEST(Domain, KnowsItsMembers) {
  const Domain continuous = good({.range = range("0", "1")});
  EXPECT_EQ(continuous.contains(0), true);
  EXPECT_EQ(continuous.contains(1), false);
  EXPECT_EQ(continuous.contains("0"), false) << "text never is";
  EXPECT_EQ(good({.type = Continuous}).contains(-1e9), true);
  const Domain values = good({.values = Values{1, 2.5}});
  EXPECT_EQ(values.contains(1.0), true);
  EXPECT_EQ(values.contains(true), true);
  EXPECT_EQ(values.contains(2), false);
  const Domain stepped = good({.interval = Decimal{1, -1}, .range = range("0", "1")});
  EXPECT_EQ(stepped.contains(0.3), true);
  EXPECT_EQ(stepped.contains(0.30000000000000004), false);
  EXPECT_EQ(stepped.contains(1), false);
  EXPECT_EQ(good({.interval = kTwo}).contains(3), true);
  EXPECT_EQ(good({.values = Values{"a", 0, ""}}).contains(""), true) << "empty is a value";
  EXPECT_EQ(good({.type = Binary}).contains(0), true);
  EXPECT_EQ(good({.type = Binary}).contains(2), false);
  EXPECT_EQ(good({}).contains("any"), true);
  EXPECT_EQ(good({.type = Identifier}).contains("any"), std::nullopt);
}

TEST(Domain, KnowsWhatItIsInside) {
  const auto inside = [](const DomainText& a, const DomainText& b) {
    return good(a).is_inside(good(b));
  };
  const DomainText unit{.range = range("0", "1")};
  EXPECT_TRUE(inside(unit, unit));
  EXPECT_TRUE(inside({.values = Values{"x"}}, {}));
  EXPECT_FALSE(inside({}, unit));
  EXPECT_TRUE(inside({.values = Values{"a"}}, {.values = Values{"a", "b"}}));
  EXPECT_FALSE(inside({.values = Values{"a", "c"}}, {.values = Values{"a", "b"}}));
  EXPECT_TRUE(inside({.range = range("0.2", "0.8")}, unit));
  EXPECT_FALSE(inside({.range = range("0.2", "1.1")}, unit));
  EXPECT_TRUE(inside(unit, {.type = Continuous}));
  EXPECT_FALSE(inside({.type = Continuous}, unit));
  EXPECT_TRUE(inside({.values = Values{0, 0.5}}, unit));
  EXPECT_FALSE(inside({.values = Values{0, 1}}, unit)) << "the upper end is out";
  EXPECT_FALSE(inside(unit, {.values = Values{0, 1}}));
  EXPECT_TRUE(inside({.values = Values{2, 4}}, {.values = Values{4, 3, 2}}));
  const DomainText fours{.interval = Decimal{4, 0}, .range = range("4", "17")};
  EXPECT_TRUE(inside(fours, {.interval = kTwo, .range = range("2", "20")}));
  EXPECT_FALSE(inside(fours, {.interval = Decimal{3, 0}, .range = range("1", "20")}));
  EXPECT_FALSE(inside({.interval = kTwo}, fours)) << "unbounded";
  EXPECT_TRUE(inside({.interval = Decimal{4, 0}}, {.interval = kTwo}));
  EXPECT_TRUE(inside({.type = Binary}, {.type = Binary}));
  EXPECT_TRUE(inside({.values = Values{0, 1}}, {.type = Binary}));
  EXPECT_FALSE(inside({.values = Values{0, 1, 2}}, {.type = Binary}));
  EXPECT_TRUE(inside({.values = Values{1}}, {.values = Values{1, "x"}}));
  EXPECT_TRUE(inside({.values = Values{1}}, {.values = Values{"x"}, .type = OpenCategorical}));
}

TEST(IsMember, NamesMustBeTheSame) {
  const std::vector<DomainOf> space{{"gpus", good({.values = Values{0, 1}})},
                                    {"model", good({.values = Values{"a"}})}};
  EXPECT_TRUE(is_member(space, {{"gpus", 0}, {"model", "a"}})) << "0 is a value";
  EXPECT_FALSE(is_member(space, {{"gpus", 0}}));
  EXPECT_FALSE(is_member(space, {{"gpus", 0}, {"model", "a"}, {"batch", 1}}));
  EXPECT_FALSE(is_member(space, {{"gpus", 0}, {"modle", "a"}}));
  EXPECT_FALSE(is_member(space, {{"gpus", 2}, {"model", "a"}}));
}

TEST(VariableTypes, HaveNames) {
  EXPECT_EQ(find_variable_type("BINARY_VARIABLE_TYPE"), Binary);
  EXPECT_EQ(find_variable_type("BINARY"), std::nullopt);
  EXPECT_EQ(variable_type_name(OpenCategorical), "OPEN_CATEGORICAL_VARIABLE_TYPE");
}

}  // namespace
}  // namespace tunebench::space
