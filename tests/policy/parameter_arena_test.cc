#include "services/policy/parameter_arena.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstring>
#include <string>

namespace flywheel {
namespace {

// Three parameters, none of whose sizes is a multiple of 64 bytes.
class Sample final : public torch::nn::Module {
 public:
  explicit Sample(float first) {
    a = register_parameter("a", torch::arange(6).view({2, 3}) + first);
    b = register_parameter("b", torch::full({17}, first));
    c = register_parameter("c", torch::full({}, first));
  }
  torch::Tensor a, b, c;
};

PolicySnapshot SnapshotOf(const ParameterArena& arena) {
  return {.tensors = arena.tensors(), .bytes = arena.Bytes()};
}

TEST(ParameterArenaTest, KeepsTheParametersAndAlignsThem) {
  Sample module(5);
  const ParameterArena arena(module);
  EXPECT_EQ(arena.tensors(), (std::vector<SnapshotTensor>{
                                 {.name = "a", .shape = {2, 3}, .offset = 0},
                                 {.name = "b", .shape = {17}, .offset = 64},
                                 {.name = "c", .shape = {}, .offset = 192}}));
  EXPECT_EQ(arena.size(), 64);
  EXPECT_EQ(arena.parameters()[5].item<float>(), 10);
  EXPECT_EQ(arena.parameters()[16].item<float>(), 5);
  EXPECT_EQ(arena.parameters()[48].item<float>(), 5);
}

TEST(ParameterArenaTest, IsWhereTheModuleComputes) {
  Sample module(5);
  const ParameterArena arena(module);
  arena.parameters().zero_();
  EXPECT_EQ(module.a.abs().sum().item<float>(), 0);
}

TEST(ParameterArenaTest, CollectsTheGradientsOfEveryBackwardPass) {
  Sample module(5);
  ParameterArena arena(module);
  for (int pass = 1; pass <= 3; ++pass) {
    ((module.a * 2).sum() + (module.b * 3).sum() + module.c).backward();
    EXPECT_EQ(arena.gradients()[0].item<float>(), 2 * pass);
    EXPECT_EQ(arena.gradients()[32].item<float>(), 3 * pass);
    EXPECT_EQ(arena.gradients()[48].item<float>(), pass);
    EXPECT_EQ(arena.gradients().sum().item<float>(), (12 + 51 + 1) * pass);
  }
  arena.ZeroGradients();
  EXPECT_EQ(module.b.grad().abs().sum().item<float>(), 0);
}

TEST(ParameterArenaTest, CopiesToASecondNetworkThroughASnapshot) {
  Sample first(5);
  const ParameterArena from(first);
  Sample second(-1);
  ParameterArena to(second);
  ASSERT_TRUE(to.CopyFrom(SnapshotOf(from)).ok());
  EXPECT_TRUE(torch::equal(second.a, first.a));
  EXPECT_EQ(to.Bytes(), from.Bytes());
}

TEST(ParameterArenaTest, FindsTensorsByNameInAnyOrder) {
  Sample first(5);
  const ParameterArena from(first);
  PolicySnapshot snapshot = SnapshotOf(from);
  std::swap(snapshot.tensors[0], snapshot.tensors[2]);
  snapshot.tensors.push_back({.name = "statistics", .shape = {1}});
  Sample second(-1);
  ParameterArena to(second);
  ASSERT_TRUE(to.CopyFrom(snapshot).ok());
  EXPECT_TRUE(torch::equal(second.a, first.a));
}

TEST(ParameterArenaTest, RefusesWhatDoesNotFitAndChangesNothing) {
  Sample first(5);
  const PolicySnapshot good = SnapshotOf(ParameterArena(first));
  Sample second(-1);
  ParameterArena to(second);
  const std::vector<std::byte> before = to.Bytes();
  const auto expect_refused = [&](const PolicySnapshot& snapshot,
                                  const std::string& sentence) {
    const absl::Status status = to.CopyFrom(snapshot);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(std::string(status.message()), sentence);
    EXPECT_EQ(to.Bytes(), before);
  };

  PolicySnapshot bad = good;
  bad.tensors[2].name = "d";
  expect_refused(bad, "the snapshot has no tensor c");
  bad = good;
  bad.tensors[1].shape = {1, 17};
  expect_refused(bad, "tensor b must be [17], the snapshot's is [1, 17]");
  bad = good;
  bad.bytes.resize(192);
  expect_refused(bad,
                 "tensor c of 4 bytes at offset 192 lies outside the "
                 "snapshot's 192 bytes");
  bad = good;
  bad.tensors[1].offset = ~uint64_t{0} - 3;
  expect_refused(bad,
                 "tensor b of 68 bytes at offset 18446744073709551612 lies "
                 "outside the snapshot's 256 bytes");
  expect_refused({}, "the snapshot has no tensor a");
}

}  // namespace
}  // namespace flywheel
