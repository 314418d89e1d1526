#include "services/core/trajectory_schema.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace flywheel {
namespace {

TrajectorySchema SmallSchema() {
  return {{{.name = "observation/state",
            .element = ElementKind::kFloat32,
            .shape = {17},
            .granularity = Granularity::kChunk},
           {.name = "reward",
            .element = ElementKind::kFloat32,
            .granularity = Granularity::kStep},
           {.name = "instruction",
            .element = ElementKind::kUint8,
            .granularity = Granularity::kTrajectory,
            .ragged = true}}};
}

// Stored data is found by these numbers, so they hold for all time.
TEST(SchemaHashTest, NeverChanges) {
  EXPECT_EQ(SchemaHash(SmallSchema()), 0xe7e766eea15890c5u);
  EXPECT_EQ(SchemaHash({}), 0x1af10d1d9c3a9bf0u);
}

TEST(SchemaHashTest, DiffersWithEveryField) {
  const std::vector<std::function<void(TrajectorySchema&)>> changes = {
      [](auto&) {},
      [](auto& s) { s.columns[0].name = "observation/stat"; },
      [](auto& s) { s.columns[0].element = ElementKind::kInt32; },
      [](auto& s) { s.columns[0].shape = {18}; },
      [](auto& s) {
        s.columns[0].shape = {17, 1};
      },
      [](auto& s) {
        s.columns[0].shape = {1, 17};
      },
      [](auto& s) { s.columns[0].shape = {}; },
      [](auto& s) { s.columns[0].granularity = Granularity::kFinal; },
      [](auto& s) { s.columns[0].ragged = true; },
      [](auto& s) { std::swap(s.columns[0], s.columns[1]); },
      [](auto& s) { s.columns.pop_back(); },
      [](auto& s) { s.columns.push_back(s.columns[0]); },
  };
  std::set<uint64_t> hashes;
  for (const auto& change : changes) {
    TrajectorySchema schema = SmallSchema();
    change(schema);
    hashes.insert(SchemaHash(schema));
  }
  EXPECT_EQ(hashes.size(), changes.size());
}

TEST(SchemaHashTest, NoNameCanImitateAnotherSchema) {
  // The second name ends the way the line of the first column goes on.
  const TrajectorySchema two = {{{.name = "a"}, {.name = "b"}}};
  const TrajectorySchema one = {{{.name = "a 4 [] 2 0\n1:b"}}};
  EXPECT_NE(SchemaHash(two), SchemaHash(one));
}

TEST(TrajectorySchemaTest, FindsColumnsByName) {
  EXPECT_EQ(SmallSchema().Find("reward"), 1);
  EXPECT_EQ(SmallSchema().Find("rewar"), -1);
}

TEST(TrajectorySchemaTest, AnItemHasTheBytesOfItsShape) {
  EXPECT_EQ(SmallSchema().columns[0].item_bytes(), 68u);
  EXPECT_EQ(SmallSchema().columns[1].item_bytes(), 4u);
}

struct Mistake {
  std::string says;
  std::function<void(TrajectorySchema&)> make;
};

TEST(ValidateSchemaTest, NamesTheMistake) {
  const std::vector<Mistake> mistakes = {
      Mistake{"1 to 256 columns, got 0", [](auto& s) { s.columns.clear(); }},
      Mistake{"1 to 256 columns, got 257",
              [](auto& s) { s.columns.resize(257, s.columns[0]); }},
      Mistake{"1 to 255 bytes, got 0", [](auto& s) { s.columns[1].name = ""; }},
      Mistake{"1 to 255 bytes, got 256",
              [](auto& s) { s.columns[1].name = std::string(256, 'x'); }},
      Mistake{"\"reward\" must be unique",
              [](auto& s) { s.columns[0].name = "reward"; }},
      Mistake{"element kind 9",
              [](auto& s) { s.columns[0].element = ElementKind{9}; }},
      Mistake{"granularity 0",
              [](auto& s) { s.columns[0].granularity = Granularity{0}; }},
      Mistake{"got 0", [](auto& s) { s.columns[0].shape = {0}; }},
      Mistake{"got -1", [](auto& s) { s.columns[0].shape = {-1}; }},
      Mistake{"got 2147483648",
              [](auto& s) { s.columns[0].shape = {int64_t{1} << 31}; }},
      Mistake{"exceeds 1073741824 bytes",
              [](auto& s) { s.columns[0].shape = {1 << 29}; }},
      Mistake{"exceeds", [](auto& s) {
                s.columns[0].shape = {2147483647, 2147483647, 2147483647};
              }}};
  ASSERT_TRUE(ValidateSchema(SmallSchema()).ok());
  for (const Mistake& mistake : mistakes) {
    SCOPED_TRACE(mistake.says);
    TrajectorySchema schema = SmallSchema();
    mistake.make(schema);
    const absl::Status status = ValidateSchema(schema);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_PRED_FORMAT2(::testing::IsSubstring, mistake.says,
                        status.ToString());
  }
}

}  // namespace
}  // namespace flywheel
