#include <cmath>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "services/buffer/replay/table_set.h"
#include "tests/buffer/replay/item_samples.h"
#include "tests/buffer/replay/replay_model.h"

namespace flywheel {
namespace {

using absl::StatusCode;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int64_t kOperations = 100'000;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr int64_t kOperations = 100'000;
#else
constexpr int64_t kOperations = 1'000'000;
#endif
#else
constexpr int64_t kOperations = 1'000'000;
#endif

constexpr int64_t kOperationsOfASet = 4000;
constexpr uint64_t kKeys = 150;

// A set of random tables beside models of them, and a shadow of it that only
// hears its events.
class RandomTables {
 public:
  explicit RandomTables(uint64_t seed) : random_(seed), bits_(~seed) {
    const uint64_t num_tables = 1 + Below(3);
    for (uint64_t i = 0; i < num_tables; ++i) {
      const ReplayTableOptions options = RandomOptions(absl::StrCat("t", i));
      options_.push_back(options);
      models_.emplace_back(options);
    }
    set_ = MakeSet();
    shadow_ = MakeSet();
  }

  void Run(int64_t operations) {
    for (int64_t i = 0; i < operations; ++i) {
      SCOPED_TRACE(absl::StrCat("operation ", i));
      Operate();
      ApplyToShadow();
      if (i % 16 == 0) CheckState();
      if (i % 500 == 499) GoOnFromImages();
      if (testing::Test::HasFailure()) return;
    }
  }

 private:
  uint64_t Below(uint64_t end) { return random_() % end; }

  std::unique_ptr<TableSet> MakeSet() const {
    auto set = TableSet::Create(options_);
    EXPECT_TRUE(set.ok()) << set.status();
    return *std::move(set);
  }

  SelectorOptions RandomSelector() {
    constexpr double kExponents[] = {0.0, 0.5, 1.0, 2.0};
    return {.kind = static_cast<SelectorKind>(1 + Below(6)),
            .priority_exponent = kExponents[Below(4)]};
  }

  ReplayTableOptions RandomOptions(std::string name) {
    ReplayTableOptions options = {
        .name = std::move(name),
        .sampler = RandomSelector(),
        .remover = Below(4) == 0 ? RandomSelector() : SelectorOptions{},
        .max_times_sampled =
            Below(2) == 0 ? 0 : static_cast<uint32_t>(1 + Below(4)),
        .when_full = static_cast<WhenTableFull>(1 + Below(3)),
        .items_max = 10 + Below(60)};
    if (Below(3) == 0) options.remover = options.sampler;
    if (Below(2) == 0) options.bytes_max = kRecordSize * (4 + Below(40));
    const auto min_size = static_cast<int64_t>(1 + Below(8));
    if (Below(2) == 0) {
      options.rate_limiter = MinSizeLimiter(min_size);
    } else {
      const double ratio = 0.5 * static_cast<double>(1 + Below(8));
      options.rate_limiter = *SampleToInsertRatioLimiter(
          ratio, min_size, 20 * ratio + static_cast<double>(Below(40)));
    }
    return options;
  }

  void Operate() {
    const uint64_t choice = Below(1000);
    if (choice < 400) return Insert();
    if (choice < 750) return Sample();
    if (choice < 900) return UpdatePriorities();
    if (choice < 998) return Delete();
    Reset();
  }

  ReplayTable& TableOf(std::size_t table) {
    return **set_->Find(options_[table].name);
  }

  double RandomPriority() {
    return Below(5) == 0 ? 0.0 : static_cast<double>(Below(40)) / 4;
  }

  // Often of the same steps for the same key, so that it may be present.
  ReplayItem RandomItem() {
    const uint64_t key = Below(kKeys);
    const uint64_t first = key / 2 + (Below(20) == 0 ? 1 : 0);
    ReplayItem item = ItemOf(key, first, first + key % 4, RandomPriority(),
                             static_cast<uint32_t>(key % kRecordSteps));
    if (Below(50) == 0) item.priority = -1;
    if (Below(50) == 0) item.num_steps = 0;
    return item;
  }

  void Insert() {
    std::vector<TableInsert> inserts(1 + (Below(4) == 0 ? Below(4) : 0));
    std::vector<std::size_t> tables;
    for (TableInsert& insert : inserts) {
      tables.push_back(Below(models_.size()));
      insert = {options_[tables.back()].name, RandomItem()};
    }
    std::vector<bool> is_new;
    const StatusCode expected = Foresee(inserts, tables, is_new);
    const SeededBits bits = bits_;
    const absl::Status status = set_->Insert(inserts, bits_);
    ASSERT_EQ(status.code(), expected) << status;
    if (!status.ok()) {
      ASSERT_FALSE(set_->has_events());
      return;
    }
    FollowInserts(inserts, tables, is_new, bits);
  }

