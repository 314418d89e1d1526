// libFuzzer target: no bytes may break the tables. The first byte says what the
// rest is: an image as it stands, an image with its checksum put right, so that
// what stands behind it is tried too, or events.

#include <cstdlib>
#include <memory>
#include <vector>

#include "services/buffer/replay/table_set.h"
#include "services/wire/crc32c.h"
#include "tests/buffer/replay/item_samples.h"

namespace flywheel {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

using Bytes = std::vector<std::byte>;

// Whatever it holds, it can be used, saved and restored.
void UseTable(TableSet& set, ReplayTable& table) {
  const SeededBits random(1);
  const Bytes image = table.TakeImage().Bytes();
  auto again = TableSet::Create({table.options()});
  Require(again.ok() && (*again)->LoadTable(image, SizeOf).ok());
  Require((*again)->TakeImages()[0].Bytes() == image);

  for (uint64_t key = 0; key < 4; ++key) {
    const TableInsert insert = {table.name(), ItemOf(key, key, key + 2)};
    const absl::Status status = set.Insert({&insert, 1}, random);
    Require(status.ok() || !status.message().empty());
    if (const auto samples = table.Sample(3, random); samples.ok()) {
      const std::vector<KeyPriority> updates = {{samples->front().key, 2.0}};
      table.UpdatePriorities(updates);
      table.Delete(std::vector<uint64_t>{samples->back().key});
    }
  }
  set.RemoveLost();
  table.Reset();
  Require(table.bytes() == 0);
}

void TryImage(std::span<const std::byte> image) {
  const auto content = ImageContent(image);
  if (!content.ok()) return;
  ByteReader reader(*content);
  const auto head = ReadImageHead(reader);
  // More would only take the memory for an index.
  if (!head.ok() || head->options.items_max > 1000) return;
  auto set = TableSet::Create({head->options});
  Require(set.ok());
  ReplayTable& table = *(*set)->tables()[0];
  const auto some_lost = [](RecordId id) -> std::optional<uint32_t> {
    if (id.value % 16 == 7) return std::nullopt;
    return kRecordSize;
  };
  if (const absl::Status status = (*set)->LoadTable(image, some_lost);
      !status.ok()) {
    Require(!status.message().empty() && table.size() == 0);
  }
  UseTable(**set, table);
  Require((*set)->references().num_live() == 0);
}

Bytes WithRightChecksum(std::span<const std::byte> content) {
  Bytes image(content.begin(), content.end());
  const uint32_t crc = Crc32c(image);
  for (int i = 0; i < 4; ++i) {
    image.push_back(static_cast<std::byte>(crc >> (8 * i)));
  }
  return image;
}

void TryEvents(std::span<const std::byte> bytes) {
  if (const auto events = TableEventsFromBytes(bytes); events.ok()) {
    TableEvents again;
    for (const NamedTableEvent& event : *events) {
      again.Add(event.table, event.event);
    }
    const auto twice = TableEventsFromBytes(again.Take());
    Require(twice.ok() && *twice == *events);
  }
  auto set = TableSet::Create({{.name = "replay",
                                .sampler = {.kind = SelectorKind::kMaxHeap},
                                .items_max = 100},
                               {.name = "queue",
                                .sampler = {.kind = SelectorKind::kFifo},
                                .max_times_sampled = 1,
                                .items_max = 100}});
  const absl::Status status = (*set)->Apply(bytes, SizeOf);
  Require(status.ok() || !status.message().empty());
  for (const auto& table : (*set)->tables()) UseTable(**set, *table);
  Require((*set)->references().num_live() == 0);
}

void TryInput(uint8_t kind, std::span<const std::byte> input) {
  switch (kind % 3) {
    case 0:
      return TryImage(input);
    case 1:
      return TryImage(WithRightChecksum(input));
    case 2:
      return TryEvents(input);
  }
}

}  // namespace
}  // namespace flywheel

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  flywheel::TryInput(data[0], std::as_bytes(std::span(data + 1, size - 1)));
  return 0;
}
