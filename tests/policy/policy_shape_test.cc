#include "services/policy/policy_shape.h"

#include <gtest/gtest.h>

#include <string>

namespace flywheel {
namespace {

TrajectorySchema ReachSchema() {
  return {.columns = {{.name = "observation/image",
                       .element = ElementKind::kUint8,
                       .shape = {64, 48, 3}},
                      {.name = "observation/state", .shape = {11}},
                      {.name = "final_observation/state", .shape = {11}},
                      {.name = "action", .shape = {4, 3}},
                      {.name = "reward", .granularity = Granularity::kStep},
                      {.name = "instruction",
                       .element = ElementKind::kUint8,
                       .granularity = Granularity::kTrajectory,
                       .ragged = true}}};
}

std::string Refusal(const TrajectorySchema& schema) {
  return std::string(PolicyShapeFromSchema(schema).status().message());
}

TEST(PolicyShapeTest, ComesFromTheColumns) {
  const auto shape = PolicyShapeFromSchema(ReachSchema());
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_EQ(*shape, (PolicyShape{.state_size = 11,
                                 .image = {64, 48, 3},
                                 .action_chunk = 4,
                                 .action_size = 3,
                                 .has_instruction = true}));
}

TEST(PolicyShapeTest, NeedsNoCamera) {
  const auto shape = PolicyShapeFromSchema(
      {.columns = {{.name = "observation/state", .shape = {17}},
                   {.name = "action", .shape = {1, 6}}}});
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_FALSE(shape->has_image());
  EXPECT_FALSE(shape->has_instruction);
}

TEST(PolicyShapeTest, RefusesWhatItCannotLookAt) {
  TrajectorySchema schema = ReachSchema();
  schema.columns[0].name = "observation/depth";
  EXPECT_EQ(Refusal(schema),
            "no policy can look at column observation/depth: observations are "
            "\"state\" and \"image\"");
}

TEST(PolicyShapeTest, RefusesAnImageOfFloats) {
  TrajectorySchema schema = ReachSchema();
  schema.columns[0].element = ElementKind::kFloat32;
  EXPECT_EQ(Refusal(schema),
            "a policy needs column observation/image to be uint8 [height, "
            "width, channels], got float32 [64, 48, 3]");
}

TEST(PolicyShapeTest, RefusesAStateOfTwoAxes) {
  TrajectorySchema schema = ReachSchema();
  schema.columns[1].shape = {11, 2};
  EXPECT_EQ(Refusal(schema),
            "a policy needs column observation/state to be float32 [n], got "
            "float32 [11, 2]");
}

TEST(PolicyShapeTest, RefusesASchemaWithoutObservations) {
  EXPECT_EQ(Refusal({.columns = {{.name = "action", .shape = {1, 6}}}}),
            "a policy needs an observation/state or an observation/image "
            "column, the schema has neither");
}

TEST(PolicyShapeTest, RefusesASchemaWithoutActionsOrWithFlatOnes) {
  TrajectorySchema schema = ReachSchema();
  schema.columns[3].shape = {3};
  EXPECT_EQ(Refusal(schema),
            "a policy needs column action to be float32 [action_chunk, "
            "action_size], got float32 [3]");
  schema.columns.erase(schema.columns.begin() + 3);
  EXPECT_EQ(Refusal(schema), "the schema has no action column");
}

}  // namespace
}  // namespace flywheel