  // What an insert must answer.
  StatusCode Foresee(const std::vector<TableInsert>& inserts,
                     const std::vector<std::size_t>& tables,
                     std::vector<bool>& is_new) {
    std::set<std::pair<std::size_t, uint64_t>> keys;
    std::vector<PlannedInserts> planned(models_.size());
    StatusCode foreseen = StatusCode::kOk;
    for (std::size_t i = 0; i < inserts.size(); ++i) {
      const ReplayItem& item = inserts[i].item;
      if (!keys.emplace(tables[i], item.key).second) {
        return StatusCode::kInvalidArgument;
      }
      const StatusCode code =
          ForeseeOne(models_[tables[i]], item, planned[tables[i]], is_new);
      if (code == StatusCode::kUnavailable) {
        foreseen = code;  // Unless a later one fails for good.
      } else if (code != StatusCode::kOk) {
        return code;
      }
    }
    return foreseen;
  }

  static StatusCode ForeseeOne(ReplayModel& model, const ReplayItem& item,
                               PlannedInserts& planned,
                               std::vector<bool>& is_new) {
    if (item.priority < 0 || item.num_steps == 0) {
      return StatusCode::kInvalidArgument;
    }
    is_new.push_back(false);
    if (const ReplayModel::Item* there = model.Find(item.key)) {
      const bool same = there->records.front().id == item.records.front().id;
      return same ? StatusCode::kOk : StatusCode::kAlreadyExists;
    }
    is_new.back() = true;
    const StatusCode code = ForeseeRoom(model, item, planned);
    ++planned.items;
    planned.bytes += kRecordSize * item.records.size();
    return code;
  }

  static StatusCode ForeseeRoom(const ReplayModel& model,
                                const ReplayItem& item,
                                const PlannedInserts& planned) {
    const ReplayTableOptions& options = model.options();
    const uint64_t bytes = kRecordSize * item.records.size();
    if (bytes > options.bytes_max) return StatusCode::kResourceExhausted;
    if (!model.CanInsert(planned.items + 1)) return StatusCode::kUnavailable;
    if (options.when_full == WhenTableFull::kRemove) return StatusCode::kOk;
    ReplayModel with = model;
    with.Insert(item);
    if (with.items().size() + planned.items <= options.items_max &&
        with.bytes() + planned.bytes <= options.bytes_max) {
      return StatusCode::kOk;
    }
    const bool may_fit = planned.bytes + bytes <= options.bytes_max;
    return options.when_full == WhenTableFull::kWait && may_fit
               ? StatusCode::kUnavailable
               : StatusCode::kResourceExhausted;
  }

  // Does the inserts, and the removals that the events tell if they are right.
  void FollowInserts(const std::vector<TableInsert>& inserts,
                     const std::vector<std::size_t>& tables,
                     const std::vector<bool>& is_new, const SeededBits& bits) {
    const std::vector<std::byte> told = TakeEvents();
    const auto events = TableEventsFromBytes(told);
    ASSERT_TRUE(events.ok()) << events.status();
    std::size_t next = 0;
    for (std::size_t i = 0; i < inserts.size(); ++i) {
      if (!is_new[i]) continue;
      ReplayModel& model = models_[tables[i]];
      model.Insert(inserts[i].item);
      ASSERT_LT(next, events->size());
      ASSERT_EQ(std::get<InsertEvent>((*events)[next++].event).key,
                inserts[i].item.key);
      if (!model.IsOverFull()) continue;
      ASSERT_LT(next, events->size());
      for (const uint64_t key :
           std::get<RemoveEvent>((*events)[next++].event).keys) {
        ASSERT_TRUE(model.IsOverFull());
        ReplayModel::Item* item = model.Find(key);
        ASSERT_NE(item, nullptr);
        double probability = 0;
        ASSERT_TRUE(model.MaySelect(model.options().remover, bits(), *item,
                                    probability));
        model.Remove(*item);
      }
      ASSERT_FALSE(model.IsOverFull());
    }
    ASSERT_EQ(next, events->size());
  }

  void Sample() {
    const std::size_t table = Below(models_.size());
    ReplayModel& model = models_[table];
    const auto number = static_cast<int>(1 + Below(6));
    const SeededBits bits = bits_;
    const auto samples = TableOf(table).Sample(number, bits_);
    if (!model.CanSample()) {
      ASSERT_EQ(samples.status().code(), StatusCode::kUnavailable);
      return;
    }
    ASSERT_TRUE(samples.ok()) << samples.status();
    for (const SampledItem& sample : *samples) {
      ASSERT_TRUE(model.CanSample());
      ReplayModel::Item* item = model.Find(sample.key);
      ASSERT_NE(item, nullptr);
      ExpectSample(model, *item, sample, bits());
      model.Draw(*item);
    }
    ASSERT_TRUE(std::ssize(*samples) == number || !model.CanSample());
  }

  static void ExpectSample(const ReplayModel& model,
                           const ReplayModel::Item& item,
                           const SampledItem& sample, uint64_t bits) {
    double probability = 0;
    ASSERT_TRUE(
        model.MaySelect(model.options().sampler, bits, item, probability));
    ASSERT_NEAR(sample.probability, probability, 1e-12);
    ASSERT_EQ(sample.priority, item.priority);
    ASSERT_EQ(sample.times_sampled, item.times_sampled + 1);
    ASSERT_EQ(sample.first_offset, item.first_offset);
    ASSERT_EQ(sample.num_steps, item.num_steps);
    ASSERT_EQ(sample.records.size(), item.records.size());
    for (std::size_t i = 0; i < item.records.size(); ++i) {
      ASSERT_EQ(sample.records[i], item.records[i].id);
    }
  }

