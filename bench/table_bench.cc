// How fast the replay tables work, and how much memory an item takes: one JSON
// line per result. All memory is counted that is allocated (malloc_usable_size
// and what malloc keeps beside it), the records' references included; the
// records' own bytes are none of the tables'.
//
//   table_bench [LARGEST]     numbers of items from 1,000 to LARGEST
//
// Items are inserted, sampled and updated 64 in a call, and the events of each
// call are taken. The work is done in random order over all items, as learners
// do it: what does not fit into a cache costs its misses.

#include <malloc.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "services/buffer/replay/sum_tree.h"
#include "services/buffer/replay/table_set.h"
#include "services/core/keyed_random.h"

namespace flywheel {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBatch = 64;  // Items in one call.

uint64_t random_state = 1;
uint64_t Random() { return MixBits(++random_state); }

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Bytes in use: by arenas, and mapped by themselves.
double AllocatedBytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

struct Kind {
  std::string name;
  SelectorKind sampler;
  SelectorKind remover;
};

ReplayItem OneRecord(uint64_t key, uint64_t record) {
  ReplayItem item = {.key = MixBits(key),
                     .priority = static_cast<double>(Random() % 1000) + 1,
                     .num_steps = 1};
  item.records.push_back(
      {.id = {record}, .bytes = 400, .first_step = record, .num_steps = 1});
  return item;
}

void Print(const char* benchmark, const std::string& table, uint64_t items,
           const char* unit, double value) {
  std::printf(
      "{\"benchmark\": \"table_%s\", \"table\": \"%s\", \"items\": %llu, "
      "\"%s\": %.1f}\n",
      benchmark, table.c_str(), static_cast<unsigned long long>(items), unit,
      value);
  std::fflush(stdout);
}

// How often a second, where `work` does `count` at a time. Long enough to be
// seen, and no longer.
template <typename Work>
double PerSecond(int64_t count, Work work) {
  const Clock::time_point begin = Clock::now();
  int64_t done = 0;
  double seconds = 0;
  do {
    work();
    done += count;
    seconds = SecondsSince(begin);
  } while (seconds < 0.5);
  return static_cast<double>(done) / seconds;
}

class TableBench {
 public:
  TableBench(const Kind& kind, uint64_t items)
      : kind_(kind), items_(items), before_(AllocatedBytes()) {
    auto set = TableSet::Create(
        {{.name = "replay",
          .sampler = {.kind = kind.sampler, .priority_exponent = 0.6},
          .remover = {.kind = kind.remover},
          .items_max = items}});
    set_ = *std::move(set);
  }

  void Run() {
    ReplayTable& table = *set_->tables()[0];
    const Clock::time_point begin = Clock::now();
    for (uint64_t i = 0; i < items_; i += kBatch) InsertBatch();
    Tell("fill", "items_per_second",
         static_cast<double>(items_) / SecondsSince(begin));
    Tell("memory", "bytes_per_item",
         (AllocatedBytes() - before_) / static_cast<double>(items_));

    Tell("insert", "items_per_second",
         PerSecond(kBatch, [&] { InsertBatch(); }));
    Tell("sample", "items_per_second", PerSecond(kBatch, [&] {
           if (!table.Sample(kBatch, Random).ok()) std::abort();
           set_->TakeEvents();
         }));
    std::vector<KeyPriority> updates(kBatch);
    const uint64_t newest = next_;
    Tell("update", "items_per_second", PerSecond(kBatch, [&] {
           for (KeyPriority& update : updates) {
             update = {MixBits(newest - 1 - Random() % items_),
                       static_cast<double>(Random() % 1000) + 1};
           }
           table.UpdatePriorities(updates);
           set_->TakeEvents();
         }));
    Images(table);
  }

 private:
  void Tell(const char* benchmark, const char* unit, double value) const {
    Print(benchmark, kind_.name, items_, unit, value);
  }

  void InsertBatch() {
    for (TableInsert& insert : batch_) {
      insert.item = OneRecord(next_, next_);
      ++next_;
    }
    if (!set_->Insert(batch_, Random).ok()) std::abort();
    set_->TakeEvents();
    set_->CollectDead([](RecordId, uint32_t) {});
  }

  void Images(ReplayTable& table) {
    Clock::time_point begin = Clock::now();
    const TableImage image = table.TakeImage();
    Tell("image_taken", "microseconds", SecondsSince(begin) * 1e6);
    begin = Clock::now();
    const std::vector<std::byte> bytes = image.Bytes();
    Tell("image_written", "items_per_second",
         static_cast<double>(items_) / SecondsSince(begin));
    Tell("image_size", "bytes_per_item",
         static_cast<double>(bytes.size()) / static_cast<double>(items_));
    begin = Clock::now();
    auto restored = TableSet::Create({table.options()});
    const absl::Status status = (*restored)->LoadTable(
        bytes, [](RecordId) { return std::optional<uint32_t>(400); });
    if (!status.ok()) std::abort();
    Tell("image_loaded", "items_per_second",
         static_cast<double>(items_) / SecondsSince(begin));
  }

  const Kind kind_;
  const uint64_t items_;
  const double before_;
  uint64_t next_ = 0;
  std::unique_ptr<TableSet> set_;
  std::vector<TableInsert> batch_{kBatch, {.table = "replay"}};
};

void RunSumTree(uint64_t items) {
  const double before = AllocatedBytes();
  SumTree tree;
  for (uint64_t i = 0; i < items; ++i) {
    tree.PushBack(UniformFromBits(Random()));
  }
  Print("memory", "sum_tree", items, "bytes_per_item",
        (AllocatedBytes() - before) / static_cast<double>(items));
  Print("update", "sum_tree", items, "items_per_second", PerSecond(kBatch, [&] {
          for (int i = 0; i < kBatch; ++i) {
            const uint64_t bits = Random();
            tree.Set(bits % items, UniformFromBits(bits));
          }
        }));
  std::size_t kept = 0;  // So that no work can be left out.
  Print("sample", "sum_tree", items, "items_per_second", PerSecond(kBatch, [&] {
          for (int i = 0; i < kBatch; ++i) {
            kept += tree.Find(UniformFromBits(Random()));
          }
        }));
  std::fprintf(stderr, "%zu\n", kept);
}

void RunAll(uint64_t largest) {
  using enum SelectorKind;
  for (uint64_t items = 1000; items <= largest; items *= 10) {
    for (const Kind& kind : std::vector<Kind>{
             {"fifo", kFifo, kFifo},
             {"lifo", kLifo, kFifo},
             {"uniform", kUniform, kFifo},
             {"prioritized", kPrioritized, kFifo},
             {"max_heap", kMaxHeap, kFifo},
             {"max_heap, removed by min_heap", kMaxHeap, kMinHeap},
             {"prioritized, removed by min_heap", kPrioritized, kMinHeap}}) {
      TableBench(kind, items).Run();
      malloc_trim(0);
    }
    RunSumTree(items);
    malloc_trim(0);
  }
}

}  // namespace
}  // namespace flywheel

int main(int argc, char** argv) {
  flywheel::RunAll(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000'000);
  return 0;
}
