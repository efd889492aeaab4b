#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "tunebench/base/files.h"
#include "tunebench/hardware/host.h"

namespace tunebench::hardware {
namespace {

class GpusTest : public testing::Test {
 protected:
  void add(int minor, const std::string& model, const std::string& uuid) {
    const std::string number = std::to_string(minor);
    write_file_atomically(folder_.path() / ("dev/nvidia" + number), "");
    write_file_atomically(
        folder_.path() / ("proc/driver/nvidia/gpus/0000:0" + number + ":00.0/information"),
        "Model: \t\t " + model + "\nIRQ:   \t\t 35\nGPU UUID: \t " + uuid + "\nDevice Minor: \t " +
            number + "\n");
  }
  [[nodiscard]] std::vector<Gpu> find(std::optional<std::string_view> visible) const {
    return find_gpus(folder_.path(), visible);
  }
  [[nodiscard]] std::size_t count(std::optional<std::string_view> visible) const {
    return find(visible).size();
  }
  [[nodiscard]] const std::filesystem::path& root() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

TEST_F(GpusTest, NoneWithoutADriver) {
  EXPECT_EQ(count(std::nullopt), 0U);
  EXPECT_EQ(count("0"), 0U);
}

TEST_F(GpusTest, AllWhenTheVariableIsAbsentAndNoneWhenItIsEmpty) {
  add(0, "NVIDIA H200", "GPU-52a3a85d-0001");
  add(1, "NVIDIA L4", "GPU-52ffffff-0002");
  ASSERT_EQ(count(std::nullopt), 2U);
  EXPECT_EQ(find(std::nullopt)[1].model, "NVIDIA L4");
  EXPECT_EQ(count(""), 0U);
  EXPECT_EQ(count("-1"), 0U);
}

TEST_F(GpusTest, NumbersCountUpToTheFirstThatDoesNotExist) {
  add(0, "NVIDIA H200", "GPU-a");
  add(1, "NVIDIA L4", "GPU-b");
  ASSERT_EQ(count("1"), 1U);
  EXPECT_EQ(find("1")[0].model, "NVIDIA L4");
  EXPECT_EQ(count("1, 0"), 2U);
  EXPECT_EQ(count("0,7,1"), 1U);
}

TEST_F(GpusTest, IdentifiersMayBeShortenedButMustFitOne) {
  add(0, "NVIDIA H200", "GPU-52a3a85d-0001");
  add(1, "NVIDIA L4", "GPU-52ffffff-0002");
  ASSERT_EQ(count("GPU-52f"), 1U);
  EXPECT_EQ(find("GPU-52f")[0].model, "NVIDIA L4");
  EXPECT_EQ(count("GPU-52"), 0U) << "fits two";
  EXPECT_EQ(count("MIG-1234"), 0U) << "never falls back to the first device";
}

TEST_F(GpusTest, ContainerSeesOnlyTheDevicesItWasGiven) {
  add(0, "NVIDIA H200", "GPU-a");
  add(1, "NVIDIA L4", "GPU-b");
  std::filesystem::remove(root() / "dev/nvidia0");
  ASSERT_EQ(count(std::nullopt), 1U);
  EXPECT_EQ(find(std::nullopt)[0].model, "NVIDIA L4");
}

TEST_F(GpusTest, ControlNodesAreNotGpus) {
  for (const char* name : {"nvidiactl", "nvidia-uvm", "nvidia-modeset"}) {
    write_file_atomically(root() / "dev" / name, "");
  }
  EXPECT_EQ(count(std::nullopt), 0U);
}

TEST_F(GpusTest, DeviceWithoutADriverEntryHasNoModel) {
  write_file_atomically(root() / "dev/nvidia0", "");
  ASSERT_EQ(count(std::nullopt), 1U);
  EXPECT_EQ(find(std::nullopt)[0].model, "NVIDIA GPU");
}

}  // namespace
}  // namespace tunebench::hardware