  void UpdatePriorities() {
    const std::size_t table = Below(models_.size());
    std::vector<KeyPriority> updates(Below(6));
    PriorityUpdate expected;
    for (KeyPriority& update : updates) {
      update = {Below(kKeys), RandomPriority()};
      if (Below(20) == 0) update.priority = std::nan("");
      ReplayModel::Item* item = models_[table].Find(update.key);
      if (std::isnan(update.priority)) {
        ++expected.refused;
      } else if (item == nullptr) {
        ++expected.unknown;
      } else {
        ++expected.updated;
        models_[table].SetPriority(*item, update.priority);
      }
    }
    const PriorityUpdate result = TableOf(table).UpdatePriorities(updates);
    ASSERT_EQ(result.updated, expected.updated);
    ASSERT_EQ(result.unknown, expected.unknown);
    ASSERT_EQ(result.refused, expected.refused);
    ASSERT_EQ(std::ssize(result.errors), expected.refused);
  }

  void Delete() {
    const std::size_t table = Below(models_.size());
    std::vector<uint64_t> keys(Below(4));
    int64_t deleted = 0;
    for (uint64_t& key : keys) {
      key = Below(kKeys);
      ReplayModel::Item* item = models_[table].Find(key);
      if (item == nullptr) continue;
      models_[table].Remove(*item);
      ++deleted;
    }
    const Deletion result = TableOf(table).Delete(keys);
    ASSERT_EQ(result.deleted, deleted);
    ASSERT_EQ(result.unknown, std::ssize(keys) - deleted);
  }

  void Reset() {
    const std::size_t table = Below(models_.size());
    TableOf(table).Reset();
    models_[table].Reset();
  }

  std::vector<std::byte> TakeEvents() {
    std::vector<std::byte> events = set_->TakeEvents();
    for_shadow_.push_back(events);
    return events;
  }

  void ApplyToShadow() {
    TakeEvents();
    for (const std::vector<std::byte>& events : for_shadow_) {
      const absl::Status status = shadow_->Apply(events, SizeOf);
      ASSERT_TRUE(status.ok()) << status;
    }
    for_shadow_.clear();
  }

  void CheckState() {
    std::set<uint64_t> live;
    for (std::size_t i = 0; i < models_.size(); ++i) {
      ReplayTable& table = TableOf(i);
      ASSERT_EQ(table.size(), models_[i].items().size());
      ASSERT_EQ(table.bytes(), models_[i].bytes());
      ASSERT_EQ(table.limiter().counts(), models_[i].counts());
      for (const ReplayModel::Item& item : models_[i].items()) {
        for (const ItemRecord& record : item.records) {
          live.insert(record.id.value);
        }
      }
    }
    ASSERT_EQ(set_->references().num_live(), live.size());
    for (const uint64_t record : live) {
      ASSERT_TRUE(set_->references().IsLive({record}));
    }
    set_->CollectDead(
        [&](RecordId id, uint32_t) { ASSERT_FALSE(live.contains(id.value)); });
  }

  // What the shadow was told makes the same bytes; a set made from them takes
  // the place of the one there was.
  void GoOnFromImages() {
    auto restored = MakeSet();
    const std::vector<TableImage> images = set_->TakeImages();
    const std::vector<TableImage> of_shadow = shadow_->TakeImages();
    for (std::size_t i = 0; i < images.size(); ++i) {
      const std::vector<std::byte> bytes = images[i].Bytes();
      ASSERT_EQ(bytes, of_shadow[i].Bytes());
      const absl::Status status = restored->LoadTable(bytes, SizeOf);
      ASSERT_TRUE(status.ok()) << status;
    }
    set_ = std::move(restored);
    CheckState();
  }

  const SeededBits random_;
  const SeededBits bits_;  // For the tables.
  std::vector<ReplayTableOptions> options_;
  std::vector<ReplayModel> models_;
  std::unique_ptr<TableSet> set_;
  std::unique_ptr<TableSet> shadow_;
  std::vector<std::vector<std::byte>> for_shadow_;
};

// FLYWHEEL_MODEL_OPERATIONS=n asks for another number.
int64_t OperationsAskedFor() {
  int64_t operations = kOperations;
  if (const char* asked = std::getenv("FLYWHEEL_MODEL_OPERATIONS")) {
    EXPECT_TRUE(absl::SimpleAtoi(asked, &operations)) << asked;
  }
  return operations;
}

TEST(ReplayTableModelTest, DoesWhatThePlainModelDoes) {
  const int64_t operations = OperationsAskedFor();
  uint64_t seed = 1;
  for (int64_t done = 0; done < operations; done += kOperationsOfASet) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    RandomTables(seed).Run(kOperationsOfASet);
    if (HasFailure()) break;
    ++seed;
  }
  std::cout << "seeds 1 to " << seed - 1 << ", " << kOperationsOfASet
            << " operations each\n";
}

}  // namespace
}  // namespace flywheel
