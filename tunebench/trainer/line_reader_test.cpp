#include "tunebench/trainer/line_reader.h"

#include <gtest/gtest.h>

namespace tunebench::trainer {
namespace {

constexpr std::string_view kLoad = "{\"event\":\"phase\",\"name\":\"load\",\"t\":1}\n";
constexpr std::string_view kTrain = "{\"event\":\"phase\",\"name\":\"train\",\"t\":2}";

std::string next_phase(LineReader& reader) {
  const std::optional<Event> event = reader.take();
  return event.has_value() ? std::get<PhaseEvent>(*event).name : "none";
}

TEST(LineReaderTest, PutsALineTogetherFromSingleBytes) {
  LineReader reader;
  for (const char& byte : kLoad) {
    EXPECT_FALSE(reader.take().has_value());
    reader.feed({&byte, 1});
  }
  EXPECT_EQ(next_phase(reader), "load");
  EXPECT_EQ(next_phase(reader), "none");
}

TEST(LineReaderTest, GivesSeveralLinesOfOnePieceInOrder) {
  LineReader reader;
  reader.feed(std::string(kLoad) + std::string(kTrain) + "\n");
  EXPECT_EQ(next_phase(reader), "load");
  EXPECT_EQ(next_phase(reader), "train");
}

TEST(LineReaderTest, DropsALastLineThatWasCutShort) {
  LineReader reader;
  reader.feed(kLoad);
  reader.feed(kTrain.substr(0, 20));
  reader.finish();
  EXPECT_EQ(next_phase(reader), "load");
  EXPECT_EQ(next_phase(reader), "none");
  EXPECT_EQ(reader.dropped_lines(), 1);
}

TEST(LineReaderTest, TakesALastLineThatOnlyLacksItsLineBreak) {
  LineReader reader;
  reader.feed(kTrain);
  reader.finish();
  EXPECT_EQ(next_phase(reader), "train");
  EXPECT_EQ(reader.dropped_lines(), 0);
}

TEST(LineReaderTest, CountsLinesThatAreNoEvents) {
  LineReader reader;
  reader.feed("loss 3\n\n  \n{\"event\":\"new kind\"}\n");
  reader.feed(kLoad);
  EXPECT_EQ(next_phase(reader), "load");
  EXPECT_EQ(reader.dropped_lines(), 2);
}

TEST(LineReaderTest, DropsALineWithoutEndAndGoesOnBehindIt) {
  LineReader reader;
  const std::string piece(LineReader::kLongestLine / 2 + 1, 'x');
  for (int i = 0; i < 5; ++i) {
    reader.feed(piece);
  }
  reader.feed("\n");
  reader.feed(kLoad);
  EXPECT_EQ(reader.dropped_lines(), 1);
  EXPECT_EQ(next_phase(reader), "load");
}

}  // namespace
}  // namespace tunebench::trainer
